#include "sched/cpu.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/assert.hpp"
#include "sched/interrupt_source.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::sched {

Cpu::Cpu(Scheduler& scheduler, std::size_t index, std::string name, TimeSource& time)
    : context_(&idle_context_),
      settle_mode_(scheduler.settle_mode()),
      hub_(scheduler.hub()),
      timeline_(scheduler.hub().timeline()),
      physical_(dynamic_cast<PhysicalTime*>(&time)),
      costs_(scheduler.costs()),
      scheduler_(scheduler),
      index_(index),
      name_(std::move(name)),
      time_(time),
      timers_(*this),
      slice_timer_(&Cpu::slice_over, this),
      random_(scheduler.seed(), name_ + ".settle"),
      subject_(timeline_.names().add(scheduler.name(), name_)) {}

// --- settling
// ------------------------------------------------------------------------------------------------

// Between seams a charge may be paid or not: the result is the same, and the random mode proves it.
void Cpu::settle_between_seams() {
  if (settle_mode_ == SettleMode::always || random_.uniform(2) == 0) settle();
}

void Cpu::tell_charge(Work work, core::Nanos cost) const {
  timeline_.tell(core::Happening::charge, static_cast<core::SubjectId>(work),
                 static_cast<std::uint64_t>(cost.count()));
}

void Cpu::settle_slowly() {
  if (hub_.cancelling()) [[unlikely]] {
    context_->debt_ns = 0;
    return;
  }
  for (;;) {
    if (attention_ && interrupts_enabled()) {
      attention_ = false;
      refresh_pending();
      scheduler_.interrupts().deliver(*this);
      continue;
    }
    if (need_resched_ && may_preempt()) {
      preempt();
      continue;
    }
    if (context_->debt_ns == 0) return;
    pay();
  }
}

// Pays until all is paid or something becomes pending.
void Cpu::pay() {
  looks_here_ = 0;
  const core::Nanos amount{context_->debt_ns};
  Context& payer = *context_;
  payer.debt_ns = 0;
  const core::Instant target = timeline_.now() + amount;
  core::Nanos rest{0};
  if (physical_ != nullptr && hub_.alone_until(target)) [[likely]] {
    timeline_.advance_to(target);
  } else {
    rest = time_.spend(*this, amount, interrupts_enabled());
    resume_here();
    payer.debt_ns += rest.count();
  }
  if (payer.billed != nullptr) payer.billed->paid_ns_ += (amount - rest).count();
}

void Cpu::pay_all() {
  while (context_->debt_ns > 0 && !hub_.cancelling())
    pay();
}

// For costs that come before whatever the context owes, and that nobody may interrupt: the switch
// between threads.
void Cpu::pay_now(Work work) {
  const std::int64_t owed_before = context_->debt_ns;
  const core::Nanos cost = costs_.cost(work);
  context_->debt_ns = cost.count();
  usage_.add(context_->kind, work, cost);
  if (tells_charges_) {
    context_->debt_ns = 0;  // it is the first to be paid
    tell_charge(work, cost);
    context_->debt_ns = cost.count();
  }
  pay_all();
  context_->debt_ns += owed_before;
}

void Cpu::report_no_progress() {
  looks_here_ = 0;
  std::string text = name_ + ": " + (current_ ? current_->name() : std::string("idle")) +
                     " looks again and again at one instant and never spends time";
  for (const std::string& actor : hub_.kept_waiting())
    text += ", while " + actor + " waits for its turn";
  // The world has failed. Whoever is unwound by this must not go on in it: no settling, no waiting.
  hub_.begin_cancelling();
  throw core::NoProgress(text);
}

void Cpu::resume_here() {
  scheduler_.set_running(*this);
  timeline_.set_debt_cell(&context_->debt_ns, subject_);
}

// --- interrupts
// -------------------------------------------------------------------------------------------------

void Cpu::request_attention() {
  attention_ = true;
  pending_ = true;
  time_.notice(*this);
}

void Cpu::raise_local(LocalInterrupt which) {
  local_interrupts_ =
      static_cast<std::uint8_t>(local_interrupts_ | static_cast<std::uint8_t>(which));
  request_attention();
}

void Cpu::set_need_resched() {
  need_resched_ = true;
  pending_ = true;
}

// The interrupted context may owe: its debt is kept and paid after the handler.
HandlerFrame::HandlerFrame(Cpu& cpu, ContextKind kind, Thread* bill_to)
    : cpu_(cpu), context_(kind, bill_to) {
  context_.below = cpu_.context_;
  cpu_.context_ = &context_;
  cpu_.timeline_.set_debt_cell(&context_.debt_ns, cpu_.subject_);
  if (kind == ContextKind::hardirq) ++cpu_.interrupts_off_;
  if (kind == ContextKind::softirq) {
    ++cpu_.softirq_depth_;
    ++cpu_.bottom_halves_off_;
  }
  tell(true);
}

void HandlerFrame::tell(bool begins) const {
  if (context_.kind == ContextKind::hardirq)
    cpu_.timeline_.tell(begins ? core::Happening::hardirq_begins : core::Happening::hardirq_ends,
                        0);
  if (context_.kind == ContextKind::softirq)
    cpu_.timeline_.tell(begins ? core::Happening::softirqs_begin : core::Happening::softirqs_end,
                        0);
}

HandlerFrame::~HandlerFrame() noexcept(false) {
  if (!cpu_.hub_.cancelling()) cpu_.settle();
  context_.debt_ns = 0;
  tell(false);
  if (context_.kind == ContextKind::hardirq) --cpu_.interrupts_off_;
  if (context_.kind == ContextKind::softirq) {
    --cpu_.softirq_depth_;
    --cpu_.bottom_halves_off_;
  }
  cpu_.context_ = context_.below;
  cpu_.timeline_.set_debt_cell(&cpu_.context_->debt_ns, cpu_.subject_);
}

// --- exclusion
// -------------------------------------------------------------------------------------------------

void Cpu::disable_interrupts() {
  settle();
  ++interrupts_off_;
}

void Cpu::enable_interrupts() {
  settle();
  TAPESTRY_ASSERT(interrupts_off_ > 0, "interrupts are enabled by whoever disabled them");
  --interrupts_off_;
  settle();
}

void Cpu::disable_bottom_halves() {
  settle();
  ++bottom_halves_off_;
}

void Cpu::enable_bottom_halves() {
  settle();
  TAPESTRY_ASSERT(bottom_halves_off_ > 0, "bottom halves are enabled by whoever disabled them");
  if (bottom_halves_off_ == 1 && !in_interrupt())
    scheduler_.interrupts().bottom_halves_enabled(*this);
  --bottom_halves_off_;
  settle();
}

void Cpu::disable_preemption() {
  settle();
  ++preemption_off_;
}

void Cpu::enable_preemption() {
  settle();
  TAPESTRY_ASSERT(preemption_off_ > 0, "preemption is enabled by whoever disabled it");
  --preemption_off_;
  settle();
}

// --- system calls and guests
// ---------------------------------------------------------------------------------

void Cpu::enter_kernel() {
  settle();
  TAPESTRY_ASSERT(context_->kind == ContextKind::user, "a system call comes from user mode");
  context_->kind = ContextKind::system;
  timeline_.tell(core::Happening::call_begins, 0);
}

void Cpu::leave_kernel() {
  settle();
  TAPESTRY_ASSERT(context_->kind == ContextKind::system, "a system call returns from the kernel");
  context_->kind = ContextKind::user;
  timeline_.tell(core::Happening::call_ends, 0);
  settle();
}

core::Nanos Cpu::run_guest(core::Nanos amount, const bool* attention) {
  TAPESTRY_ASSERT(context_->kind == ContextKind::user && context_->debt_ns == 0,
                  "a guest runs in user mode of a thread that owes nothing");
  core::Nanos rest = amount;
  for (;;) {
    settle();  // interrupts, preemption: stolen from the guest
    if (*attention || rest.count() == 0) return rest;
    const core::Nanos before = rest;
    if (physical_ != nullptr && hub_.alone_until(timeline_.now() + rest)) {
      timeline_.advance_to(timeline_.now() + rest);
      rest = core::Nanos{0};
    } else {
      rest = time_.spend(*this, rest, true);
      resume_here();
    }
    usage_.add_guest(before - rest);
    context_->billed->paid_ns_ += (before - rest).count();
  }
}

// --- busy waiting
// -------------------------------------------------------------------------------------------------

// Spends time until the first look, at a whole number of periods, that comes after a notification
// or at or after the deadline. Interrupts and preemption in between lengthen it, as they would each
// single look.
void Cpu::spin_to_next_look(SpinWait& wait, core::Instant deadline, Work work) {
  const core::Nanos period = costs_.cost(work);
  TAPESTRY_ASSERT(period.count() > 0, "a look of a busy-waiting loop takes time");
  TAPESTRY_ASSERT(wait.spinner_ == nullptr, "one spinner at a time");
  wait.spinner_ = this;
  wait.notified_ = wait.after_its_turn_ = false;
  const bool bills = context_->billed != nullptr;
  core::Nanos spent{0};
  for (;;) {
    settle();
    const core::Nanos begun = spent % period;
    const bool too_late = wait.after_its_turn_ && wait.notified_at_ == timeline_.now();
    const bool look_is_due = begun.count() == 0 && spent.count() > 0 && !too_late;
    const core::Nanos left = deadline == core::kNever ? core::kForever : deadline - timeline_.now();
    if (look_is_due && (wait.notified_ || left.count() <= 0)) break;
    const core::Nanos to_look = period - begun;
    core::Nanos amount = to_look;
    if (!wait.notified_ && left > to_look) {
      const core::Nanos most = std::min(left, core::Nanos{core::kForever.count() / 4});
      amount += (most - to_look + period - core::Nanos{1}) / period * period;
    }
    const core::Nanos rest = time_.spend(*this, amount, true);
    resume_here();
    spent += amount - rest;
    usage_.add(context_->kind, work, amount - rest);
    if (tells_charges_) tell_charge(work, amount - rest);
    if (bills) context_->billed->paid_ns_ += (amount - rest).count();
  }
  wait.spinner_ = nullptr;
}

void SpinWait::notify() {
  if (spinner_ == nullptr || notified_) return;
  notified_ = true;
  notified_at_ = spinner_->timeline_.now();
  if (PhysicalTime* physical = spinner_->physical_)
    after_its_turn_ = spinner_->hub_.turn_has_passed(physical->index());
  spinner_->time_.notice(*spinner_);
}

}  // namespace tapestry::sched
