// Busy waiting jumps over looks that cannot see anything new. The result is that of looking each
// time.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/world.hpp"

namespace tapestry::tests::spin_test {
namespace {

sched::CostTable spin_costs() {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(sched::Work::spin, sched::Cost{7'000, 0, 0});
  costs.set(sched::Work::hardirq, sched::Cost{10'000, 0, 0});
  return costs;
}

// What sets the flag that a spinner on CPU 1 looks at.
enum class Setter : std::uint8_t { device, lower_cpu, higher_cpu, own_interrupt };

struct Spin {
  bool done;
  std::int64_t end_ns, thread_ns, spin_ns;
  std::string text() const {
    return std::string(done ? "done" : "gave up") + " at " + std::to_string(end_ns) + ", paid " +
           std::to_string(thread_ns) + ", spun " + std::to_string(spin_ns);
  }
};

// Looks from 100 on until the flag is set at `set_ns` or 200 is over; an interrupt at
// `interrupt_ns`.
Spin spin(sched::SettleMode mode, bool jumps, Setter setter, std::int64_t set_ns,
          std::int64_t interrupt_ns) {
  World world(mode, spin_costs());
  TestMachine& machine = world.add_machine({.cpus = 3, .softirq_threads = false});
  auto& wait = world.make<sched::SpinWait>();
  bool flag = false;
  Spin result{};
  const core::Instant deadline = core::kStart + core::Nanos{200};
  sched::Thread& spinner = machine.scheduler.spawn({.name = "spinner", .affinity = 2}, [&] {
    World::owe(machine.cpu(), 100);
    sched::Cpu& cpu = machine.cpu();
    if (jumps) {
      result.done = cpu.spin_until(wait, deadline, sched::Work::spin, [&] { return flag; });
    } else {
      for (;;) {
        const core::Settled settled = cpu.settle();
        if ((result.done = flag)) break;
        if (cpu.now(settled) >= deadline) break;
        cpu.charge(sched::Work::spin);
      }
    }
    result.end_ns = world.now_ns();
  });
  const auto set = [&] {
    flag = true;
    wait.notify();
  };
  auto& handler = world.make<Handler>([&] {
    if (setter == Setter::own_interrupt && world.now_ns() >= set_ns) set();
    World::spend(machine.cpu(), 20);
  });
  auto& line = machine.interrupts.add_line("dev", irq::Trigger::edge, handler, 1);
  world.at(interrupt_ns, [&] { line.raise(); });
  if (setter == Setter::device) world.at(set_ns, set);
  if (setter == Setter::lower_cpu || setter == Setter::higher_cpu) {
    const sched::CpuMask cpu = setter == Setter::lower_cpu ? 1 : 4;
    machine.scheduler.spawn({.name = "setter", .affinity = cpu}, [&] {
      World::spend(machine.cpu(), set_ns);
      set();
    });
  }
  world.run();
  result.thread_ns = spinner.cpu_time().count();
  result.spin_ns = machine.scheduler.cpu(1).usage().of(sched::Work::spin).count();
  return result;
}

TEST_CASE("Spinning equals a loop of single looks, whenever and by whomever the flag is set") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto setter =
      GENERATE(Setter::device, Setter::lower_cpu, Setter::higher_cpu, Setter::own_interrupt);
  for (std::int64_t set_ns = 90; set_ns <= 240; ++set_ns) {
    for (const std::int64_t interrupt_ns : {95, 107, 110, 150, 199}) {
      CAPTURE(set_ns, interrupt_ns, static_cast<int>(setter));
      REQUIRE(spin(mode, true, setter, set_ns, interrupt_ns).text() ==
              spin(mode, false, setter, set_ns, interrupt_ns).text());
    }
  }
}

TEST_CASE("Spinning equals a loop of single looks with an interrupt at every nanosecond") {
  const auto mode = GENERATE(from_range(kSettleModes));
  for (std::int64_t interrupt_ns = 90; interrupt_ns <= 240; ++interrupt_ns) {
    CAPTURE(interrupt_ns);
    REQUIRE(spin(mode, true, Setter::higher_cpu, 184, interrupt_ns).text() ==
            spin(mode, false, Setter::higher_cpu, 184, interrupt_ns).text());
  }
}

TEST_CASE("A long spin takes few steps") {
  World world(sched::SettleMode::seams, spin_costs());
  TestMachine& machine = world.add_machine({.softirq_threads = false});
  auto& wait = world.make<sched::SpinWait>();
  machine.spawn("spinner", [&] {
    machine.cpu().spin_until(wait, core::kStart + core::Nanos{7'000'000'000}, sched::Work::spin,
                             [] { return false; });
    world.story.log(machine.cpu(), "gives up");
  });
  world.timeline.set_steps_at_one_instant_max(100);
  world.run();
  CHECK_THAT(world.story, Tells("7000000000 cpu0 gives up"));
}

}  // namespace
}  // namespace tapestry::tests::spin_test
