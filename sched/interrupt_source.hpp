// What the scheduler knows of interrupts: somebody delivers them. The irq layer is that somebody.
#pragma once

namespace tapestry::sched {

class Cpu;

class InterruptSource {
 public:
  virtual ~InterruptSource() = default;

  // Called by settle and by the idle loop with interrupts enabled and the CPU's attention flag
  // taken. Runs every deliverable handler, each in a HandlerFrame, and softirqs on the way out.
  virtual void deliver(Cpu& cpu) = 0;

  // The last bottom-half section of a context has ended outside of an interrupt: run what was
  // raised meanwhile.
  virtual void bottom_halves_enabled(Cpu& cpu) = 0;
};

}  // namespace tapestry::sched
