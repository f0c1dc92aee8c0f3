#include "sched/run_queue.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/assert.hpp"

namespace tapestry::sched {

std::int64_t weight_of_nice(int nice) {
  // kernel/sched/core.c: sched_prio_to_weight
  static constexpr std::array<std::int64_t, 40> kWeights{
      88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
      3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
      172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15};
  TAPESTRY_ASSERT(nice >= -20 && nice <= 19, "nice is between -20 and 19");
  const int index = nice + 20;
  return kWeights[static_cast<std::size_t>(index)];
}

void RunQueue::charge(Thread& thread) const {
  const std::int64_t paid = thread.paid_ns_ - thread.paid_at_switch_ns_;
  thread.paid_at_switch_ns_ = thread.paid_ns_;
  thread.weighted_ns_ += paid * weight_of_nice(0) / weight_of_nice(thread.attributes_.nice);
}

bool RunQueue::before(const Thread& left, const Thread& right) {
  if (left.attributes_.realtime_priority != right.attributes_.realtime_priority)
    return left.attributes_.realtime_priority > right.attributes_.realtime_priority;
  // Equals are served in the order in which they became ready.
  return left.attributes_.realtime_priority == 0 && left.weighted_ns_ < right.weighted_ns_;
}

void RunQueue::insert(Thread& thread) {
  auto place = ready_.end();
  while (place != ready_.begin() && before(thread, **std::prev(place)))
    --place;
  ready_.insert(place, &thread);
}

void RunQueue::advance_floor(const Thread* running) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  if (running != nullptr && running->attributes_.realtime_priority == 0)
    least = running->weighted_ns_;
  const auto is_fair = [](const Thread* ready) {
    return ready->attributes_.realtime_priority == 0;
  };
  const auto first = std::find_if(ready_.begin(), ready_.end(), is_fair);
  if (first != ready_.end()) least = std::min(least, (*first)->weighted_ns_);
  if (least != std::numeric_limits<std::int64_t>::max()) floor_ns_ = std::max(floor_ns_, least);
}

void RunQueue::adopt(Thread& thread, const RunQueue& from) const {
  thread.weighted_ns_ += floor_ns_ - from.floor_ns_;
}

void RunQueue::add_woken(Thread& thread, const Thread* running) {
  advance_floor(running);
  thread.weighted_ns_ = std::max(thread.weighted_ns_, floor_ns_ - kSleeperCredit.count());
  insert(thread);
}

void RunQueue::add_preempted(Thread& thread) { insert(thread); }

void RunQueue::add_yielded(Thread& thread) {
  if (!ready_.empty())
    thread.weighted_ns_ = std::max(thread.weighted_ns_, ready_.back()->weighted_ns_);
  insert(thread);
}

Thread* RunQueue::take_next() {
  if (ready_.empty()) return nullptr;
  advance_floor(nullptr);
  Thread* thread = ready_.front();
  ready_.pop_front();
  return thread;
}

bool RunQueue::preempts(const Thread& candidate, const Thread& running) const {
  const int mine = candidate.attributes_.realtime_priority;
  const int its = running.attributes_.realtime_priority;
  if (mine != its) return mine > its;
  if (mine > 0) return false;
  return candidate.weighted_ns_ + kWakeupGranularity.count() < running.weighted_ns_;
}

// Of equals, the one that waits has its turn.
bool RunQueue::owes_turn(const Thread& running) const {
  if (ready_.empty()) return false;
  const Thread& first = *ready_.front();
  return running.attributes_.realtime_priority == 0 ? !before(running, first)
                                                    : before(first, running);
}

}  // namespace tapestry::sched
