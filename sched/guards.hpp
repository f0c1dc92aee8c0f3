// Scopes of exclusion. Each settles where it begins and where it ends, since what may interrupt
// changes there.
#pragma once

#include "sched/scheduler.hpp"

namespace tapestry::sched {

// local_irq_disable .. local_irq_enable
class InterruptsOff {
 public:
  explicit InterruptsOff(Cpu& cpu) : cpu_(cpu) { cpu_.disable_interrupts(); }
  ~InterruptsOff() noexcept(false) { cpu_.enable_interrupts(); }
  InterruptsOff(const InterruptsOff&) = delete;
  InterruptsOff& operator=(const InterruptsOff&) = delete;

 private:
  Cpu& cpu_;
};

// local_bh_disable .. local_bh_enable
class BottomHalvesOff {
 public:
  explicit BottomHalvesOff(Cpu& cpu) : cpu_(cpu) { cpu_.disable_bottom_halves(); }
  ~BottomHalvesOff() noexcept(false) { cpu_.enable_bottom_halves(); }
  BottomHalvesOff(const BottomHalvesOff&) = delete;
  BottomHalvesOff& operator=(const BottomHalvesOff&) = delete;

 private:
  Cpu& cpu_;
};

// preempt_disable .. preempt_enable
class PreemptionOff {
 public:
  explicit PreemptionOff(Cpu& cpu) : cpu_(cpu) { cpu_.disable_preemption(); }
  ~PreemptionOff() noexcept(false) { cpu_.enable_preemption(); }
  PreemptionOff(const PreemptionOff&) = delete;
  PreemptionOff& operator=(const PreemptionOff&) = delete;

 private:
  Cpu& cpu_;
};

}  // namespace tapestry::sched
