// Tasklets and timers of the timer wheel.
#include <catch2/catch.hpp>
#include <string>

#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::deferred_test {
namespace {

// --- tasklets
// ----------------------------------------------------------------------------------------

struct TaskletWorld {
  explicit TaskletWorld(sched::SettleMode mode, std::size_t cpus = 1)
      : world(mode, small_costs()), machine(world.add_machine({.cpus = cpus})) {
    tasklet = &world.make<irq::Tasklet>(
        machine.tasklets, [](void* self) { static_cast<TaskletWorld*>(self)->body(); }, this);
  }
  irq::IrqLine& line(std::size_t cpu) {
    auto& handler = world.make<Handler>([this] { tasklet->schedule(); });
    return machine.interrupts.add_line("dev", irq::Trigger::edge, handler, cpu);
  }

  World world;
  TestMachine& machine;
  irq::Tasklet* tasklet;
  std::function<void()> body;
};

TEST_CASE("A tasklet runs once, however often it was scheduled before") {
  const auto mode = GENERATE(from_range(kSettleModes));
  TaskletWorld run(mode);
  run.body = [&] { run.world.story.log(run.machine.cpu(), "tasklet"); };
  auto& handler = run.world.make<Handler>([&] {
    for (int i = 0; i < 5; ++i)
      run.tasklet->schedule();
  });
  auto& line = run.machine.interrupts.add_line("dev", irq::Trigger::edge, handler);
  run.world.at(1000, [&] { line.raise(); });
  run.world.run();
  CHECK_THAT(run.world.story, Tells("1062 cpu0 tasklet"));  // 19 + 30 + softirq 7 + tasklet 6
  CHECK_FALSE(run.tasklet->scheduled());
}

TEST_CASE("A tasklet that schedules itself runs again in a later pass, and ends in ksoftirqd") {
  const auto mode = GENERATE(from_range(kSettleModes));
  TaskletWorld run(mode);
  int runs = 0, in_thread = 0;
  run.body = [&] {
    if (run.machine.cpu().current() != nullptr) ++in_thread;
    if (++runs < 25) run.tasklet->schedule();
  };
  irq::IrqLine& line = run.line(0);
  run.world.at(1000, [&] { line.raise(); });
  run.world.run();
  CHECK(runs == 25);
  CHECK(in_thread == 15);
}

TEST_CASE("A tasklet never runs on two CPUs at a time, and loses no schedule") {
  const auto mode = GENERATE(from_range(kSettleModes));
  TaskletWorld run(mode, 2);
  int running = 0, runs = 0;
  run.body = [&] {
    ++runs;
    CHECK(++running == 1);
    World::spend(run.machine.cpu(), 1000);
    --running;
  };
  irq::IrqLine& first = run.line(0);
  irq::IrqLine& second = run.line(1);
  run.world.at(1000, [&] { first.raise(); });
  run.world.at(1500, [&] { second.raise(); });
  run.world.run();
  CHECK(runs == 2);
}

TEST_CASE("A killed tasklet neither is scheduled nor runs when kill returns") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto kill_at_ns = GENERATE(900, 1000, 1040, 1060, 1100, 2000, 2100);
  TaskletWorld run(mode, 2);
  bool running = false;
  run.body = [&] {
    running = true;
    World::spend(run.machine.cpu(), 1000);
    run.tasklet->schedule();  // for ever, unless it is being killed
    run.machine.cpu().settle();
    running = false;
  };
  irq::IrqLine& line = run.line(0);
  run.world.at(1000, [&] { line.raise(); });
  bool killed = false;
  run.machine.scheduler.spawn({.name = "remove", .affinity = 2}, [&] {
    World::spend(run.machine.cpu(), kill_at_ns - run.world.now_ns());
    run.tasklet->kill();
    CHECK_FALSE(running);
    CHECK_FALSE(run.tasklet->scheduled());
    killed = true;
  });
  run.world.run_until(10'000);
  CHECK(killed);
}

// --- jiffies
// ------------------------------------------------------------------------------------------

struct JiffyWorld {
  explicit JiffyWorld(sched::SettleMode mode, int hz)
      : world(mode), machine(world.add_machine({.hz = hz})) {
    timer = &world.make<irq::JiffyTimer>(
        machine.jiffies, [](void* self) { static_cast<JiffyWorld*>(self)->expired(); }, this);
  }
  void expired() {
    world.story.log(machine.cpu(), "expires");
    if (then) then();
  }

  World world;
  TestMachine& machine;
  irq::JiffyTimer* timer;
  std::function<void()> then;
};

TEST_CASE("A jiffy timer expires at a tick, never before the jiffy that was asked for") {
  const auto mode = GENERATE(from_range(kSettleModes));
  struct Row {
    std::int64_t armed_at_ns;
    std::uint64_t jiffy;
    std::int64_t expires_ns;
  };
  // 250 ticks a second: one every 4 ms.
  const auto row = GENERATE(values<Row>({{0, 1, 4'000'000},
                                         {0, 0, 4'000'000},
                                         {1, 1, 4'000'000},
                                         {3'999'999, 1, 4'000'000},
                                         {4'000'000, 1, 8'000'000},
                                         {4'000'000, 2, 8'000'000},
                                         {4'000'001, 2, 8'000'000},
                                         {4'000'001, 1, 8'000'000},
                                         {5'000'000, 10, 40'000'000}}));
  JiffyWorld run(mode, 250);
  run.machine.spawn("task", [&] {
    World::spend(run.machine.cpu(), row.armed_at_ns);
    run.timer->modify(row.jiffy);
    CHECK(run.timer->pending());
  });
  run.world.run();
  CAPTURE(row.armed_at_ns, row.jiffy);
  // One nanosecond for the dispatch of the softirq, the least that it costs.
  CHECK_THAT(run.world.story, Tells(std::to_string(row.expires_ns + 1) + " cpu0 expires"));
}

TEST_CASE("A jiffy timer can be moved, cancelled, and re-armed from its own expiry") {
  const auto mode = GENERATE(from_range(kSettleModes));
  JiffyWorld run(mode, 1000);
  int left = 2;
  run.then = [&] {
    if (left-- > 0) run.timer->modify(run.machine.jiffies.jiffies());
  };
  run.machine.spawn("task", [&] {
    run.timer->modify(2);
    run.timer->modify(5);  // later
    World::spend(run.machine.cpu(), 10'000'000);
    run.timer->modify(15);
    run.timer->modify(13);  // earlier
    World::spend(run.machine.cpu(), 500'000);
    run.timer->cancel();
    run.timer->cancel();
    CHECK_FALSE(run.timer->pending());
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      5000001  cpu0  expires
      6000001  cpu0  expires
      7000001  cpu0  expires
  )"));
}

TEST_CASE("Jiffies count whole ticks, and spans are rounded up to them") {
  const auto mode = GENERATE(from_range(kSettleModes));
  JiffyWorld run(mode, 250);
  const irq::JiffyTimers& jiffies = run.machine.jiffies;
  CHECK(jiffies.tick().count() == 4'000'000);
  CHECK(jiffies.to_jiffies(core::Nanos{0}) == 0);
  CHECK(jiffies.to_jiffies(core::Nanos{1}) == 1);
  CHECK(jiffies.to_jiffies(core::Nanos{4'000'000}) == 1);
  CHECK(jiffies.to_jiffies(core::Nanos{4'000'001}) == 2);
  run.machine.spawn("task", [&] {
    CHECK(jiffies.jiffies() == 0);
    World::spend(run.machine.cpu(), 3'999'999);
    CHECK(jiffies.jiffies() == 0);
    World::spend(run.machine.cpu(), 1);
    CHECK(jiffies.jiffies() == 1);
  });
  run.world.run();
}

TEST_CASE("Timers of one tick expire in one softirq, in the order of their arming") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  struct Named {
    World& world;
    std::string name;
  };
  std::vector<Named> names{{world, "a"}, {world, "b"}, {world, "c"}};
  const auto say = [](void* object) {
    Named& named = *static_cast<Named*>(object);
    named.world.story.log("timer", named.name);
  };
  std::vector<irq::JiffyTimer*> timers;
  for (Named& named : names)
    timers.push_back(&world.make<irq::JiffyTimer>(machine.jiffies, say, &named));
  machine.spawn("task", [&] {
    timers[2]->modify(3);
    timers[0]->modify(3);
    timers[1]->modify(3);
  });
  world.run();
  CHECK_THAT(world.story, Tells(R"(
      3000001  timer  c
      3000001  timer  a
      3000001  timer  b
  )"));
  CHECK(machine.softirqs.runs(0, irq::Vector::timer) == 1);
}

}  // namespace
}  // namespace tapestry::tests::deferred_test
