// User-Mode Linux: a kernel as a process of a host.
//
// Its CPU is a host thread. Its interrupts are signals: they cannot be masked, only put off in
// software, and while they are put off they leave one pending bit, however many came. Devices are
// descriptors in one edge-triggered epoll set, of which a signal handler reads up to 64 events at a
// time until there are none. A system call of a guest process is a stop of a traced host process;
// while such a process runs its tracer, the guest's kernel, waits for it, and a signal must first
// switch to it. Idling is a host sleep. (arch/um/os-Linux/signal.c, arch/um/kernel/irq.c,
// arch/um/os-Linux/skas/process.c)
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "irq/controller.hpp"
#include "sched/time_source.hpp"
#include "sched/timer.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::kernel {

class Machine;
class UmlTick;

class Uml final : public sched::TimeSource {
 public:
  static constexpr std::size_t kEpollBatch = 64;  // MAX_EPOLL_EVENTS

  Uml(Machine& guest, Machine& host, std::size_t host_cpu);

  // Creates the host thread that is the guest's CPU; once, when the guest's CPU exists.
  void boot(UmlTick& tick);

  // sched::TimeSource, for the guest's CPU
  core::Nanos spend(sched::Cpu& cpu, core::Nanos amount, bool attentive) override;
  void idle(sched::Cpu& cpu) override;
  bool prepare_idle(sched::Cpu& cpu) override;
  void leave_idle(sched::Cpu& cpu) override;
  void notice(sched::Cpu& cpu) override;
  void kick(sched::Cpu& waker, sched::Cpu& cpu) override;
  void program_timer(sched::Cpu& cpu, core::Instant at) override;
  core::CacheOwner cache_owner() const override;

  // A descriptor of the guest kernel has become ready: queues an epoll event and sends SIGIO. On a
  // CPU of the host, which pays.
  void descriptor_ready(irq::IrqLine& line);

  // The guest side of SIGIO: reads the epoll set and runs the handlers, until nothing is left.
  template <typename Handle>
  void read_events(Handle handle) {
    if (!sigio_bit_) return;
    sigio_bit_ = false;
    while (std::size_t events = epoll_wait()) {
      for (; events > 0; --events) {
        irq::IrqLine* line = ready_.front();
        ready_.pop_front();
        handle(*line);
      }
    }
  }
  // Takes the signals that have come: pays for their delivery, sets the guest's pending bits.
  void take_signals();

  // One system call of the guest kernel to its host, from a settled guest: `body` runs in the
  // host's kernel.
  template <typename Body>
  void host_call(Body body) {
    enter_host();
    body();
    leave_host();
  }
  // The tracer's work for one system call of a guest process.
  void trace_system_call();
  // The guest's timer interrupt: sends the guest process that is current, if any, a SIGALRM.
  void alarm_process();

  sched::Thread& thread() { return *thread_; }
  std::uint64_t signals_delivered() const { return signals_delivered_; }
  std::uint64_t host_calls() const { return host_calls_; }
  // Time in which the guest wanted to run and its host did something else, up to now.
  core::Nanos stolen() const;

 private:
  enum Signal : std::uint8_t { sigio = 1, sigalrm = 2 };

  void post(Signal signal);
  bool runs_elsewhere(const sched::Cpu& here) const;
  void show_signals();
  void woke_up(core::Instant at);
  static void ipi_arrived(void* uml, std::uint64_t);
  std::size_t epoll_wait();
  bool runs_a_process() const;
  void interrupt_tracer();
  void stop_alarmed_process();
  void pay_stop();
  void enter_host();
  void enter_host_kernel();
  void leave_host();
  static void timer_expired(void* uml, std::uint64_t);

  Machine& guest_;
  Machine& host_;
  std::size_t host_cpu_;
  sched::Thread* thread_ = nullptr;
  UmlTick* tick_ = nullptr;
  sched::Timer host_timer_;
  core::ActorId ipi_;
  sched::WaitQueue sleeps_{"signals"};
  std::deque<irq::IrqLine*> ready_;      // the epoll set's ready list: each line at most once
  std::vector<sched::Thread*> alarmed_;  // guest processes that stop when they go on: each once
  std::uint8_t signals_ = 0;             // sent and not yet delivered
  bool signal_pending_ = false;  // there are some, and the host thread has been told to look
  bool sigio_bit_ = false;       // delivered to the guest, not yet acted on
  core::Instant booted_at_{};
  core::Nanos paid_before_boot_{0};  // the switch to the thread itself
  core::Instant sleep_began_{};
  bool asleep_ = false;  // and nobody has woken it yet
  core::Nanos slept_{0};
  std::uint64_t signals_delivered_ = 0;
  std::uint64_t host_calls_ = 0;
};

// The interrupt controller of a UML guest: masks are empty functions, lines arrive through epoll.
class UmlInterrupts final : public irq::InterruptController {
 public:
  explicit UmlInterrupts(Uml& uml);

 protected:
  void deliver_lines(sched::Cpu& cpu) override;
  void line_raised(irq::IrqLine& line, bool merged) override;
  void timer_interrupt_began(sched::Cpu&) override { uml_.alarm_process(); }
  void line_became_pending(irq::IrqLine& line) override;

 private:
  Uml& uml_;
};

}  // namespace tapestry::kernel
