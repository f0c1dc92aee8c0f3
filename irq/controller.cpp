#include "irq/controller.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"

namespace tapestry::irq {

InterruptController::InterruptController(ControllerOptions options) : options_(options) {}

void InterruptController::bind(sched::Scheduler& scheduler, Softirqs& softirqs) {
  TAPESTRY_ASSERT(scheduler_ == nullptr, "a controller belongs to one machine");
  scheduler_ = &scheduler;
  softirqs_ = &softirqs;
}

IrqLine& InterruptController::add_line(std::string name, Trigger trigger, InterruptHandler& handler,
                                       std::size_t cpu) {
  lines_.push_back(std::unique_ptr<IrqLine>(
      new IrqLine(*this, lines_.size(), std::move(name), trigger, handler)));
  IrqLine& line = *lines_.back();
  route(line, cpu);
  return line;
}

InterruptController::PerCpu& InterruptController::on(std::size_t cpu) {
  if (cpu >= by_cpu_.size()) by_cpu_.resize(cpu + 1);
  return by_cpu_[cpu];
}

void InterruptController::route(IrqLine& line, std::size_t cpu) {
  TAPESTRY_ASSERT(cpu < scheduler_->cpus(), "a line is routed to a CPU of its machine");
  std::erase(on(line.affinity_).lines, &line);
  line.affinity_ = cpu;
  std::vector<IrqLine*>& lines = on(cpu).lines;
  const auto later = [&line](const IrqLine* other) { return other->number_ > line.number_; };
  lines.insert(std::find_if(lines.begin(), lines.end(), later), &line);
}

void InterruptController::line_raised(IrqLine& line, bool merged) {
  if (!merged && line.deliverable()) line_became_pending(line);
}

void InterruptController::line_became_pending(IrqLine& line) {
  scheduler_->cpu(line.affinity_).request_attention();
}

// --- delivery
// --------------------------------------------------------------------------------------

void InterruptController::deliver(sched::Cpu& cpu) {
  const std::uint64_t handled_before = on(cpu.index()).handled;
  std::uint8_t local = cpu.take_local_interrupts();
  do {
    handle_local(cpu, local);
    deliver_lines(cpu);
    local = cpu.take_local_interrupts();
  } while (local != 0);
  // Softirqs run on the way out of an interrupt: attention that found nothing to do is none.
  if (on(cpu.index()).handled == handled_before) return;
  if (cpu.bottom_halves_enabled()) softirqs_->run_pending(cpu);
}

void InterruptController::bottom_halves_enabled(sched::Cpu& cpu) { softirqs_->run_pending(cpu); }

void InterruptController::handle_local(sched::Cpu& cpu, std::uint8_t interrupts) {
  const auto is_set = [interrupts](sched::LocalInterrupt which) {
    return (interrupts & static_cast<std::uint8_t>(which)) != 0;
  };
  if (is_set(sched::LocalInterrupt::timer)) {
    ++on(cpu.index()).handled;
    cpu.run_in_context(sched::ContextKind::hardirq, nullptr, [this, &cpu] {
      cpu.charge(options_.entry);
      cpu.charge(sched::Work::timer_interrupt);
      cpu.settle();
      timer_interrupt_began(cpu);
      cpu.timers().interrupt();
    });
  }
  if (is_set(sched::LocalInterrupt::resched)) {
    ++on(cpu.index()).handled;
    // Whoever sent it has marked the CPU already: scheduler_ipi has nothing left to do.
    cpu.run_in_context(sched::ContextKind::hardirq, nullptr,
                       [this, &cpu] { cpu.charge(options_.entry); });
  }
}

IrqLine* InterruptController::next_deliverable(const sched::Cpu& cpu) {
  for (IrqLine* line : on(cpu.index()).lines) {
    if (line->deliverable()) return line;
  }
  return nullptr;
}

void InterruptController::deliver_lines(sched::Cpu& cpu) {
  while (IrqLine* line = next_deliverable(cpu))
    handle(cpu, *line);
}

void InterruptController::handle(sched::Cpu& cpu, IrqLine& line) {
  line.pending_ = false;  // acknowledged: an edge from here on is another interrupt
  line.in_service_ = true;
  ++line.delivered_;
  ++on(cpu.index()).handled;
  cpu.run_in_context(sched::ContextKind::hardirq, nullptr, [this, &cpu, &line] {
    on_handler_entry(line, cpu, cpu.timeline().now());
    cpu.timeline().tell(core::Happening::handler_begins, line.subject_);
    cpu.charge(options_.entry);
    cpu.settle();
    line.handler_.interrupt();
    cpu.settle();
    on_handler_exit(line, cpu, cpu.timeline().now());
    cpu.timeline().tell(core::Happening::handler_ends, line.subject_);
  });
  line.in_service_ = false;
  // Its route may have changed while the handler ran here.
  if (line.affinity_ != cpu.index() && line.deliverable()) line_became_pending(line);
}

}  // namespace tapestry::irq
