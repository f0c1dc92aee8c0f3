#include "irq/line.hpp"

#include <utility>

#include "irq/controller.hpp"

namespace tapestry::irq {

IrqLine::IrqLine(InterruptController& controller, std::size_t number, std::string name,
                 Trigger trigger, InterruptHandler& handler)
    : controller_(controller),
      number_(number),
      name_(std::move(name)),
      trigger_(trigger),
      handler_(handler) {}

void IrqLine::raise() {
  controller_.scheduler().hub().timeline().require_settled("an interrupt line");
  ++raised_;
  bool& latch = trigger_ == Trigger::level ? asserted_ : pending_;
  if (latch) ++merged_;
  const bool merged = std::exchange(latch, true);
  controller_.line_raised(*this, merged);
}

void IrqLine::lower() {
  controller_.scheduler().hub().timeline().require_settled("an interrupt line");
  asserted_ = false;
}

void IrqLine::mask() {
  if (!controller_.options_.can_mask) return;
  sched::Cpu& cpu = controller_.scheduler().cpu();
  cpu.charge(sched::Work::interrupt_mask);
  cpu.settle();
  masked_ = true;
}

void IrqLine::unmask() {
  if (!controller_.options_.can_mask) return;
  sched::Cpu& cpu = controller_.scheduler().cpu();
  cpu.charge(sched::Work::interrupt_mask);
  cpu.settle();
  masked_ = false;
  if (!deliverable()) return;
  controller_.line_became_pending(*this);
  cpu.settle();
}

void IrqLine::set_affinity(std::size_t cpu) {
  controller_.scheduler().hub().timeline().require_settled("an interrupt line's affinity");
  if (cpu == affinity_) return;
  controller_.route(*this, cpu);
  if (deliverable()) controller_.line_became_pending(*this);
}

}  // namespace tapestry::irq
