// Timers of the timer wheel: they expire in the TIMER softirq, at a tick (a jiffy) boundary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/event_queue.hpp"
#include "irq/softirq.hpp"
#include "sched/timer.hpp"

namespace tapestry::irq {

class JiffyTimers;

class JiffyTimer {
 public:
  // In softirq context on the CPU that armed it; charges and settles like any handler.
  using Expired = void (*)(void* object);
  // `timers` outlives it.
  JiffyTimer(JiffyTimers& timers, Expired expired, void* object)
      : timers_(timers), expired_(expired), object_(object) {}
  ~JiffyTimer();
  JiffyTimer(const JiffyTimer&) = delete;
  JiffyTimer& operator=(const JiffyTimer&) = delete;

  // mod_timer: expires at the first tick at or after jiffy number `jiffy`; one that has passed
  // expires at the next tick. Settles, charges timer_program.
  void modify(std::uint64_t jiffy);
  void cancel();  // charges timer_program if it is pending
  bool pending() const { return pending_; }

 private:
  friend class JiffyTimers;
  void take_out();

  JiffyTimers& timers_;
  Expired expired_;
  void* object_;
  bool pending_ = false;
  std::size_t cpu_ = 0;  // where it is armed
  core::EventId event_{};
};

class JiffyTimers final : public SoftirqHandler {
 public:
  // `hz`: ticks per second, 100 to 1000; it divides a second into whole nanoseconds.
  JiffyTimers(sched::Scheduler& scheduler, Softirqs& softirqs, int hz);
  ~JiffyTimers() override;
  void softirq(sched::Cpu& cpu) override;

  std::uint64_t jiffies() const;  // whole ticks since the start, settled callers only
  core::Nanos tick() const { return tick_; }
  std::uint64_t to_jiffies(core::Nanos span) const;  // rounded up

 private:
  friend class JiffyTimer;
  struct PerCpu;
  static void expire(void* timer, std::uint64_t);
  static void tick_is_due(void* timers, std::uint64_t);
  PerCpu& on(std::size_t cpu);
  void program(sched::Cpu& cpu);

  sched::Scheduler& scheduler_;
  Softirqs& softirqs_;
  core::Nanos tick_;
  std::vector<std::unique_ptr<PerCpu>> state_;  // by CPU
};

}  // namespace tapestry::irq
