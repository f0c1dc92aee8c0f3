// Interrupt lines: latching, masking, edge and level, order, affinity.
#include <catch2/catch.hpp>
#include <string>

#include "sched/guards.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::line_test {
namespace {

using irq::Trigger;

// Two CPUs that run a thread each, so that they are never idle, and lines whose handlers take 100
// ns.
struct Lines {
  explicit Lines(sched::SettleMode mode, irq::ControllerOptions controller = {})
      : world(mode), machine(world.add_machine({.cpus = 2, .controller = controller})) {}

  irq::IrqLine& add(const std::string& name, Trigger trigger, std::function<void()> effect = {}) {
    auto& handler = world.make<Handler>([this, name, effect = std::move(effect)] {
      log(name);
      World::spend(machine.cpu(), 100);
      if (effect) effect();
    });
    return machine.interrupts.add_line(name, trigger, handler);
  }
  void log(const std::string& text) { world.story.log(machine.cpu(), text); }
  void busy(std::size_t cpu, std::int64_t span_ns) {
    machine.scheduler.spawn({.name = "busy", .affinity = sched::CpuMask{1} << cpu},
                            [this, span_ns] { World::spend(machine.cpu(), span_ns); });
  }
  void raise_at(std::int64_t instant_ns, irq::IrqLine& line) {
    world.at(instant_ns, [&line] { line.raise(); });
  }

  World world;
  TestMachine& machine;
};

TEST_CASE("An interrupt wakes an idle CPU at the instant at which it is raised") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Lines run(mode);
  run.raise_at(123, run.add("dev", Trigger::edge));
  run.world.run();
  CHECK_THAT(run.world.story, Tells("123 cpu0 dev"));
}

TEST_CASE("An idle CPU pays for coming back before the handler runs") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine();
  auto& handler = world.make<Handler>([&] { world.story.log(machine.cpu(), "handler"); });
  irq::IrqLine& line = machine.interrupts.add_line("dev", Trigger::edge, handler);
  world.at(1000, [&] { line.raise(); });
  world.run();
  CHECK_THAT(world.story, Tells("1049 cpu0 handler"));  // idle exit 19, entry 30
}

TEST_CASE("Pending lines are delivered in the order of their creation, one at a time") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Lines run(mode);
  irq::IrqLine& first = run.add("first", Trigger::edge);
  irq::IrqLine& second = run.add("second", Trigger::edge);
  irq::IrqLine& third = run.add("third", Trigger::edge);
  run.busy(0, 10'000);
  run.raise_at(100, third);
  run.raise_at(150, second);
  run.raise_at(160, first);
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      100  cpu0  third
      200  cpu0  first
      300  cpu0  second
  )"));
}

TEST_CASE("Edges merge while pending; one that comes while its handler runs is another interrupt") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Lines run(mode);
  irq::IrqLine& line = run.add("dev", Trigger::edge);
  run.machine.spawn("busy", [&] {
    {
      const sched::InterruptsOff off(run.machine.cpu());
      World::spend(run.machine.cpu(), 500);
    }
    World::spend(run.machine.cpu(), 1000);
  });
  for (const int at_ns : {100, 200, 300, 550})
    run.raise_at(at_ns, line);
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      500  cpu0  dev
      600  cpu0  dev
  )"));
  CHECK(line.raised() == 4);
  CHECK(line.merged() == 2);
  CHECK(line.delivered() == 2);
}

TEST_CASE("A level line is delivered again and again until its device lets go") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Lines run(mode);
  int times = 0;
  irq::IrqLine* line = nullptr;
  line = &run.add("dev", Trigger::level, [&] {
    if (++times == 3) line->lower();
  });
  run.busy(0, 1000);
  run.raise_at(100, *line);
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      100  cpu0  dev
      200  cpu0  dev
      300  cpu0  dev
  )"));
  CHECK_FALSE(line->pending());
}

TEST_CASE("A level line that is lowered before its delivery is not delivered") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto trigger = GENERATE(Trigger::level, Trigger::edge);
  Lines run(mode);
  irq::IrqLine& line = run.add("dev", trigger);
  run.machine.spawn("task", [&] {
    const sched::InterruptsOff off(run.machine.cpu());
    World::spend(run.machine.cpu(), 500);
  });
  run.raise_at(100, line);
  run.world.at(200, [&] { line.lower(); });
  run.world.run();
  CHECK(line.delivered() == (trigger == Trigger::edge ? 1 : 0));
}

TEST_CASE("A masked line latches, and comes in at the unmask") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto trigger = GENERATE(Trigger::edge, Trigger::level);
  Lines run(mode);
  irq::IrqLine* line = nullptr;
  line = &run.add("dev", trigger, [&] { line->lower(); });
  run.machine.spawn("driver", [&] {
    line->mask();
    World::spend(run.machine.cpu(), 400);
    run.log("unmasks");
    line->unmask();
    run.log("goes on");
  });
  run.raise_at(100, *line);
  run.raise_at(200, *line);
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      400  cpu0  unmasks
      400  cpu0  dev
      500  cpu0  goes on
  )"));
}

TEST_CASE("Where interrupts are signals, masks do nothing and cost nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine({.controller = {.can_mask = false}});
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{});
  world.at(1000, [&] { nic.frames_arrive(10); });
  // The second one comes while the first burst is polled: one pending bit, and MISSED.
  world.at(1100, [&] { nic.frames_arrive(10); });
  world.at(1110, [&] { nic.frames_arrive(10); });
  world.run();
  CHECK(nic.delivered == 30);
  CHECK(nic.interrupts == 3);
  CHECK(nic.napi.figures().missed == 1);
  CHECK(machine.scheduler.cpu(0).usage().of(sched::Work::interrupt_mask).count() == 0);
}

TEST_CASE("A pending interrupt follows its line to another CPU") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Lines run(mode);
  irq::IrqLine& line = run.add("dev", Trigger::edge);
  run.machine.scheduler.spawn({.name = "masks", .affinity = 1}, [&] {
    const sched::InterruptsOff off(run.machine.cpu());
    World::spend(run.machine.cpu(), 1000);
  });
  run.machine.scheduler.spawn({.name = "moves", .affinity = 2}, [&] {
    World::spend(run.machine.cpu(), 300);
    line.set_affinity(1);
    run.log("moved");
    World::spend(run.machine.cpu(), 1000);
  });
  run.raise_at(100, line);
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      300  cpu1  moved
      300  cpu1  dev
  )"));
}

TEST_CASE("A line that moves while its handler runs is never handled on two CPUs at once") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Lines run(mode);
  irq::IrqLine& line = run.add("dev", Trigger::edge);
  run.busy(0, 10'000);
  run.machine.scheduler.spawn({.name = "moves", .affinity = 2}, [&] {
    World::spend(run.machine.cpu(), 120);
    line.set_affinity(1);
    World::spend(run.machine.cpu(), 10'000);
  });
  run.raise_at(100, line);
  run.raise_at(150, line);
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      100  cpu0  dev
      200  cpu1  dev
  )"));
}

TEST_CASE("Moving a line to and fro under load loses and repeats nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto signalling = GENERATE(Signalling::edge, Signalling::level);
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine({.cpus = 3});
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{.signalling = signalling});
  std::uint64_t expected = 0;
  std::uint64_t on_cpu[3] = {};
  nic.on_frame = [&](std::uint64_t frame) {
    CHECK(frame == ++expected);
    ++on_cpu[machine.cpu().index()];
  };
  world.make<Flood>(world, nic, 1000, 500'000, 400);
  machine.scheduler.spawn({.name = "irqbalance", .affinity = 4}, [&] {
    for (std::size_t turn = 0; turn < 300; ++turn) {
      World::spend(machine.cpu(), 1'700);
      nic.line.set_affinity(turn % 3);
    }
  });
  world.run();
  CHECK(nic.delivered == 1248);
  CHECK(nic.ring_full == 0);
  for (const std::uint64_t frames : on_cpu)
    CHECK(frames > 100);
}

}  // namespace
}  // namespace tapestry::tests::line_test
