// Waiting always takes a predicate: whoever is woken looks again, so that a wake-up too many does
// no harm and one too few cannot happen between the look and the sleep.
#pragma once

#include "core/time.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::sched {

class WaitQueue {
 public:
  // `name` says what one waits for, as in "socket data"; it outlives the queue.
  explicit WaitQueue(const char* name) : name_(name) {}
  ~WaitQueue();
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  // Returns, settled, once `done()` is true; blocks the running thread meanwhile. `done` reads
  // shared state, charges nothing.
  template <typename Done>
  void wait(Scheduler& scheduler, Done done) {
    for (;;) {
      scheduler.cpu().settle();
      if (done()) return;
      block(scheduler);
    }
  }

  // As wait, but gives up at `deadline`: false if `done()` is still not true.
  template <typename Done>
  bool wait_until(Scheduler& scheduler, core::Instant deadline, Done done) {
    Deadline limit(*this, scheduler, deadline);
    for (;;) {
      scheduler.cpu().settle();
      if (done()) return true;
      if (limit.passed()) return false;
      block(scheduler);
    }
  }

  // Wakes the thread that has waited longest, or all. The caller is a CPU of the waiters' machine;
  // it is charged for each wake-up, settles and looks again before the wake-up takes effect.
  void wake_one(Cpu& waker);
  void wake_all(Cpu& waker);
  // Before a run, or between two: nobody pays.
  void wake_from_outside();

  bool anyone_waits() const { return first_ != nullptr; }
  const char* name() const { return name_; }

 private:
  // A timer that wakes one thread out of this queue.
  class Deadline {
   public:
    Deadline(WaitQueue& queue, Scheduler& scheduler, core::Instant at);
    ~Deadline();
    bool passed() const { return passed_; }

   private:
    static void expire(void* deadline, std::uint64_t);
    WaitQueue& queue_;
    Thread& thread_;
    Timer timer_;
    bool passed_ = false;
    bool* gone_ = nullptr;  // set while it expires: told if its thread leaves meanwhile
  };

  void block(Scheduler& scheduler);
  void append(Thread& thread);
  bool remove(Thread& thread);

  const char* name_;
  Thread* first_ = nullptr;
  Thread* last_ = nullptr;
};

}  // namespace tapestry::sched
