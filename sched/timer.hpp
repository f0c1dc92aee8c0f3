// High-resolution timers of one CPU. They expire in the timer interrupt, in hardirq context.
//
// Whoever arms or cancels a timer owes nothing at that moment and pays for programming it: the
// calls charge for themselves.
#pragma once

#include <cstdint>

#include "core/event_queue.hpp"
#include "core/time.hpp"

namespace tapestry::sched {

class Cpu;

class Timer {
 public:
  using Expired = void (*)(void* object, std::uint64_t argument);

  // `expired` runs in hardirq context on the CPU that armed it; it charges and settles like any
  // handler.
  Timer(Expired expired, void* object, std::uint64_t argument = 0)
      : expired_(expired), object_(object), argument_(argument) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Arms or re-arms for `at`; an instant that has passed expires at once. Charges timer_program.
  void arm(Cpu& cpu, core::Instant at);
  // Charges timer_program if it was armed.
  void cancel(Cpu& cpu);
  // Without a charge: for the scheduler's own slice timer, whose cost is part of a context switch,
  // and for tearing down.
  void arm_uncharged(Cpu& cpu, core::Instant at);
  void cancel_uncharged();

  bool armed() const { return cpu_ != nullptr; }
  core::Instant expires() const { return expires_; }

 private:
  friend class TimerQueue;

  Expired expired_;
  void* object_;
  std::uint64_t argument_;
  Cpu* cpu_ = nullptr;  // where it is armed
  core::Instant expires_ = core::kNever;
  core::EventId event_{};
};

class TimerQueue {
 public:
  explicit TimerQueue(Cpu& cpu);

  // The timer interrupt: runs what has expired, in order, and programs the next.
  void interrupt();
  // Programs the device for what is first now, if it is set for something else.
  void reprogram() {
    if (queue_.next_instant() != programmed_) program();
  }
  core::Instant next() const { return queue_.next_instant(); }
  std::size_t size() const { return queue_.size(); }

 private:
  friend class Timer;
  static void expire(void* timer, std::uint64_t);
  void program();
  void forget_early_interrupt();

  Cpu& cpu_;
  core::EventQueue queue_;
  core::ActorId actor_;
  core::Instant programmed_ = core::kNever;
};

}  // namespace tapestry::sched
