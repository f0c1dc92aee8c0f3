// Waiting: no wake-up is lost, whenever it comes, and deadlines are met to the nanosecond.
#include <catch2/catch.hpp>
#include <string>

#include "sched/wait_queue.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::wait_queue_test {
namespace {

TEST_CASE("A wake-up at any nanosecond around the look and the sleep is not lost") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool from_interrupt = GENERATE(false, true);
  for (std::int64_t instant_ns = 300; instant_ns <= 700; ++instant_ns) {
    World world(mode, small_costs());
    TestMachine& machine = world.add_machine({.cpus = 2});
    auto& queue = world.make<sched::WaitQueue>("an item");
    int items = 0, taken = 0;
    const auto produce = [&] {
      ++items;
      queue.wake_one(machine.cpu());
    };
    machine.scheduler.spawn({.name = "consumer", .affinity = 1}, [&] {
      World::spend(machine.cpu(), 500 - world.now_ns());
      while (taken < 2) {
        World::owe(machine.cpu(), 13);
        queue.wait(machine.scheduler, [&] { return items > 0; });
        --items;
        ++taken;
      }
    });
    auto& handler = world.make<Handler>(produce);
    auto& line = machine.interrupts.add_line("dev", irq::Trigger::edge, handler);
    if (from_interrupt) {
      world.at(instant_ns, [&] { line.raise(); });
      world.at(instant_ns + 37, [&] { line.raise(); });
    } else {
      machine.scheduler.spawn({.name = "producer", .affinity = 2}, [&] {
        World::spend(machine.cpu(), instant_ns - world.now_ns());
        produce();
        World::spend(machine.cpu(), 37);
        produce();
      });
    }
    world.run();
    CAPTURE(instant_ns);
    REQUIRE(taken == 2);
    REQUIRE_FALSE(queue.anyone_waits());
  }
}

// The deadline expires on the CPU that armed it, and pays for its wake-up there, 100 ns long.
// Meanwhile a thread of another CPU wakes the waiter, whose own CPU is busy: it goes on elsewhere
// and is gone.
TEST_CASE("A waiter may be woken and leave while its deadline expires on another CPU") {
  const auto mode = GENERATE(from_range(kSettleModes));
  for (std::int64_t event_ns = 880; event_ns <= 1120; ++event_ns) {
    sched::CostTable costs = sched::CostTable::zero();
    costs.set(sched::Work::wakeup, sched::Cost{.fixed_ps = 100'000});
    World world(mode, costs);
    TestMachine& machine = world.add_machine({.cpus = 3});
    auto& queue = world.make<sched::WaitQueue>("an event");
    bool happened = false;
    int left = 0;
    machine.scheduler.spawn({.name = "waiter", .affinity = 0b110}, [&] {
      queue.wait_until(machine.scheduler, core::kStart + core::Nanos{1000},
                       [&] { return happened; });
      ++left;
    });
    machine.scheduler.spawn({.name = "busy", .affinity = 0b010}, [&] {
      machine.scheduler.sleep_until(core::kStart + core::Nanos{200});
      World::spend(machine.cpu(), 2000);
    });
    machine.scheduler.spawn({.name = "waker", .affinity = 0b001}, [&] {
      World::spend(machine.cpu(), event_ns - world.now_ns());
      happened = true;
      queue.wake_one(machine.cpu());
    });
    world.run();
    CAPTURE(event_ns);
    REQUIRE(left == 1);
  }
}

TEST_CASE("A wait with a deadline ends at the event or at the deadline, whichever is first") {
  const auto mode = GENERATE(from_range(kSettleModes));
  for (std::int64_t event_ns = 990; event_ns <= 1010; ++event_ns) {
    World world(mode);
    TestMachine& machine = world.add_machine();
    auto& queue = world.make<sched::WaitQueue>("an event");
    bool happened = false;
    std::int64_t ended_ns = 0;
    bool result = false;
    machine.spawn("waiter", [&] {
      result = queue.wait_until(machine.scheduler, core::kStart + core::Nanos{1000},
                                [&] { return happened; });
      ended_ns = world.now_ns();
    });
    auto& handler = world.make<Handler>([&] {
      happened = true;
      queue.wake_one(machine.cpu());
    });
    auto& line = machine.interrupts.add_line("dev", irq::Trigger::edge, handler);
    world.at(event_ns, [&] { line.raise(); });
    world.run();
    CAPTURE(event_ns);
    CHECK(ended_ns == std::min<std::int64_t>(event_ns, 1000));
    CHECK(result == (event_ns <= 1000));
  }
}

TEST_CASE("The thread that has waited longest is woken first; wake_all wakes every one") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  auto& queue = world.make<sched::WaitQueue>("a turn");
  int turns = 0;
  for (const char* name : {"a", "b", "c", "d"}) {
    machine.spawn(name, [&, name] {
      queue.wait(machine.scheduler, [&] { return turns > 0; });
      --turns;
      world.story.log(machine.cpu(), name);
    });
  }
  machine.spawn("waker", [&] {
    for (int i = 0; i < 2; ++i) {
      World::spend(machine.cpu(), 100);
      ++turns;
      queue.wake_one(machine.cpu());
      machine.scheduler.sleep_until(world.timeline.now() + core::Nanos{50});
    }
    turns = 2;
    queue.wake_all(machine.cpu());
  });
  world.run();
  CHECK_THAT(world.story, Tells(R"(
      100  cpu0  a
      250  cpu0  b
      300  cpu0  c
      300  cpu0  d
  )"));
}

TEST_CASE("A thread that is woken for nothing waits on, at the end of its queue") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  auto& queue = world.make<sched::WaitQueue>("a flag");
  bool flag = false;
  int looks = 0;
  machine.spawn("waiter", [&] {
    queue.wait(machine.scheduler, [&] {
      ++looks;
      return flag;
    });
  });
  auto& handler = world.make<Handler>([&] { queue.wake_one(machine.cpu()); });
  auto& line = machine.interrupts.add_line("dev", irq::Trigger::edge, handler);
  for (const int at_ns : {100, 200, 300})
    world.at(at_ns, [&] { line.raise(); });
  CHECK(world.run() == sched::Hub::Stop::quiet);
  CHECK(looks == 4);
  CHECK(machine.scheduler.blocked_threads().back() == "m: waiter waits for a flag since 300 ns");
}

}  // namespace
}  // namespace tapestry::tests::wait_queue_test
