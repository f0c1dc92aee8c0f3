#include "kernel/uml_tick.hpp"

#include "kernel/machine.hpp"
#include "kernel/world.hpp"

namespace tapestry::kernel {

UmlTick::UmlTick(Machine& guest)
    : guest_(guest), period_(guest.jiffies().tick()), timer_(&UmlTick::expired, this) {}

// Whole periods since the start, whenever the guest was idle.
core::Instant UmlTick::next() const {
  const core::Nanos since = guest_.world().timeline().now() - core::kStart;
  return core::kStart + (since / period_ + 1) * period_;
}

bool UmlTick::stop() {
  if (!timer_.armed()) return false;
  sched::Cpu& cpu = guest_.cpu();
  timer_.cancel(cpu);
  cpu.timers().reprogram();
  return true;
}

void UmlTick::restart() {
  if (!timer_.armed()) timer_.arm(guest_.cpu(), next());
}

// In the guest's timer interrupt, which has paid for it; programs the next when it ends.
void UmlTick::expired(void* tick, std::uint64_t) {
  UmlTick& self = *static_cast<UmlTick*>(tick);
  ++self.ticks_;
  self.timer_.arm_uncharged(self.guest_.cpu(), self.next());
}

}  // namespace tapestry::kernel
