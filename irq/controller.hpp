// The interrupt controller of one machine: local interrupts of its CPUs, device lines, and softirqs
// on the way out.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/probe.hpp"
#include "irq/line.hpp"
#include "irq/softirq.hpp"
#include "sched/interrupt_source.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::irq {

struct ControllerOptions {
  bool can_mask = true;  // false: mask and unmask are empty functions, as in UML
  // What the way into and out of a handler costs: guest_interrupt where a signal of the host, paid
  // there, stands for the hardware's interrupt.
  sched::Work entry = sched::Work::hardirq;
};

class InterruptController : public sched::InterruptSource {
 public:
  // The scheduler is bound later, since it needs its interrupt source first: bind() before any CPU
  // exists.
  explicit InterruptController(ControllerOptions options);
  void bind(sched::Scheduler& scheduler, Softirqs& softirqs);

  // The handler outlives the controller's use of it. Lines are delivered in the order of their
  // creation.
  IrqLine& add_line(std::string name, Trigger trigger, InterruptHandler& handler,
                    std::size_t cpu = 0);

  // sched::InterruptSource. Local interrupts first, then lines, each in hardirq context with
  // interrupts off (no nesting); repeats until nothing is deliverable; then, unless a softirq or a
  // bottom-half section was interrupted, the softirqs.
  void deliver(sched::Cpu& cpu) override;
  void bottom_halves_enabled(sched::Cpu& cpu) override;

  const std::deque<std::unique_ptr<IrqLine>>& lines() const { return lines_; }
  sched::Scheduler& scheduler() { return *scheduler_; }
  Softirqs& softirqs() { return *softirqs_; }

  // irq:irq_handler_entry and irq_handler_exit: line, CPU, instant.
  core::Probe<const IrqLine&, const sched::Cpu&, core::Instant> on_handler_entry;
  core::Probe<const IrqLine&, const sched::Cpu&, core::Instant> on_handler_exit;

 protected:
  // Runs one handler in hardirq context: for platforms with their own way of finding out which
  // lines are pending.
  void handle(sched::Cpu& cpu, IrqLine& line);
  // The first line of this CPU that is pending and may be delivered; null if none.
  IrqLine* next_deliverable(const sched::Cpu& cpu);
  virtual void deliver_lines(sched::Cpu& cpu);
  // A device has pulled a line; merged: it was pending already. By default tells of a line that has
  // become deliverable, and of no other.
  virtual void line_raised(IrqLine& line, bool merged);
  // In the timer interrupt, before what has expired is run: settled.
  virtual void timer_interrupt_began(sched::Cpu&) {}
  // By default asks for the attention of the CPU that the line is routed to.
  virtual void line_became_pending(IrqLine& line);

 private:
  friend class IrqLine;
  struct PerCpu {
    std::vector<IrqLine*> lines;  // routed here, in the order of their creation
    std::uint64_t handled = 0;    // handlers run, local ones included
  };

  void handle_local(sched::Cpu& cpu, std::uint8_t interrupts);
  void route(IrqLine& line, std::size_t cpu);
  PerCpu& on(std::size_t cpu);

  ControllerOptions options_;
  sched::Scheduler* scheduler_ = nullptr;
  Softirqs* softirqs_ = nullptr;
  std::deque<std::unique_ptr<IrqLine>> lines_;
  std::vector<PerCpu> by_cpu_;
};

}  // namespace tapestry::irq
