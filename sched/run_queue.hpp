// Who runs next on one CPU: real-time threads by priority, then the others by the time they have
// had, scaled by their weight.
#pragma once

#include <deque>

#include "core/time.hpp"
#include "sched/thread.hpp"

namespace tapestry::sched {

// The kernel's sched_prio_to_weight: 10 % of CPU time per step of nice, 1024 at 0.
std::int64_t weight_of_nice(int nice);

class RunQueue {
 public:
  // How far behind a woken thread may be put: half the latency target, as the kernel gives
  // sleepers.
  static constexpr core::Nanos kSleeperCredit{3'000'000};
  // A woken thread preempts the running one if it is behind by more than this (wakeup granularity).
  static constexpr core::Nanos kWakeupGranularity{1'000'000};

  bool empty() const { return ready_.empty(); }
  std::size_t size() const { return ready_.size(); }

  // Was blocked or is new. `running`, whose time is up to date, is what runs here now, or null.
  void add_woken(Thread& thread, const Thread* running);
  void add_preempted(Thread& thread);  // was running and wants to go on
  void add_yielded(Thread& thread);    // was running and lets every other thread go first
  Thread* take_next();                 // null if empty
  // Should `candidate`, which is ready, take the CPU from `running` at once?
  bool preempts(const Thread& candidate, const Thread& running) const;
  // After its time slice: is there a thread that `running` must let run now?
  bool owes_turn(const Thread& running) const;
  void charge(Thread& thread) const;  // brings its weighted time up to date
  // A thread comes here from another CPU: its place among others stays what it was there.
  void adopt(Thread& thread, const RunQueue& from) const;

 private:
  static bool before(const Thread& left, const Thread& right);

  void insert(Thread& thread);
  void advance_floor(const Thread* running);

  std::deque<Thread*> ready_;  // sorted; equals in the order in which they became ready
  // min_vruntime: the least weighted time of all that run or want to; never goes back. Nobody who
  // comes is credited for more than a little below it.
  std::int64_t floor_ns_ = 0;
};

}  // namespace tapestry::sched
