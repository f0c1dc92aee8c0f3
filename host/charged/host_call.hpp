// One system call that a guest kernel makes to its host, for as long as the object lives: the host
// thread that is the guest's CPU enters its kernel, pays for the call, and goes back.
//
// The guest owes nothing when it calls, and takes what has come for it when it is back. A driver of
// the host's own is in the kernel already: for it nothing is entered and nothing is paid. A thread
// that a guest's process has beside its CPU calls for itself.
#pragma once

#include "sched/scheduler.hpp"

namespace tapestry::host::charged {

class HostCall {
 public:
  enum class From : std::uint8_t {
    guest,   // or the host's own kernel, if guest and host are the same
    process  // a thread of the host that runs no guest, but belongs to one: `guest` is the host
  };

  HostCall(sched::Scheduler& guest, sched::Scheduler& host, From from = From::guest)
      : guest_(guest), host_(host), enters_(&guest != &host || from == From::process) {
    guest_.cpu().settle();
    if (!enters_) return;
    guest_.hub().timeline().tell(core::Happening::host_call_begins, 0);
    watch_debt_of(host_);
    host_.cpu().enter_kernel();
    host_.cpu().charge(sched::Work::syscall);
    host_.cpu().settle();
  }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  // Back in the guest, with nothing owed by anyone. Not a destructor, since a world that is being
  // torn down unwinds callers, and nobody then returns from a system call.
  void finish() {
    if (enters_) {
      host_.cpu().leave_kernel();
      watch_debt_of(guest_);
      guest_.hub().timeline().tell(core::Happening::host_call_ends, 0);
    }
    guest_.cpu().settle();
  }

 private:
  static void watch_debt_of(sched::Scheduler& machine) {
    sched::Cpu& cpu = machine.cpu();
    cpu.timeline().set_debt_cell(&cpu.context().debt_ns, cpu.subject());
  }

  sched::Scheduler& guest_;
  sched::Scheduler& host_;
  bool enters_;
};

}  // namespace tapestry::host::charged
