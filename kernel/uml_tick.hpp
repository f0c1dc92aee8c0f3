// The periodic tick of a UML guest, and why it is dear.
//
// A guest that runs is interrupted HZ times a second, as any kernel; an idle one is not
// (NO_HZ_IDLE): going idle stops the tick and leaving idle starts it again, each by programming the
// one timer that the guest has on its host, a system call. Each tick programs it anew.
//
// The timer's signal goes to the process that is the guest's kernel. A process of the guest that
// runs meanwhile is another process of the host, and knows nothing of it: the guest's kernel sends
// it a SIGALRM of its own (um_timer, os_alarm_process), so that it stops for its tracer with all
// that a system call's stop costs. If the guest was in its kernel, that stop comes when its process
// goes on. (arch/um/kernel/time.c, arch/um/os-Linux/skas/process.c)
#pragma once

#include "core/time.hpp"
#include "sched/timer.hpp"

namespace tapestry::kernel {

class Machine;

class UmlTick {
 public:
  explicit UmlTick(Machine& guest);

  // tick_nohz_idle_stop_tick and tick_nohz_idle_exit: on the guest's CPU, which owes nothing.
  bool stop();  // false: it was stopped
  void restart();

  std::uint64_t ticks() const { return ticks_; }

 private:
  static void expired(void* tick, std::uint64_t);
  core::Instant next() const;

  Machine& guest_;
  core::Nanos period_;
  sched::Timer timer_;
  std::uint64_t ticks_ = 0;
};

}  // namespace tapestry::kernel
