// The part of a CPU that gives it from one thread to the next: preemption, time slices, idling.
#include <algorithm>

#include "core/assert.hpp"
#include "sched/cpu.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::sched {

bool Cpu::may_preempt() const {
  if (current_ == nullptr || context_ != &current_->context_) return false;
  if (interrupts_off_ > 0 || bottom_halves_off_ > 0 || preemption_off_ > 0) return false;
  return context_->kind == ContextKind::user || scheduler_.preemption() == Preemption::full;
}

void Cpu::preempt() {
  need_resched_ = false;
  refresh_pending();
  if (run_queue_.empty()) return;
  Thread& thread = *current_;
  run_queue_.charge(thread);
  thread.state_ = Thread::State::ready;
  run_queue_.add_preempted(thread);
  scheduler_.switch_away(thread);
}

void Cpu::cond_resched() {
  settle();
  if (!need_resched_ || current_ == nullptr || context_ != &current_->context_) return;
  if (interrupts_off_ > 0 || bottom_halves_off_ > 0 || preemption_off_ > 0) return;
  preempt();
}

void Cpu::might_sleep() {
  if (scheduler_.preemption() != Preemption::none) cond_resched();
}

// --- time slices
// -------------------------------------------------------------------------------------------------

void Cpu::start_slice(Thread& thread) {
  if (run_queue_.empty() || thread.attributes_.realtime_priority > 0 || slice_timer_.armed())
    return;
  const std::int64_t owed = context_->debt_ns;
  context_->debt_ns = 0;  // the slice starts now, whatever the thread still has to pay
  slice_timer_.arm_uncharged(*this, timeline_.now() + scheduler_.time_slice());
  context_->debt_ns = owed;
}

void Cpu::finish_slice(Thread& thread) {
  run_queue_.charge(thread);
  slice_timer_.cancel_uncharged();
}

void Cpu::slice_over(void* argument, std::uint64_t) {
  Cpu& cpu = *static_cast<Cpu*>(argument);
  if (cpu.current_ == nullptr) return;
  cpu.run_queue_.charge(*cpu.current_);
  if (cpu.run_queue_.owes_turn(*cpu.current_))
    cpu.set_need_resched();
  else
    cpu.start_slice(*cpu.current_);
}

// --- idling
// -------------------------------------------------------------------------------------------------

// On whatever stack is at hand: that of the thread that has just blocked or ended, or the idle
// thread's.
void Cpu::wait_for_work() {
  current_ = nullptr;
  context_ = &idle_context_;
  need_resched_ = false;
  refresh_pending();
  timeline_.set_debt_cell(&context_->debt_ns, subject_);
  while (run_queue_.empty()) {
    settle();
    if (!run_queue_.empty()) break;
    if (time_.prepare_idle(*this)) continue;
    const core::Instant start = timeline_.now();
    timeline_.tell(core::Happening::idle_begins, 0);
    time_.idle(*this);
    resume_here();
    timeline_.tell(core::Happening::idle_ends, 0);
    usage_.add_idle(timeline_.now() - start);
    if (physical_ != nullptr) pay_now(Work::idle_exit);  // before what woke it comes in
    pay_all();
  }
  settle();
  time_.leave_idle(*this);
}

void Cpu::run_idle_thread() {
  resume_here();
  time_.leave_idle(*this);
  for (;;) {
    Thread* next = run_queue_.take_next();
    if (next == nullptr) {
      wait_for_work();
      continue;
    }
    current_ = next;
    hub_.fibers().switch_to(idle_fiber_, next->fiber_);
    throw_if_cancelling(hub_.cancelling());
    TAPESTRY_ASSERT(false, "threads idle on their own stacks: nobody comes back to the first one");
  }
}

}  // namespace tapestry::sched
