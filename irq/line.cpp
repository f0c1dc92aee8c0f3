#include "irq/line.hpp"

#include <utility>

#include "irq/controller.hpp"
#include "irq/napi.hpp"

namespace tapestry::irq {

IrqLine::IrqLine(InterruptController& controller, std::size_t number, std::string name,
                 Trigger trigger, InterruptHandler& handler)
    : controller_(controller),
      number_(number),
      name_(std::move(name)),
      trigger_(trigger),
      handler_(handler),
      subject_(timeline().names().add(controller.scheduler().name(), name_)) {}

core::Timeline& IrqLine::timeline() const { return controller_.scheduler().hub().timeline(); }

void IrqLine::raise() {
  timeline().require_settled("an interrupt line");
  ++raised_;
  bool& latch = trigger_ == Trigger::level ? asserted_ : pending_;
  if (latch) ++merged_;
  const bool merged = std::exchange(latch, true);
  timeline().tell(core::Happening::line_raised, subject_, merged ? 1 : 0);
  controller_.line_raised(*this, merged);
}

void IrqLine::lower() {
  timeline().require_settled("an interrupt line");
  asserted_ = false;
}

void IrqLine::mask() {
  if (!controller_.options_.can_mask) return;
  sched::Cpu& cpu = controller_.scheduler().cpu();
  cpu.charge(sched::Work::interrupt_mask);
  cpu.settle();
  masked_ = true;
  timeline().tell(core::Happening::line_masked, subject_);
}

void IrqLine::unmask() {
  if (!controller_.options_.can_mask) return;
  sched::Cpu& cpu = controller_.scheduler().cpu();
  cpu.charge(sched::Work::interrupt_mask);
  cpu.settle();
  if (napi_ != nullptr) napi_->line_unmasked();
  masked_ = false;
  timeline().tell(core::Happening::line_unmasked, subject_, pending() ? 1 : 0);
  if (!deliverable()) return;
  controller_.line_became_pending(*this);
  cpu.settle();
}

void IrqLine::set_affinity(std::size_t cpu) {
  timeline().require_settled("an interrupt line's affinity");
  if (cpu == affinity_) return;
  controller_.route(*this, cpu);
  if (deliverable()) controller_.line_became_pending(*this);
}

}  // namespace tapestry::irq
