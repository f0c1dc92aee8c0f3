// What a virtqueue costs the simulation, split and packed: each of the four things that happen to
// a buffer, in trains of 256 through a ring of 256, and all of them in trains of 1.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/bench/contest.hpp"
#include "tests/host/virtqueue/queue_pair.hpp"

namespace {

using namespace tapestry;
using host::virtqueue::Access;

constexpr std::size_t kSize = 256;
constexpr int kTrains = 400;

enum class Phase { add, kick, use, take, all };

template <class Pair>
class Run {
 public:
  explicit Run(std::size_t train) : train_(train), pair_(kSize) {
    for (std::size_t i = 0; i < train; ++i)
      packets_.push_back(pair_.packet(0));
  }
  ~Run() {
    for (core::PacketPtr& packet : packets_)
      core::consume(std::move(packet));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // ns per buffer of that phase.
  double operator()(Phase wanted) {
    double ns = 0;
    for (int i = 0; i < kTrains; ++i) {
      if (wanted == Phase::all) {
        const double begun = bench::thread_cpu_ns();
        for (std::size_t trains = 0; trains < kSize / train_; ++trains) {
          add();
          tell(pair_.driver.kick_prepare());
          use();
          take();
        }
        ns += bench::thread_cpu_ns() - begun;
        continue;
      }
      const auto timed = [&](Phase phase, auto step) {
        const double begun = bench::thread_cpu_ns();
        step();
        if (phase == wanted) ns += bench::thread_cpu_ns() - begun;
      };
      timed(Phase::add, [this] { add(); });
      timed(Phase::kick, [this] {
        for (std::size_t n = 0; n < train_; ++n)
          tell(pair_.driver.kick_prepare());
      });
      timed(Phase::use, [this] { use(); });
      timed(Phase::take, [this] { take(); });
    }
    const std::size_t each = wanted == Phase::all ? kSize / train_ * train_ : train_;
    return ns / kTrains / static_cast<double>(each);
  }

 private:
  void tell(bool wanted) {
    told_ = wanted;
    bench::look_at(&told_);
  }
  void add() {
    const std::array<std::uint32_t, 1> pieces{60};
    for (core::PacketPtr& packet : packets_)
      if (!pair_.driver.add(packet, pieces, Access::device_reads)) std::abort();
  }
  void use() {
    pair_.device.disable_notifications();
    while (const auto chain = pair_.device.next())
      pair_.device.use(*chain, 0);
    pair_.device.publish();
    tell(pair_.device.must_interrupt());
    tell(pair_.device.enable_notifications());
  }
  void take() {
    std::size_t taken = 0;
    while (auto completed = pair_.driver.take_used())
      packets_[taken++] = std::move(completed->packet);
    if (taken != train_) std::abort();
  }

  std::size_t train_;
  Pair pair_;
  std::vector<core::PacketPtr> packets_;
  bool told_ = false;
};

void compare(const char* title, Phase phase, std::size_t train) {
  Run<tests::QueuePair> split(train);
  Run<tests::PackedPair> packed(train);
  bench::compare(
      title, {{"split", [&] { return split(phase); }}, {"packed", [&] { return packed(phase); }}});
}

}  // namespace

int main() {
  compare("add: made available", Phase::add, kSize);
  compare("kick_prepare", Phase::kick, kSize);
  compare("next and use, published once", Phase::use, kSize);
  compare("take_used", Phase::take, kSize);
  compare("the whole way, one at a time", Phase::all, 1);
  return 0;
}
