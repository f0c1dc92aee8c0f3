#include "sched/timer.hpp"

#include "core/assert.hpp"
#include "sched/cpu.hpp"

namespace tapestry::sched {

Timer::~Timer() { cancel_uncharged(); }

void Timer::arm(Cpu& cpu, core::Instant at) {
  cpu.charge(Work::timer_program);
  cpu.settle();
  arm_uncharged(cpu, at);
}

void Timer::cancel(Cpu& cpu) {
  cpu.settle();
  if (!armed()) return;
  cpu.charge(Work::timer_program);
  cpu.settle();
  cancel_uncharged();
}

void Timer::arm_uncharged(Cpu& cpu, core::Instant at) {
  cpu.timeline().require_settled("a timer");
  cancel_uncharged();
  cpu_ = &cpu;
  expires_ = at;
  TimerQueue& timers = cpu.timers();
  event_ = timers.queue_.push(std::max(at, cpu.timeline().now()), timers.actor_,
                              &TimerQueue::expire, this, 0);
  if (timers.next() < timers.programmed_) timers.program();
}

void Timer::cancel_uncharged() {
  if (!armed()) return;
  TimerQueue& timers = cpu_->timers();
  timers.queue_.cancel(event_);
  cpu_ = nullptr;
  expires_ = core::kNever;
  timers.forget_early_interrupt();
}

TimerQueue::TimerQueue(Cpu& cpu)
    : cpu_(cpu), actor_(queue_.add_actor("timer", core::Phase::device)) {}

void TimerQueue::expire(void* timer, std::uint64_t) {
  Timer& expired = *static_cast<Timer*>(timer);
  expired.cpu_ = nullptr;
  expired.expires_ = core::kNever;
  expired.expired_(expired.object_, expired.argument_);
}

void TimerQueue::interrupt() {
  while (true) {
    cpu_.settle();
    if (queue_.next_instant() > cpu_.timeline().now()) break;
    queue_.run_next();
  }
  program();
}

// As hrtimer_force_reprogram, where reprogramming is a register write. A nested machine, for which
// it is a system call of its host, takes an interrupt that finds nothing instead.
void TimerQueue::forget_early_interrupt() {
  if (queue_.next_instant() > programmed_ && cpu_.is_physical()) program();
}

void TimerQueue::program() {
  programmed_ = queue_.next_instant();
  cpu_.time().program_timer(cpu_, programmed_);
}

}  // namespace tapestry::sched
