// Interrupt lines: what a device pulls, and what a machine does about it.
//
// A line latches. An edge that arrives while the line is masked or being handled stays pending,
// once; a level line is pending for as long as its device asserts it. Masking is the only way to
// keep a pending line from being delivered; on platforms that cannot mask (UML: interrupts are
// signals) mask and unmask do nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sched/cpu.hpp"

namespace tapestry::irq {

class InterruptController;
class Napi;

enum class Trigger : std::uint8_t { edge, level };

// What runs in hardirq context when the line is delivered. Charges and settles for itself.
class InterruptHandler {
 public:
  virtual ~InterruptHandler() = default;
  virtual void interrupt() = 0;
};

class IrqLine {
 public:
  IrqLine(const IrqLine&) = delete;
  IrqLine& operator=(const IrqLine&) = delete;

  // --- the device's side: from device events and from other machines' CPUs; only latches
  // ----------
  void raise();  // edge: latch one; level: assert
  void lower();  // level: the device no longer asks

  // --- the driver's side: on a CPU of the line's machine; settles, charges interrupt_mask
  // ----------
  void mask();
  void unmask();  // what was latched meanwhile comes in at once
  bool masked() const { return masked_; }

  // Later deliveries go to this CPU, that of a pending line included; a handler that runs stays
  // where it is. Settled callers only.
  void set_affinity(std::size_t cpu);
  std::size_t affinity() const { return affinity_; }

  const std::string& name() const { return name_; }
  bool pending() const { return pending_ || asserted_; }
  std::uint64_t raised() const { return raised_; }        // times the device pulled it
  std::uint64_t delivered() const { return delivered_; }  // times the handler ran
  std::uint64_t merged() const { return merged_; }        // raised while already pending

 private:
  friend class InterruptController;
  friend class Napi;
  IrqLine(InterruptController& controller, std::size_t number, std::string name, Trigger trigger,
          InterruptHandler& handler);
  core::Timeline& timeline() const;
  bool deliverable() const { return pending() && !masked_ && !in_service_; }

  InterruptController& controller_;
  std::size_t number_;  // delivery order among pending lines of a CPU
  std::string name_;
  Trigger trigger_;
  InterruptHandler& handler_;
  const Napi* napi_ = nullptr;  // whose driver masks it, as far as known
  std::size_t affinity_ = 0;
  bool masked_ = false;
  bool pending_ = false;     // edge latch
  bool asserted_ = false;    // level
  bool in_service_ = false;  // its handler runs; a second one never runs beside it
  std::uint64_t raised_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t merged_ = 0;
  core::SubjectId subject_;
};

}  // namespace tapestry::irq
