// A guest's CPU is a thread of its host: what the host does in between is stolen, to the
// nanosecond.
//
// Each timeline has one guest thread that needs 1,000 ns, and says when it was done and how much
// was stolen.
#include <catch2/catch.hpp>

#include <functional>
#include <vector>

#include "kernel/uml.hpp"
#include "kernel/world.hpp"

namespace tapestry {
namespace {

using core::Instant;
using core::Nanos;
using sched::Work;

struct Stolen {
  Nanos done{0};
  Nanos stolen{0};
};

// An interrupt of the host that takes `cost` at `at`.
struct HostInterrupt final : irq::InterruptHandler {
  HostInterrupt(kernel::Machine& host, Nanos at, Nanos takes)
      : machine(host),
        cost(takes),
        line(host.interrupts().add_line("disk", irq::Trigger::edge, *this)) {
    core::Timeline& timeline = host.world().timeline();
    const core::ActorId disk = timeline.add_actor("disk", core::Phase::device);
    timeline.events().push(
        core::kStart + at, disk,
        [](void* self, std::uint64_t) { static_cast<HostInterrupt*>(self)->line.raise(); }, this);
  }
  void interrupt() override { machine.cpu().owe(Work::application, cost); }

  kernel::Machine& machine;
  Nanos cost;
  irq::IrqLine& line;
};

struct Nested {
  explicit Nested(sched::SettleMode mode, sched::CostTable table = sched::CostTable::zero())
      : costs(std::move(table)), world({.settle_mode = mode}) {
    host = &world.add_machine({.name = "host",
                               .era = *kernel::era_of("6.18"),
                               .cpus = 2,
                               .preemption = sched::Preemption::full},
                              costs);
    guest = &world.add_machine({.name = "guest",
                                .platform = kernel::PlatformKind::uml,
                                .era = *kernel::era_of("6.1"),
                                .hz = 100,
                                .host = host},
                               costs);
  }

  // One guest thread that spends `pieces` and reports.
  Stolen run(std::vector<Nanos> pieces) {
    Stolen result;
    guest->scheduler().spawn({.name = "task"}, [&, pieces] {
      for (const Nanos piece : pieces)
        guest->cpu().owe(Work::application, piece);
      result.done = guest->cpu().now(guest->cpu().settle()) - core::kStart;
      result.stolen = guest->uml()->stolen();
    });
    world.run_until(core::kStart + std::chrono::seconds(1));
    return result;
  }

  sched::CostTable costs;
  kernel::World world;
  kernel::Machine* host = nullptr;
  kernel::Machine* guest = nullptr;
};

const sched::SettleMode kModes[] = {sched::SettleMode::always, sched::SettleMode::seams,
                                    sched::SettleMode::random};

void check(const Stolen& result, std::int64_t done_ns, std::int64_t stolen_ns) {
  CHECK(result.done.count() == done_ns);
  CHECK(result.stolen.count() == stolen_ns);
}

TEST_CASE("a guest on a quiet host loses nothing") {
  for (const auto mode : kModes)
    check(Nested(mode).run({Nanos{1000}}), 1000, 0);
}

TEST_CASE("a host interrupt in the middle of a guest's work is stolen whole") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{400}, Nanos{250});
    check(nested.run({Nanos{300}, Nanos{700}}), 1250, 250);
  }
}

TEST_CASE("a host interrupt before a guest's first instruction delays it and steals nothing") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{0}, Nanos{250});
    check(nested.run({Nanos{1000}}), 1250, 0);
  }
}

TEST_CASE("a host interrupt at the first nanosecond of a guest's work is stolen") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{1}, Nanos{250});
    check(nested.run({Nanos{1000}}), 1250, 250);
  }
}

TEST_CASE("a host interrupt one nanosecond before the end still comes first") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{999}, Nanos{250});
    check(nested.run({Nanos{1000}}), 1250, 250);
  }
}

TEST_CASE("a host interrupt at the instant of the end comes first, since devices do") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{1000}, Nanos{250});
    check(nested.run({Nanos{1000}}), 1250, 250);
  }
}

TEST_CASE("a host interrupt after the end steals nothing from what was done") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{1001}, Nanos{250});
    check(nested.run({Nanos{1000}}), 1000, 0);
  }
}

TEST_CASE(
    "two host interrupts, the second while the first is handled, are stolen one after the other") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{400}, Nanos{250});
    HostInterrupt clock(*nested.host, Nanos{500}, Nanos{100});
    check(nested.run({Nanos{500}, Nanos{500}}), 1350, 350);
  }
}

TEST_CASE("an interrupt for the host's other CPU steals nothing") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{400}, Nanos{250});
    disk.line.set_affinity(1);
    check(nested.run({Nanos{1000}}), 1000, 0);
  }
}

TEST_CASE("a real-time thread of the host takes the CPU from a guest for as long as it runs") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    nested.host->scheduler().spawn({.name = "audio", .realtime_priority = 50, .affinity = 1}, [&] {
      nested.host->scheduler().sleep_until(core::kStart + Nanos{300});
      nested.host->cpu().owe(Work::application, Nanos{2000});
      nested.host->cpu().settle();
    });
    check(nested.run({Nanos{200}, Nanos{800}}), 3000, 2000);
  }
}

TEST_CASE("a real-time thread and an interrupt on top of it add up") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{700}, Nanos{250});
    nested.host->scheduler().spawn({.name = "audio", .realtime_priority = 50, .affinity = 1}, [&] {
      nested.host->scheduler().sleep_until(core::kStart + Nanos{300});
      nested.host->cpu().owe(Work::application, Nanos{2000});
      nested.host->cpu().settle();
    });
    check(nested.run({Nanos{1000}}), 3250, 2250);
  }
}

TEST_CASE("what the host charges for an interrupt's entry is stolen, too") {
  for (const auto mode : kModes) {
    sched::CostTable costs = sched::CostTable::zero();
    costs.set(Work::hardirq, sched::Cost{40'000, 0, 0});
    Nested nested(mode, costs);
    HostInterrupt disk(*nested.host, Nanos{400}, Nanos{250});
    check(nested.run({Nanos{1000}}), 1290, 290);
  }
}

TEST_CASE("a system call of the guest costs its host thread, and is not stolen") {
  for (const auto mode : kModes) {
    sched::CostTable costs = sched::CostTable::zero();
    costs.set(Work::ptrace_stop, sched::Cost{7'000'000, 0, 0});
    Nested nested(mode, costs);
    HostInterrupt disk(*nested.host, Nanos{3000}, Nanos{250});
    Stolen result;
    nested.guest->scheduler().spawn({.name = "task"}, [&] {
      nested.guest->cpu().owe(Work::application, Nanos{1000});
      nested.guest->system_call([] {});
      result.done = nested.guest->cpu().now(nested.guest->cpu().settle()) - core::kStart;
      result.stolen = nested.guest->uml()->stolen();
    });
    nested.world.run_until(core::kStart + std::chrono::seconds(1));
    check(result, 8250, 250);
  }
}

TEST_CASE("a guest that sleeps is neither running nor stolen from") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{400}, Nanos{250});
    Stolen result;
    nested.guest->scheduler().spawn({.name = "task"}, [&] {
      nested.guest->scheduler().sleep_until(core::kStart + Nanos{5000});
      nested.guest->cpu().owe(Work::application, Nanos{1000});
      result.done = nested.guest->cpu().now(nested.guest->cpu().settle()) - core::kStart;
      result.stolen = nested.guest->uml()->stolen();
    });
    nested.world.run_until(core::kStart + std::chrono::seconds(1));
    check(result, 6000, 0);
  }
}

TEST_CASE("a guest that is asleep has lost nothing, whenever one looks") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{9000}, Nanos{250});
    disk.line.set_affinity(1);
    check(nested.run({Nanos{1000}}), 1000, 0);
    CHECK(core::nanos_since_start(nested.world.timeline().now()) >= 9000);
    CHECK(nested.guest->uml()->stolen().count() == 0);
  }
}

TEST_CASE("a guest that got its work between two runs has slept until then") {
  for (const auto mode : kModes) {
    Nested nested(mode);
    HostInterrupt disk(*nested.host, Nanos{9000}, Nanos{250});
    disk.line.set_affinity(1);
    nested.run({Nanos{1000}});
    const Stolen second = nested.run({Nanos{1000}});
    CHECK(second.stolen.count() == 0);
  }
}

}  // namespace
}  // namespace tapestry
