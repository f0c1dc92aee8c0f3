// How worlds end: quiet, standing still, or in the middle of everything. A sanitizer looks for what
// is left behind.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "sched/guards.hpp"
#include "sched/wait_queue.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/sched/random_program.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::teardown_test {
namespace {

TEST_CASE("A loop that looks for ever without spending time is named") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  machine.spawn("stuck", [&] {
    for (;;)
      machine.cpu().settle();
  });
  CHECK_THROWS_WITH(world.run(), Catch::Contains("m.cpu0: stuck"));
}

TEST_CASE("Threads that wake each other for ever at one instant are stopped") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  world.timeline.set_steps_at_one_instant_max(10'000);
  TestMachine& machine = world.add_machine({.cpus = 2});
  auto& queue = world.make<sched::WaitQueue>("the other one");
  int turn = 0;
  for (int self = 0; self < 2; ++self) {
    machine.scheduler.spawn({.name = "player", .affinity = sched::CpuMask{1} << self}, [&, self] {
      for (;;) {
        queue.wait(machine.scheduler, [&] { return turn == self; });
        turn = 1 - self;
        queue.wake_all(machine.cpu());
      }
    });
  }
  CHECK_THROWS_WITH(world.run(), Catch::Contains("\"m.cpu0") && Catch::Contains("\"m.cpu1"));
}

TEST_CASE("A loop that never spends time names who waits for it") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine({.cpus = 2});
  auto& queue = world.make<sched::WaitQueue>("the looker");
  machine.scheduler.spawn({.name = "waiter", .affinity = 2},
                          [&] { queue.wait(machine.scheduler, [] { return false; }); });
  world.run_until(100);
  machine.scheduler.spawn({.name = "looker", .affinity = 1}, [&] {
    for (;;)
      queue.wake_all(machine.cpu());
  });
  CHECK_THROWS_WITH(world.run(), Catch::Contains("m.cpu0: looker looks again") &&
                                     Catch::Contains("while m.cpu1.ipi waits for its turn"));
}

TEST_CASE("A level line that nobody lowers is a storm without end, and is stopped") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  auto& handler = world.make<Handler>([] {});
  auto& line = machine.interrupts.add_line("dev", irq::Trigger::level, handler);
  world.at(100, [&] { line.raise(); });
  CHECK_THROWS_AS(world.run(), core::NoProgress);
}

TEST_CASE("All that is due at the instant at which a run ends happens, and nothing later does") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  int happened = 0;
  for (int i = 0; i < 3; ++i)
    world.at(100, [&] {
      if (++happened == 1) world.at(100, [&] { ++happened; });
    });
  world.at(101, [&] { happened += 100; });
  CHECK(world.run_until(100) == sched::Hub::Stop::reached);
  CHECK(happened == 4);
  CHECK(world.now_ns() == 100);
}

TEST_CASE("What a thread throws ends the run and reaches whoever runs the world") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine({.cpus = 2});
  auto& queue = world.make<sched::WaitQueue>("nothing");
  machine.spawn("waits", [&] { queue.wait(machine.scheduler, [] { return false; }); });
  machine.spawn("throws", [&] {
    World::spend(machine.cpu(), 100);
    throw std::runtime_error("a bad end");
  });
  CHECK_THROWS_WITH(world.run(), "a bad end");
  CHECK(world.now_ns() == 100);
}

// Counts itself, so that an unwinding that forgets a frame is seen.
struct Alive {
  explicit Alive(int& living) : count(living) { ++count; }
  ~Alive() { --count; }
  int& count;
};

TEST_CASE("A world that ends unwinds every thread, wherever it stands") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto end_ns = GENERATE(0, 1, 99, 100, 150, 251, 333, 1000, 2001, 5000);
  int living = 0;
  {
    World world(mode, small_costs());
    TestMachine& machine = world.add_machine({.cpus = 2, .preemption = sched::Preemption::full});
    auto& queue = world.make<sched::WaitQueue>("nothing");
    auto& wait = world.make<sched::SpinWait>();
    auto& nic = world.make<TestNic>(world, machine, TestNic::Options{});
    world.make<Flood>(world, nic, 90, 10'000, 35);
    const auto spawn = [&](std::function<void()> body) {
      machine.spawn("thread", [&living, body = std::move(body)] {
        const Alive alive(living);
        body();
      });
    };
    spawn([&] { queue.wait(machine.scheduler, [] { return false; }); });
    spawn([&] { queue.wait_until(machine.scheduler, core::kNever, [] { return false; }); });
    spawn([&] {
      queue.wait_until(machine.scheduler, core::kStart + core::Nanos{100'000},
                       [] { return false; });
    });
    spawn([&] { machine.scheduler.sleep_until(core::kStart + core::Nanos{1'000'000}); });
    spawn([&] {
      machine.cpu().spin_until(wait, core::kNever, sched::Work::spin, [] { return false; });
    });
    spawn([&] {
      for (;;) {
        const sched::InterruptsOff off(machine.cpu());
        const Alive alive(living);
        World::spend(machine.cpu(), 333);
      }
    });
    spawn([&] {
      for (;;) {
        const sched::BottomHalvesOff off(machine.cpu());
        World::spend(machine.cpu(), 77);
      }
    });
    spawn([&] { nic.napi.disable(); });
    world.run_until(end_ns);
  }
  CHECK(living == 0);
}

TEST_CASE("Random programs can be ended at any instant") {
  for (std::uint64_t program = 1; program <= 20; ++program) {
    const RandomProgram never_run(sched::SettleMode::seams, program, 1);
    RandomProgram cut_short(sched::SettleMode::random, program, 1);
    CHECK_NOTHROW(cut_short.run(static_cast<std::int64_t>(program) * 97));
  }
}

TEST_CASE("Two worlds in one process take turns and don't disturb each other") {
  const std::string alone = RandomProgram(sched::SettleMode::seams, 7, 1).run();
  RandomProgram first(sched::SettleMode::seams, 7, 1);
  RandomProgram second(sched::SettleMode::always, 7, 1);
  for (std::int64_t until_ns = 100; until_ns < 4'000; until_ns += 100) {
    first.run(until_ns);
    second.run(until_ns);
  }
  CHECK(first.run() == alone);
  CHECK(second.run() == alone);
}

}  // namespace
}  // namespace tapestry::tests::teardown_test
