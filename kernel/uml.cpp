#include "kernel/uml.hpp"

#include <algorithm>

#include "core/assert.hpp"
#include "kernel/machine.hpp"
#include "kernel/uml_tick.hpp"
#include "kernel/world.hpp"

namespace tapestry::kernel {

using sched::Cpu;
using sched::Work;

Uml::Uml(Machine& guest, Machine& host, std::size_t host_cpu)
    : guest_(guest),
      host_(host),
      host_cpu_(host_cpu),
      host_timer_(&Uml::timer_expired, this),
      ipi_(host.world().timeline().add_actor(guest.name() + ".signal", core::Phase::device)) {}

void Uml::boot(UmlTick& tick) {
  tick_ = &tick;
  Cpu& cpu = guest_.scheduler().cpu(0);
  thread_ = &host_.scheduler().spawn(
      {.name = guest_.name(), .affinity = sched::CpuMask{1} << host_cpu_}, [&cpu, this] {
        Cpu& here = host_.cpu();
        booted_at_ = here.now(here.settle());
        paid_before_boot_ = thread_->cpu_time();
        cpu.run_idle_thread();
      });
}

// --- the guest's CPU is a host thread
// ------------------------------------------------------------------------

core::CacheOwner Uml::cache_owner() const { return host_.scheduler().cpu(host_cpu_).cache_owner(); }

core::Nanos Uml::spend(Cpu&, core::Nanos amount, bool attentive) {
  core::Nanos rest = amount;
  if (runs_a_process()) stop_alarmed_process();
  for (;;) {
    rest = host_.cpu().run_guest(rest, &signal_pending_);
    if (signal_pending_) {
      // Put off or not, a signal interrupts: its handler runs on the host and leaves a bit.
      take_signals();
      if (attentive) return rest;
    }
    if (rest.count() == 0) return rest;
  }
}

// um_idle_sleep: block signals, look at the timer, sigsuspend, restore the mask.
void Uml::idle(Cpu&) {
  if (signals_ != 0) return take_signals();
  enter_host();
  Cpu& before = host_.cpu();
  for (int call = 0; call < 3; ++call)
    before.charge(Work::syscall);
  sleep_began_ = before.now(before.settle());
  asleep_ = true;
  const Cpu& guest_cpu = guest_.scheduler().cpu(0);
  sleeps_.wait(host_.scheduler(), [&] { return signals_ != 0 || guest_cpu.attention_requested(); });
  Cpu& after = host_.cpu();
  woke_up(after.now(after.settle()));  // unless a signal has said when
  leave_host();
  take_signals();
}

bool Uml::prepare_idle(Cpu&) { return tick_->stop(); }

void Uml::leave_idle(Cpu&) { tick_->restart(); }

// What happens on the guest's own CPU is seen when it settles, and what a host sends is a signal.
// That leaves threads which are created while nothing runs.
void Uml::notice(Cpu&) {
  if (!host_.world().hub().a_cpu_runs()) sleeps_.wake_from_outside();
}

void Uml::kick(Cpu&, Cpu&) { TAPESTRY_ASSERT(false, "a UML guest has one CPU"); }

void Uml::program_timer(Cpu&, core::Instant at) {
  if (at == core::kNever && !host_timer_.armed()) return;
  enter_host();
  if (at == core::kNever)
    host_timer_.cancel(host_.cpu());
  else
    host_timer_.arm(host_.cpu(), at);
  leave_host();
}

void Uml::timer_expired(void* uml, std::uint64_t) { static_cast<Uml*>(uml)->post(sigalrm); }

void Uml::woke_up(core::Instant at) {
  if (!std::exchange(asleep_, false)) return;
  slept_ += at - sleep_began_;
}

core::Nanos Uml::stolen() const {
  const core::Instant now = thread_->scheduler().hub().timeline().now();
  const core::Nanos asleep = asleep_ ? now - sleep_began_ : core::Nanos{0};
  return now - booted_at_ - slept_ - asleep - (thread_->cpu_time() - paid_before_boot_);
}

// --- signals
// -------------------------------------------------------------------------------------------------

// On a CPU of the host. Signals of one kind merge.
void Uml::post(Signal signal) {
  Cpu& here = host_.cpu();
  here.charge(Work::signal_send);
  here.settle();
  const bool on_their_way = signals_ != 0;
  signals_ = static_cast<std::uint8_t>(signals_ | signal);
  if (on_their_way) return;
  if (runs_elsewhere(here)) {
    here.charge(Work::resched_ipi);
    here.settle();
    if (signals_ == 0) return;  // taken meanwhile, by a guest that was about to sleep
  }
  if (runs_elsewhere(here)) {
    const core::Nanos latency = host_.scheduler().costs().cost(Work::ipi_latency);
    core::Timeline& timeline = host_.world().timeline();
    timeline.events().push(timeline.now() + latency, ipi_, &Uml::ipi_arrived, this, 0);
    return;
  }
  show_signals();
  if (!sleeps_.anyone_waits()) return;
  woke_up(here.now(here.settle()));
  sleeps_.wake_one(here);
}

bool Uml::runs_elsewhere(const Cpu& here) const {
  return thread_ != nullptr && thread_->state() == sched::Thread::State::running &&
         &thread_->cpu() != &here;
}

// A process that runs on another CPU does not see a signal before the interrupt that tells it to
// look: it would otherwise depend on how finely its work is paid.
void Uml::ipi_arrived(void* uml, std::uint64_t) {
  Uml& self = *static_cast<Uml*>(uml);
  if (self.signals_ != 0 && !self.signal_pending_) self.show_signals();
  self.thread_->cpu().raise_local(sched::LocalInterrupt::resched);
}

void Uml::show_signals() {
  signal_pending_ = true;
  guest_.scheduler().cpu(0).request_attention();
}

void Uml::take_signals() {
  if (signals_ == 0) return;
  enter_host_kernel();
  if (runs_a_process()) interrupt_tracer();
  host_.cpu().settle();  // what comes until the tracer is back is taken, too
  const std::uint8_t taken = std::exchange(signals_, std::uint8_t{0});
  signal_pending_ = false;
  for (const Signal signal : {sigio, sigalrm}) {
    if ((taken & signal) == 0) continue;
    ++signals_delivered_;
    host_.cpu().charge(Work::signal_deliver);
  }
  leave_host();
  Cpu& guest_cpu = guest_.scheduler().cpu(0);
  if ((taken & sigio) != 0) sigio_bit_ = true;
  if ((taken & sigalrm) != 0) guest_cpu.raise_local(sched::LocalInterrupt::timer);
  guest_cpu.request_attention();
}

void Uml::descriptor_ready(irq::IrqLine& line) {
  if (std::find(ready_.begin(), ready_.end(), &line) == ready_.end()) ready_.push_back(&line);
  post(sigio);
}

std::size_t Uml::epoll_wait() {
  std::size_t events = 0;
  host_call([&] {
    host_.cpu().settle();
    events = std::min(ready_.size(), kEpollBatch);
    host_.cpu().charge(Work::epoll_wait, static_cast<std::int64_t>(events));
  });
  return events;
}

// --- calls between the two kernels
// --------------------------------------------------------------------------

void Uml::enter_host() {
  enter_host_kernel();
  host_.cpu().charge(Work::syscall);
  host_.cpu().settle();
  ++host_calls_;
}

// The guest owes nothing; from here on it is the host's context that must not.
void Uml::enter_host_kernel() {
  Cpu& here = host_.cpu();
  here.timeline().set_debt_cell(&here.context().debt_ns, here.subject());
  here.enter_kernel();
}

void Uml::leave_host() {
  host_.cpu().leave_kernel();
  Cpu& guest_cpu = guest_.scheduler().cpu(0);
  guest_.scheduler().set_running(guest_cpu);
  guest_cpu.timeline().set_debt_cell(&guest_cpu.context().debt_ns, guest_cpu.subject());
}

void Uml::pay_stop() {
  enter_host_kernel();
  Cpu& here = host_.cpu();
  for (const Work work : {Work::ptrace_stop, Work::ptrace_registers, Work::ptrace_fp_registers})
    here.charge(work);
  leave_host();
}

void Uml::trace_system_call() {
  stop_alarmed_process();
  pay_stop();
}

// --- signals and the processes of the guest
// ------------------------------------------------------------------------

// Else it is the guest's kernel that runs, and its process, if any, is stopped.
bool Uml::runs_a_process() const {
  Cpu& guest_cpu = guest_.scheduler().cpu(0);
  return guest_cpu.context().kind == sched::ContextKind::user;
}

// The guest's kernel waits for its process: it is woken, switched to, waits again, is switched
// from.
void Uml::interrupt_tracer() {
  Cpu& here = host_.cpu();
  for (const Work work : {Work::wakeup, Work::context_switch, Work::syscall, Work::context_switch})
    here.charge(work);
}

void Uml::alarm_process() {
  sched::Thread* current = guest_.scheduler().cpu(0).current();
  if (current == nullptr || current->attributes().kernel_thread) return;
  host_call([&] {
    host_.cpu().charge(Work::signal_kill);
    host_.cpu().charge(Work::signal_send);
  });
  if (std::find(alarmed_.begin(), alarmed_.end(), current) == alarmed_.end())
    alarmed_.push_back(current);
}

// It stops before its next instruction, however many came.
void Uml::stop_alarmed_process() {
  if (alarmed_.empty()) return;
  const auto alarm =
      std::find(alarmed_.begin(), alarmed_.end(), guest_.scheduler().cpu(0).current());
  if (alarm == alarmed_.end()) return;
  alarmed_.erase(alarm);
  pay_stop();
}

// --- the guest's interrupt controller
// ------------------------------------------------------------------------

UmlInterrupts::UmlInterrupts(Uml& uml)
    : irq::InterruptController(
          irq::ControllerOptions{.can_mask = false, .entry = Work::guest_interrupt}),
      uml_(uml) {}

void UmlInterrupts::deliver_lines(Cpu& cpu) {
  uml_.take_signals();
  uml_.read_events([&](irq::IrqLine& line) { handle(cpu, line); });
}

// Each time that a descriptor becomes ready again is a signal of its own, also while its handler
// runs: the epoll set remembers the descriptor, and signals that meet merge on the host.
void UmlInterrupts::line_raised(irq::IrqLine& line, bool) { uml_.descriptor_ready(line); }

void UmlInterrupts::line_became_pending(irq::IrqLine& line) { uml_.descriptor_ready(line); }

}  // namespace tapestry::kernel
