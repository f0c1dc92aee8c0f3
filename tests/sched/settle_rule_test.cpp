// The settle rule by counter-example: what each seam is for. Every row is a small world in which
// something happens while a context owes time; with the seam in its place the instants are these,
// in every settle mode.
#include <catch2/catch.hpp>

#include "sched/guards.hpp"
#include "sched/wait_queue.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::settle_rule_test {
namespace {

using irq::Trigger;

// One machine whose device interrupts at 50 for 250 ns.
struct Interrupted {
  explicit Interrupted(sched::SettleMode mode, TestMachineOptions options = {})
      : world(mode), machine(world.add_machine(options)) {
    world.at(50, [this] { line().raise(); });
  }
  void on_interrupt(std::function<void()> effect) { effect_ = std::move(effect); }
  irq::IrqLine& line() {
    if (line_ == nullptr) {
      auto& handler = world.make<Handler>([this] {
        if (effect_) effect_();
        World::spend(machine.cpu(), 250);
        world.story.log(machine.cpu(), "interrupt ends");
      });
      line_ = &machine.interrupts.add_line("dev", Trigger::edge, handler);
    }
    return *line_;
  }
  sched::Cpu& cpu() { return machine.cpu(); }
  void log(const char* text) { world.story.log(cpu(), text); }

  World world;
  TestMachine& machine;

 private:
  irq::IrqLine* line_ = nullptr;
  std::function<void()> effect_;
};

TEST_CASE("A variable changes when the work before it is paid, not when it was charged") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  int variable = 0;
  run.on_interrupt([&] { run.log(variable == 0 ? "sees 0" : "sees 1"); });
  run.machine.spawn("task", [&] {
    World::owe(run.cpu(), 100);
    run.cpu().settle();
    variable = 1;
    run.log("writes 1");
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
       50  cpu0  sees 0
      300  cpu0  interrupt ends
      350  cpu0  writes 1
  )"));
}

TEST_CASE("Without its seam the same write is seen too early: that is what the rule prevents") {
  Interrupted run(sched::SettleMode::seams);
  int variable = 0;
  run.on_interrupt([&] { run.log(variable == 0 ? "sees 0" : "sees 1"); });
  run.machine.spawn("task", [&] {
    World::owe(run.cpu(), 100);
    variable = 1;
    run.cpu().settle();
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
       50  cpu0  sees 1
      300  cpu0  interrupt ends
  )"));
}

TEST_CASE("A timer is armed from the instant at which the work before it is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  auto fired = [](void* object, std::uint64_t) {
    World& its_world = *static_cast<World*>(object);
    its_world.story.log("timer", "fires");
  };
  auto& timer = world.make<sched::Timer>(fired, &world);
  machine.spawn("task", [&] {
    World::owe(machine.cpu(), 100);
    const core::Instant now = machine.cpu().now(machine.cpu().settle());
    timer.arm(machine.cpu(), now + core::Nanos{50});
  });
  world.run();
  CHECK_THAT(world.story, Tells("150 timer fires"));
}

TEST_CASE("The present plus the debt is no base for a timer: an interrupt may steal time") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  auto fired = [](void* object, std::uint64_t) {
    static_cast<World*>(object)->story.log("timer", "fires");
  };
  auto& timer = run.world.make<sched::Timer>(fired, &run.world);
  run.machine.spawn("task", [&] {
    World::owe(run.cpu(), 100);
    const core::Instant now = run.cpu().now(run.cpu().settle());
    timer.arm(run.cpu(), now + core::Nanos{50});
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      300  cpu0   interrupt ends
      400  timer  fires
  )"));
}

// A lock whose holder and waiters look settled.
class SpinLock {
 public:
  void lock(sched::Cpu& cpu) {
    cpu.spin_until(wait_, core::kNever, sched::Work::spin, [this] { return !held_; });
    held_ = true;
  }
  void unlock(sched::Cpu& cpu) {
    cpu.settle();
    held_ = false;
    wait_.notify();
  }

 private:
  bool held_ = false;
  sched::SpinWait wait_;
};

struct TwoCpus {
  explicit TwoCpus(sched::SettleMode mode)
      : world(mode), machine(world.add_machine({.cpus = 2})), lock(world.make<SpinLock>()) {}
  void on_cpu(std::size_t cpu, std::function<void()> body) {
    machine.scheduler.spawn({.name = "task", .affinity = sched::CpuMask{1} << cpu},
                            std::move(body));
  }
  void log(const char* text) { world.story.log(machine.cpu(), text); }

  World world;
  TestMachine& machine;
  SpinLock& lock;
};

TEST_CASE("A lock is free when its section is paid for") {
  const auto mode = GENERATE(from_range(kSettleModes));
  TwoCpus run(mode);
  run.on_cpu(0, [&] {
    run.lock.lock(run.machine.cpu());
    run.log("locks");
    World::owe(run.machine.cpu(), 100);
    run.lock.unlock(run.machine.cpu());
    run.log("unlocks");
  });
  run.on_cpu(1, [&] {
    World::spend(run.machine.cpu(), 10);
    run.lock.lock(run.machine.cpu());
    run.log("locks");
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
        0  cpu0  locks
      100  cpu0  unlocks
      100  cpu1  locks
  )"));
}

TEST_CASE("A lock is asked for when the work before it is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  TwoCpus run(mode);
  run.on_cpu(0, [&] {
    World::owe(run.machine.cpu(), 100);
    run.lock.lock(run.machine.cpu());
    run.log("locks");
  });
  run.on_cpu(1, [&] {
    World::spend(run.machine.cpu(), 50);
    run.lock.lock(run.machine.cpu());
    run.log("locks");
    World::owe(run.machine.cpu(), 100);
    run.lock.unlock(run.machine.cpu());
    run.log("unlocks");
  });
  run.world.run();
  // CPU 0 looks at 150 before CPU 1 unlocks at the same instant, and again one period later.
  CHECK_THAT(run.world.story, Tells(R"(
       50  cpu1  locks
      150  cpu1  unlocks
      151  cpu0  locks
  )"));
}

TEST_CASE("A softirq is pending when the work before its raise is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  auto& nothing = run.world.make<SoftirqFunction>([](sched::Cpu&) {});
  run.machine.softirqs.set_handler(irq::Vector::hi, nothing);
  auto watch =
      run.machine.softirqs.on_entry.watch([&](irq::Vector, const sched::Cpu& cpu, core::Instant) {
        run.world.story.log(cpu, "softirq begins");
      });
  run.machine.spawn("task", [&] {
    World::owe(run.cpu(), 200);
    run.machine.softirqs.raise(irq::Vector::hi);
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      300  cpu0  interrupt ends
      450  cpu0  softirq begins
  )"));
}

TEST_CASE("Interrupts are off when the work before is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  run.machine.spawn("task", [&] {
    World::owe(run.cpu(), 100);
    const sched::InterruptsOff off(run.cpu());
    run.log("interrupts off");
    World::owe(run.cpu(), 1000);
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      300  cpu0  interrupt ends
      350  cpu0  interrupts off
  )"));
}

TEST_CASE("Interrupts are on again when the work of the section is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  run.machine.spawn("task", [&] {
    {
      const sched::InterruptsOff off(run.cpu());
      World::owe(run.cpu(), 100);
    }
    run.log("interrupts on");
  });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      350  cpu0  interrupt ends
      350  cpu0  interrupts on
  )"));
}

TEST_CASE("Bottom halves wait until the work of the section is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  auto& softirq = run.world.make<SoftirqFunction>(
      [&](sched::Cpu& cpu) { run.world.story.log(cpu, "softirq"); });
  run.machine.softirqs.set_handler(irq::Vector::hi, softirq);
  run.on_interrupt([&] { run.machine.softirqs.raise(irq::Vector::hi); });
  run.machine.spawn("task", [&] {
    {
      const sched::BottomHalvesOff off(run.cpu());
      World::owe(run.cpu(), 100);
    }
    run.log("bottom halves on");
  });
  run.world.run();
  // 300 + the 50 that were still owed + 1 for the dispatch, the least that a softirq costs.
  CHECK_THAT(run.world.story, Tells(R"(
      300  cpu0  interrupt ends
      351  cpu0  softirq
      351  cpu0  bottom halves on
  )"));
}

TEST_CASE("Whether somebody else should run is asked when the work before is paid") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine({.preemption = sched::Preemption::none,
                                            .time_slice = core::Nanos{50},
                                            .softirq_threads = false});
  const auto spawn = [&](const char* name, std::function<void()> body) {
    machine.scheduler.spawn({.name = name, .kernel_thread = true}, std::move(body));
  };
  spawn("first", [&] {
    World::owe(machine.cpu(), 100);
    machine.cpu().cond_resched();
    World::owe(machine.cpu(), 1000);
    machine.cpu().settle();
    world.story.log(machine.cpu(), "first ends");
  });
  spawn("second", [&] {
    World::spend(machine.cpu(), 250);
    world.story.log(machine.cpu(), "second ends");
  });
  world.run();
  CHECK_THAT(world.story, Tells(R"(
      350   cpu0  second ends
      1350  cpu0  first ends
  )"));
}

TEST_CASE("A thread that still owes does not block before it has looked again") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Interrupted run(mode);
  auto& queue = run.world.make<sched::WaitQueue>("the interrupt");
  bool happened = false;
  run.on_interrupt([&] {
    happened = true;
    queue.wake_one(run.cpu());
  });
  run.machine.spawn("task", [&] {
    World::owe(run.cpu(), 100);
    queue.wait(run.machine.scheduler, [&] { return happened; });
    run.log("goes on");
  });
  run.world.at(800, [&] { run.line().raise(); });
  run.world.run();
  CHECK_THAT(run.world.story, Tells(R"(
      300   cpu0  interrupt ends
      350   cpu0  goes on
      1050  cpu0  interrupt ends
  )"));
}

}  // namespace
}  // namespace tapestry::tests::settle_rule_test
