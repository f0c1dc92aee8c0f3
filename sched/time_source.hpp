// Where a CPU's time comes from. A physical CPU parks in the hub; a nested machine's CPU is a
// thread of a host machine and spends that thread's time (kernel/guest_time.hpp).
#pragma once

#include "core/packet.hpp"
#include "core/time.hpp"
#include "sched/hub.hpp"

namespace tapestry::sched {

class Cpu;
class Thread;

class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // Spends up to `amount`; returns what is left. Less than all is spent only if `attentive`, when
  // something has become pending for this CPU meanwhile.
  virtual core::Nanos spend(Cpu& cpu, core::Nanos amount, bool attentive) = 0;

  // Nothing to run: returns when something has become pending for this CPU.
  virtual void idle(Cpu& cpu) = 0;
  // Before that: true if there was something to do for it, which took time, so that the CPU looks
  // again.
  virtual bool prepare_idle(Cpu&) { return false; }
  // The CPU, which owes nothing, begins to run, for the first time or because a thread is ready.
  virtual void leave_idle(Cpu&) {}

  // Something has become pending: ends an attentive spend or an idle wait, at the present instant.
  // Called by devices and by other CPUs; only latches.
  virtual void notice(Cpu& cpu) = 0;

  // A thread of this CPU has become runnable through another CPU, which has just been charged for
  // it. Leads to a resched interrupt on `cpu`.
  virtual void kick(Cpu& waker, Cpu& cpu) = 0;

  // The timer of this CPU: one instant, kNever for none. Leads to a timer interrupt on `cpu`.
  virtual void program_timer(Cpu& cpu, core::Instant at) = 0;

  // In whose cache is what the running code of this CPU touches?
  virtual core::CacheOwner cache_owner() const = 0;

  // The CPU has been given to `thread`, which takes its first step: for a CPU whose threads are
  // threads of a host.
  virtual void thread_runs(Cpu&, Thread&) {}
};

// A CPU of a machine that is not nested.
class PhysicalTime final : public TimeSource {
 public:
  // `ipi_latency`: from the sender's write until the interrupt is pending at the target.
  PhysicalTime(Hub& hub, std::string name, core::Nanos ipi_latency);

  core::Nanos spend(Cpu& cpu, core::Nanos amount, bool attentive) override;
  void idle(Cpu& cpu) override;
  void notice(Cpu& cpu) override;
  void kick(Cpu& waker, Cpu& cpu) override;
  void program_timer(Cpu& cpu, core::Instant at) override;

  core::CacheOwner cache_owner() const override {
    return static_cast<core::CacheOwner>(index_ + 1);
  }

  std::size_t index() const { return index_; }
  FiberSlot& first_slot() { return hub_.parked(index_); }

 private:
  Hub& hub_;
  std::size_t index_;
  core::ActorId timer_actor_;
  core::ActorId ipi_actor_;
  core::Nanos ipi_latency_;
  core::EventId timer_event_{};
  bool parked_attentive_ = false;
  std::uint8_t ipis_in_flight_ = 0;
};

}  // namespace tapestry::sched
