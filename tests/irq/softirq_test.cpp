// Softirqs: their order, their bounds, and what ksoftirqd is for.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sched/guards.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::softirq_test {
namespace {

using irq::Vector;

struct Softirqs {
  explicit Softirqs(sched::SettleMode mode, TestMachineOptions options = {},
                    sched::CostTable costs = sched::CostTable::zero())
      : world(mode, std::move(costs)),
        machine(world.add_machine(options)),
        handler(world.make<Handler>([this] {
          if (on_interrupt) on_interrupt();
        })),
        line(machine.interrupts.add_line("dev", irq::Trigger::edge, handler)) {}

  void handle(Vector vector, std::function<void(sched::Cpu&)> body) {
    machine.softirqs.set_handler(vector, world.make<SoftirqFunction>(std::move(body)));
  }
  void log(const std::string& text) { world.story.log(machine.cpu(), text); }

  World world;
  TestMachine& machine;
  std::function<void()> on_interrupt;
  Handler& handler;
  irq::IrqLine& line;
};

TEST_CASE("Vectors run in the kernel's order, whatever the order of their raising") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  for (std::size_t number = 0; number < irq::kVectors; ++number) {
    const auto vector = static_cast<Vector>(number);
    run.handle(vector, [&run, vector](sched::Cpu&) { run.log(irq::vector_name(vector)); });
  }
  run.on_interrupt = [&] {
    for (std::size_t number = irq::kVectors; number-- > 0;)
      run.machine.softirqs.raise(static_cast<Vector>((number + 3) % irq::kVectors));
  };
  run.world.at(100, [&] { run.line.raise(); });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      101  cpu0  HI
      102  cpu0  TIMER
      103  cpu0  NET_TX
      104  cpu0  NET_RX
      105  cpu0  BLOCK
      106  cpu0  IRQ_POLL
      107  cpu0  TASKLET
      108  cpu0  SCHED
      109  cpu0  HRTIMER
      110  cpu0  RCU
  )"));
  for (std::size_t number = 0; number < irq::kVectors; ++number)
    CHECK(run.machine.softirqs.runs(0, static_cast<Vector>(number)) == 1);
}

TEST_CASE(
    "What is raised during a pass waits for the next one, also if its turn is still to come") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  run.handle(Vector::net_tx, [&](sched::Cpu&) {
    run.log("NET_TX");
    run.machine.softirqs.raise(Vector::rcu);
  });
  run.handle(Vector::rcu, [&](sched::Cpu&) { run.log("RCU"); });
  run.handle(Vector::sched, [&](sched::Cpu&) { run.log("SCHED"); });
  run.on_interrupt = [&] {
    run.machine.softirqs.raise(Vector::sched);
    run.machine.softirqs.raise(Vector::net_tx);
  };
  run.world.at(100, [&] { run.line.raise(); });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      101  cpu0  NET_TX
      102  cpu0  SCHED
      103  cpu0  RCU
  )"));
}

TEST_CASE("A softirq is interrupted by handlers, and never by softirqs") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  run.handle(Vector::hi, [&](sched::Cpu& cpu) {
    run.log("HI begins");
    World::spend(cpu, 100);
    run.log("HI ends");
  });
  run.on_interrupt = [&] {
    run.log("interrupt");
    run.machine.softirqs.raise(Vector::hi);
  };
  run.world.at(100, [&] { run.line.raise(); });
  run.world.at(150, [&] { run.line.raise(); });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      100  cpu0  interrupt
      101  cpu0  HI begins
      150  cpu0  interrupt
      201  cpu0  HI ends
      202  cpu0  HI begins
      302  cpu0  HI ends
  )"));
}

TEST_CASE("After 10 passes the rest is left to ksoftirqd") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  int passes = 0;
  run.handle(Vector::hi, [&](sched::Cpu& cpu) {
    ++passes;
    if (passes == 10 || passes == 11 || passes == 12)
      run.log(cpu.current() == nullptr ? "on the way out" : cpu.current()->name());
    if (passes < 12) run.machine.softirqs.raise(Vector::hi);
  });
  run.on_interrupt = [&] { run.machine.softirqs.raise(Vector::hi); };
  run.world.at(100, [&] { run.line.raise(); });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      110  cpu0  on the way out
      111  cpu0  ksoftirqd/0
      112  cpu0  ksoftirqd/0
  )"));
  CHECK(run.machine.softirqs.handed_over(0) == 1);
}

TEST_CASE("After 2 ms the rest is left to ksoftirqd, judged at the end of a pass") {
  const auto mode = GENERATE(from_range(kSettleModes));
  // The bound counts from the beginning of the run, and an equal instant is too late.
  const auto row = GENERATE(
      table<std::int64_t, int>({{999'999, 2}, {999'998, 3}, {1'999'999, 1}, {300'000, 7}}));
  const std::int64_t pass_ns = std::get<0>(row);
  const int inline_passes = std::get<1>(row);
  Softirqs run(mode);
  int in_interrupt = 0, in_thread = 0;
  run.handle(Vector::hi, [&](sched::Cpu& cpu) {
    World::spend(cpu, pass_ns);
    ++(cpu.current() == nullptr ? in_interrupt : in_thread);
    if (in_interrupt + in_thread < 8) run.machine.softirqs.raise(Vector::hi);
  });
  run.on_interrupt = [&] { run.machine.softirqs.raise(Vector::hi); };
  run.world.at(100, [&] { run.line.raise(); });
  run.world.run();
  CHECK(in_interrupt == inline_passes);
  CHECK(in_thread == 8 - inline_passes);
}

TEST_CASE("A thread that should run ends a run of softirqs") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  auto& queue = run.world.make<sched::WaitQueue>("the interrupt");
  bool woken = false;
  int passes = 0;
  run.handle(Vector::hi, [&](sched::Cpu& cpu) {
    World::spend(cpu, 100);
    if (++passes == 2) {
      woken = true;
      queue.wake_one(cpu);
    }
    if (passes < 5) run.machine.softirqs.raise(Vector::hi);
    run.log("HI");
  });
  run.on_interrupt = [&] { run.machine.softirqs.raise(Vector::hi); };
  run.machine.spawn("busy", [&] { World::spend(run.machine.cpu(), 10'000'000); });
  run.machine.scheduler.spawn({.name = "urgent", .realtime_priority = 1}, [&] {
    queue.wait(run.machine.scheduler, [&] { return woken; });
    run.log("urgent");
  });
  run.world.at(1000, [&] { run.line.raise(); });
  run.world.run();
  const std::vector<std::string>& lines = run.world.story.lines();
  INFO(run.world.story.text());
  REQUIRE(lines.size() == 6);
  CHECK(squeezed(lines[1]) == "1202 cpu0 HI");
  CHECK(squeezed(lines[2]) == "1202 cpu0 urgent");
  CHECK(passes == 5);
}

TEST_CASE("A softirq raised by a thread runs in ksoftirqd, or at the end of its section") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool in_section = GENERATE(false, true);
  Softirqs run(mode);
  run.handle(Vector::hi, [&](sched::Cpu& cpu) { run.log("HI in " + cpu.current()->name()); });
  run.machine.spawn("task", [&] {
    World::spend(run.machine.cpu(), 100);
    if (in_section) {
      const sched::BottomHalvesOff off(run.machine.cpu());
      run.machine.softirqs.raise(Vector::hi);
      World::spend(run.machine.cpu(), 100);
    } else {
      run.machine.softirqs.raise(Vector::hi);
      World::spend(run.machine.cpu(), 100);
    }
    run.log("task ends");
  });
  run.world.run();
  if (in_section) {
    CHECK_THAT(run.world.story, Tells(R"(
        201  cpu0  HI in task
        201  cpu0  task ends
    )"));
  } else {
    CHECK_THAT(run.world.story, Tells(R"(
        200  cpu0  task ends
        201  cpu0  HI in ksoftirqd/0
    )"));
  }
}

TEST_CASE("Time on the way out bills nobody, time in ksoftirqd bills ksoftirqd") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  int passes = 0;
  run.handle(Vector::hi, [&](sched::Cpu& cpu) {
    World::spend(cpu, 1000);
    if (++passes < 15) run.machine.softirqs.raise(Vector::hi);
  });
  run.on_interrupt = [&] { run.machine.softirqs.raise(Vector::hi); };
  run.world.at(100, [&] { run.line.raise(); });
  sched::Thread& task = run.machine.spawn("task", [&] {
    World::spend(run.machine.cpu(), 50'000);
    run.log("task ends");
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells("60010 cpu0 task ends"));  // 10 passes came between
  CHECK(task.cpu_time().count() == 50'000);
  CHECK(run.machine.softirqs.thread(0)->cpu_time().count() == 5 * 1001);
  CHECK(run.machine.scheduler.cpu(0).usage().of(sched::ContextKind::softirq).count() == 15 * 1001);
}

TEST_CASE("ksoftirqd shares its CPU with threads of the same weight") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Softirqs run(mode);
  const std::int64_t end_ns = 400'000'000;
  run.handle(Vector::hi, [&](sched::Cpu& cpu) {
    World::spend(cpu, 10'000);
    run.machine.softirqs.raise(Vector::hi);  // there is always more
  });
  run.on_interrupt = [&] { run.machine.softirqs.raise(Vector::hi); };
  run.world.at(100, [&] { run.line.raise(); });
  sched::Thread& task = run.machine.spawn("task", [&] {
    for (;;)
      World::spend(run.machine.cpu(), 5'000);
  });
  run.world.run_until(end_ns);
  const std::int64_t thread_ns = run.machine.softirqs.thread(0)->cpu_time().count();
  CHECK(task.cpu_time().count() > end_ns * 48 / 100);
  CHECK(thread_ns > end_ns * 48 / 100);
}

TEST_CASE("In kernels 4.9 to 6.5 a runnable ksoftirqd keeps softirqs from running at once") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool skips = GENERATE(false, true);
  Softirqs run(mode, {.softirqs = {.skip_inline_while_thread_runs = skips}});
  run.handle(Vector::net_rx,
             [&](sched::Cpu& cpu) { run.log("NET_RX in " + cpu.current()->name()); });
  run.handle(Vector::tasklet,
             [&](sched::Cpu& cpu) { run.log("TASKLET in " + cpu.current()->name()); });
  run.machine.spawn("task", [&] {
    run.machine.softirqs.raise(Vector::net_rx);  // makes ksoftirqd runnable
    World::spend(run.machine.cpu(), 1000);
    run.log("task ends");
  });
  run.on_interrupt = [&] {
    if (run.world.now_ns() >= 500) run.machine.softirqs.raise(Vector::tasklet);
  };
  run.world.at(100, [&] { run.line.raise(); });
  run.world.at(500, [&] { run.line.raise(); });
  run.world.run();
  if (skips) {
    CHECK_THAT(run.world.story, Tells(R"(
        501   cpu0  NET_RX in task
        502   cpu0  TASKLET in task
        1002  cpu0  task ends
    )"));
  } else {
    CHECK_THAT(run.world.story, Tells(R"(
        101   cpu0  NET_RX in task
        501   cpu0  TASKLET in task
        1002  cpu0  task ends
    )"));
  }
}

// --- livelock
// ---------------------------------------------------------------------------------------

struct Load {
  std::uint64_t application;  // messages that it has seen
  std::int64_t thread_ns;     // CPU time of ksoftirqd
};

// A frame costs 700 ns in the softirq and 300 ns in the application, so a CPU does one a
// microsecond and the application needs 30 % of it.
Load under_load(sched::SettleMode mode, int times, bool hand_over) {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(sched::Work::driver_receive, sched::Cost{700'000, 0, 0});
  costs.set(sched::Work::application, sched::Cost{300'000, 0, 0});
  World world(mode, costs);
  TestMachine& machine = world.add_machine({.softirqs = {.hand_over = hand_over}});
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{});
  auto& queue = world.make<sched::WaitQueue>("socket data");
  std::uint64_t in_socket = 0, seen = 0;
  nic.on_frame = [&](std::uint64_t) {
    if (in_socket < 256) ++in_socket;  // a full socket buffer drops
    queue.wake_one(machine.cpu());
  };
  machine.spawn("application", [&] {
    for (;;) {
      queue.wait(machine.scheduler, [&] { return in_socket > 0; });
      --in_socket;
      machine.cpu().charge(sched::Work::application);
      machine.cpu().settle();
      ++seen;
    }
  });
  world.make<Flood>(world, nic, 1000, 100'000'000, 1000 / times);
  world.run_until(100'000'000);
  return {seen, machine.softirqs.thread(0)->cpu_time().count()};
}

TEST_CASE("Under overload the application goes on, because ksoftirqd competes with it") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const Load once = under_load(mode, 1, true);
  CHECK(once.application > 90'000);
  for (const int times : {2, 5, 10}) {
    CAPTURE(times);
    const Load load = under_load(mode, times, true);
    CHECK(load.application >= once.application / 2);
    CHECK(load.thread_ns > 0);
  }
}

TEST_CASE("Without the hand-over to ksoftirqd the application starves: livelock") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const Load once = under_load(mode, 1, false);
  CHECK(once.application > 90'000);
  CHECK(under_load(mode, 10, false).application < once.application / 100);
}

}  // namespace
}  // namespace tapestry::tests::softirq_test
