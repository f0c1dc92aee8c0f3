// Time of a CPU that is not nested: it parks in the hub.
#include "core/assert.hpp"
#include "sched/cpu.hpp"
#include "sched/time_source.hpp"

namespace tapestry::sched {

PhysicalTime::PhysicalTime(Hub& hub, std::string name, core::Nanos ipi_latency)
    : hub_(hub),
      index_(hub.add_cpu(name)),
      timer_actor_(hub.timeline().add_actor(name + ".timer", core::Phase::device)),
      ipi_actor_(hub.timeline().add_actor(name + ".ipi", core::Phase::device)),
      ipi_latency_(ipi_latency) {}

core::Nanos PhysicalTime::spend(Cpu&, core::Nanos amount, bool attentive) {
  const core::Instant start = hub_.timeline().now();
  const core::Instant target = core::after(start, amount);
  if (hub_.alone_until(target)) {
    hub_.timeline().advance_to(target);
    return core::Nanos{0};
  }
  parked_attentive_ = attentive;
  hub_.park(index_, target);
  parked_attentive_ = false;
  return target - hub_.timeline().now();
}

void PhysicalTime::idle(Cpu&) {
  parked_attentive_ = true;
  hub_.park(index_, core::kNever);
  parked_attentive_ = false;
}

void PhysicalTime::notice(Cpu&) {
  if (parked_attentive_) hub_.wake(index_);
}

void PhysicalTime::kick(Cpu&, Cpu& cpu) {
  // Interrupts of the same kind that are under way merge, as in an interrupt controller.
  if (ipis_in_flight_ > 0) return;
  ++ipis_in_flight_;
  auto arrive = [](void* target, std::uint64_t) {
    Cpu& there = *static_cast<Cpu*>(target);
    --static_cast<PhysicalTime&>(there.time()).ipis_in_flight_;
    // Not before the interrupt: when a CPU notices must not depend on how finely its work is paid.
    if (there.current() != nullptr) there.set_need_resched();
    there.raise_local(LocalInterrupt::resched);
  };
  hub_.timeline().events().push(hub_.timeline().now() + ipi_latency_, ipi_actor_, arrive, &cpu, 0);
}

void PhysicalTime::program_timer(Cpu& cpu, core::Instant at) {
  hub_.timeline().events().cancel(timer_event_);
  timer_event_ = core::EventId{};
  if (at == core::kNever) return;
  auto expire = [](void* target, std::uint64_t) {
    Cpu& here = *static_cast<Cpu*>(target);
    static_cast<PhysicalTime&>(here.time()).timer_event_ = core::EventId{};
    here.raise_local(LocalInterrupt::timer);
  };
  timer_event_ = hub_.timeline().events().push(std::max(at, hub_.timeline().now()), timer_actor_,
                                               expire, &cpu, 0);
}

}  // namespace tapestry::sched
