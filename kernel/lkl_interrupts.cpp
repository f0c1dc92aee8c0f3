// How an interrupt gets the CPU of an LKL guest, from whichever thread of the process it comes.
#include <utility>

#include "kernel/lkl.hpp"
#include "kernel/machine.hpp"
#include "kernel/world.hpp"

namespace tapestry::kernel {

using sched::Work;

// --- interrupts --------------------------------------------------------------------------------

void Lkl::timer_expired(void* lkl, std::uint64_t) {
  Lkl& self = *static_cast<Lkl*>(lkl);
  self.timer_due_ = true;
  self.timer_->turns.wake_one(self.host_cpu());
}

void Lkl::run_pending_interrupts() {
  sched::Cpu& cpu = guest_.scheduler().cpu(0);
  cpu.settle();
  if (!anything_pending()) return;
  show_pending();
  cpu.settle();
}

void Lkl::show_pending_timer() {
  if (std::exchange(timer_pending_, false))
    guest_.scheduler().cpu(0).raise_local(sched::LocalInterrupt::timer);
}

void Lkl::show_pending() {
  show_pending_timer();
  if (!pending_lines_.empty()) guest_.scheduler().cpu(0).request_attention();
}

irq::IrqLine* Lkl::take_pending_line() {
  if (pending_lines_.empty()) return nullptr;
  irq::IrqLine* const line = pending_lines_.front();
  pending_lines_.pop_front();
  return line;
}

// lkl_trigger_irq, when the pending bit is set: runs it, if nobody holds the lock.
void Lkl::trigger() {
  HostThread& self = host_scheduler().cpu().current() == timer_->thread ? *timer_ : *poll_;
  if (!free_) {
    ++deferred_;
    return;
  }
  free_ = false;
  carry(self);
}

void Lkl::line_raised(irq::IrqLine& line) {
  if (guest_runs_here()) {
    record(line);
    guest_.scheduler().cpu(0).request_attention();
    return;
  }
  const bool on_poll_thread =
      running_thread() == poll_->thread && host_cpu().context().kind == sched::ContextKind::user;
  if (on_poll_thread) {
    host_cpu().charge(Work::lock);
    host_cpu().settle();
    record(line);
    trigger();
    return;
  }
  events_.push_back({&line, nullptr});
  wake_poll_thread();
}

void Lkl::ready(LklPollClient& client, bool writable) {
  const bool queued = client.readable_ || client.writable_;
  (writable ? client.writable_ : client.readable_) = true;
  if (queued) return;
  events_.push_back({nullptr, &client});
  wake_poll_thread();
}

void Lkl::wake_poll_thread() {
  if (host_.world().hub().a_cpu_runs())
    poll_->turns.wake_one(host_cpu());
  else
    poll_->turns.wake_from_outside();
}

// --- the guest's interrupt controller ----------------------------------------------------------

LklInterrupts::LklInterrupts(Lkl& lkl)
    : irq::InterruptController(irq::ControllerOptions{.can_mask = false}), lkl_(lkl) {}

// What is raised while its handler runs is found here.
void LklInterrupts::deliver_lines(sched::Cpu& cpu) {
  while (irq::IrqLine* const line = lkl_.take_pending_line()) {
    handle(cpu, *line);
    if (line->pending()) lkl_.record(*line);
  }
  lkl_.show_pending_timer();
}

void LklInterrupts::line_became_pending(irq::IrqLine& line) { lkl_.line_raised(line); }

}  // namespace tapestry::kernel
