// Cpu::spin_until; included by sched/cpu.hpp.
#pragma once

namespace tapestry::sched {

template <typename Done>
bool Cpu::spin_until(SpinWait& wait, core::Instant deadline, Work work, Done done) {
  for (;;) {
    const core::Settled settled = settle();
    if (done()) return true;
    if (now(settled) >= deadline) return false;
    spin_to_next_look(wait, deadline, work);
  }
}

}  // namespace tapestry::sched
