// The event queue beside std::priority_queue and beside the heap that it is built on.
//
// Hold model: a constant number of events is pending; one operation takes the first one out and
// pushes another. The two contenders keep 24 bytes an event and call nobody; the EventQueue keeps a
// callback, an object and an argument, gives out serials by actor, can cancel, and does call.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "core/event_queue.hpp"
#include "core/random.hpp"
#include "tests/bench/contest.hpp"

namespace {

using namespace tapestry;
using core::Instant;
using core::Nanos;

constexpr std::size_t delays_count = 1 << 16;
using Delays = std::vector<std::uint32_t>;

struct Event {
  std::uint64_t instant;
  std::uint64_t serial;
  void* payload;
};

struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return a.instant > b.instant || (a.instant == b.instant && a.serial > b.serial);
  }
};

// Each queue: push an event so far ahead; run the first one.
class StandardQueue {
 public:
  void push(std::uint64_t delay) { queue_.push({now_ + delay, serial_++, nullptr}); }
  void run() {
    now_ = queue_.top().instant;
    queue_.pop();
  }

 private:
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::uint64_t now_ = 0;
  std::uint64_t serial_ = 0;
};

// The floor: a 4-ary heap of split 128-bit keys and nothing else, as in floors/evq.cc.
class BareHeap {
 public:
  void push(std::uint64_t delay) {
    const core::EventKey key = core::EventKey{now_ + delay} << 64 | serial_++;
    std::size_t hole = keys_.size();
    keys_.push_back(key);
    payloads_.push_back(nullptr);
    for (std::size_t above; hole != 0 && key < keys_[above = (hole - 1) / 4]; hole = above) {
      keys_[hole] = keys_[above];
      payloads_[hole] = payloads_[above];
    }
    keys_[hole] = key;
    payloads_[hole] = nullptr;
  }
  void run() {
    now_ = static_cast<std::uint64_t>(keys_[0] >> 64);
    const core::EventKey key = keys_.back();
    void* const payload = payloads_.back();
    keys_.pop_back();
    payloads_.pop_back();
    const std::size_t size = keys_.size();
    if (size == 0) return;
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 4 * hole + 1) {
      const std::size_t earliest = earliest_of(child, size);
      if (!(keys_[earliest] < key)) break;
      keys_[hole] = keys_[earliest];
      payloads_[hole] = payloads_[earliest];
      hole = earliest;
    }
    keys_[hole] = key;
    payloads_[hole] = payload;
  }

 private:
  std::size_t earliest_of(std::size_t child, std::size_t size) const {
    if (child + 4 <= size) {
      const std::size_t left = child + (keys_[child + 1] < keys_[child] ? 1 : 0);
      const std::size_t right = child + 2 + (keys_[child + 3] < keys_[child + 2] ? 1 : 0);
      return keys_[right] < keys_[left] ? right : left;
    }
    std::size_t earliest = child;
    for (std::size_t i = child + 1; i < size; ++i) {
      if (keys_[i] < keys_[earliest]) earliest = i;
    }
    return earliest;
  }

  std::vector<core::EventKey> keys_;
  std::vector<void*> payloads_;
  std::uint64_t now_ = 0;
  std::uint64_t serial_ = 0;
};

class TapestryQueue {
 public:
  TapestryQueue() { queue_.set_steps_at_one_instant_max(~std::uint64_t{0}); }
  void push(std::uint64_t delay) { keep(delay); }
  void run() { queue_.run_next(); }

  core::EventId keep(std::uint64_t delay) {
    const Instant at = queue_.now() + Nanos{static_cast<std::int64_t>(delay)};
    return queue_.push(at, actor_, count, this, delay);
  }
  void cancel(core::EventId event) { queue_.cancel(event); }

 private:
  static void count(void* self, std::uint64_t) { ++static_cast<TapestryQueue*>(self)->ran_; }

  core::EventQueue queue_;
  core::ActorId actor_ = queue_.add_actor("bench", core::Phase::device);
  std::uint64_t ran_ = 0;
};

// `pending` events in hold, `idle` others a second and more ahead.
template <class Queue>
bench::Contender hold(std::string name, const Delays& delays, std::size_t pending,
                      std::size_t idle = 0) {
  const auto queue = std::make_shared<Queue>();
  const auto next = std::make_shared<std::size_t>(0);
  for (std::size_t i = 0; i < pending; ++i)
    queue->push(delays[(*next)++ % delays_count]);
  for (std::size_t i = 0; i < idle; ++i)
    queue->push(3'600'000'000'000 + i * 1'000'000);
  const std::size_t times = pending >= 100'000 ? 500'000 : 1'000'000;
  return {std::move(name), [=, &delays] {
            return bench::measure(times, [&] {
              queue->run();
              queue->push(delays[(*next)++ % delays_count]);
            });
          }};
}

// Pushes all, then runs all; ns for each event.
template <class Queue>
bench::Contender fill_and_drain(std::string name, const Delays& delays) {
  return {std::move(name), [&delays] {
            Queue queue;
            const double begin = bench::thread_cpu_ns();
            for (const std::uint32_t delay : delays)
              queue.push(delay);
            for (std::size_t i = 0; i < delays.size(); ++i)
              queue.run();
            return (bench::thread_cpu_ns() - begin) / static_cast<double>(delays.size());
          }};
}

void compare_all(const std::string& title, const Delays& delays, std::size_t pending) {
  bench::compare(title + ", " + std::to_string(pending) + " pending",
                 {hold<BareHeap>("4-ary heap of split keys", delays, pending),
                  hold<StandardQueue>("std::priority_queue", delays, pending),
                  hold<TapestryQueue>("core::EventQueue", delays, pending)});
}

void compare_drain(const std::string& title, const Delays& delays) {
  bench::compare(title + ", 65536 events, push all, run all",
                 {fill_and_drain<StandardQueue>("std::priority_queue", delays),
                  fill_and_drain<TapestryQueue>("core::EventQueue", delays)});
}

bench::Contender set_and_cancel(std::string name, std::uint64_t delay) {
  const auto queue = std::make_shared<TapestryQueue>();
  return {std::move(name),
          [=] { return bench::measure(1'000'000, [&] { queue->cancel(queue->keep(delay)); }); }};
}

template <class Delay>
Delays make_delays(Delay delay) {
  Delays delays(delays_count);
  for (std::size_t i = 0; i < delays_count; ++i)
    delays[i] = static_cast<std::uint32_t>(delay(i));
  return delays;
}

}  // namespace

int main() {
  core::RandomStream random(7, "delays");
  const Delays exponential =
      make_delays([&](std::size_t) { return random.exponential(Nanos{10'000}).count(); });
  const Delays constant = make_delays([](std::size_t) { return 1200; });
  const Delays bimodal =
      make_delays([&](std::size_t) { return random.uniform(16) != 0 ? 1200 : 200'000; });
  const Delays straddling =
      make_delays([&](std::size_t) { return random.uniform(2) != 0 ? 1200 : 2'000'000; });

  for (const std::size_t pending : {1u, 10u, 1000u, 100'000u}) {
    compare_all("exponential gaps", exponential, pending);
    compare_all("constant gaps", constant, pending);
    compare_all("bimodal gaps", bimodal, pending);
    compare_all("gaps on both sides of a millisecond", straddling, pending);
  }

  compare_drain("all at one instant", make_delays([](std::size_t) { return 5; }));
  compare_drain("ever later", make_delays([](std::size_t i) { return i; }));
  compare_drain("ever earlier", make_delays([](std::size_t i) { return delays_count - i; }));
  compare_drain("ever later, far", make_delays([](std::size_t i) { return 2'000'000 + i; }));

  bench::compare("ten pending and idle timers",
                 {hold<TapestryQueue>("none", exponential, 10),
                  hold<TapestryQueue>("1,000 idle timers", exponential, 10, 1000),
                  hold<TapestryQueue>("100,000 idle timers", exponential, 10, 100'000)});
  bench::compare("set a timer and cancel it", {set_and_cancel("5 us ahead", 5'000),
                                               set_and_cancel("200 ms ahead", 200'000'000)});
}
