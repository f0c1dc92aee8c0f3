// Who runs when: preemption models, time slices, weights, affinity, wake-ups between CPUs.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sched/guards.hpp"
#include "sched/wait_queue.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::scheduler_test {
namespace {

using sched::Preemption;

// A real-time thread that an interrupt at 1000 wakes.
struct Woken {
  Woken(sched::SettleMode mode, Preemption preemption)
      : world(mode), machine(world.add_machine({.preemption = preemption})) {
    auto& queue = world.make<sched::WaitQueue>("the interrupt");
    machine.scheduler.spawn({.name = "urgent", .realtime_priority = 50}, [this, &queue] {
      queue.wait(machine.scheduler, [this] { return happened; });
      world.story.log(machine.cpu(), "urgent");
    });
    auto& handler = world.make<Handler>([this, &queue] {
      happened = true;
      queue.wake_one(machine.cpu());
    });
    auto& line = machine.interrupts.add_line("dev", irq::Trigger::edge, handler);
    world.at(1000, [&line] { line.raise(); });
  }
  std::string urgent_at() {
    world.run();
    REQUIRE(world.story.lines().size() == 1);
    return squeezed(world.story.lines()[0]);
  }

  World world;
  TestMachine& machine;
  bool happened = false;
};

TEST_CASE("Each preemption model takes the CPU from kernel code where it may") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto [preemption, instant] =
      GENERATE(table<Preemption, std::string>({{Preemption::none, "20000 cpu0 urgent"},
                                               {Preemption::voluntary, "10000 cpu0 urgent"},
                                               {Preemption::full, "1000 cpu0 urgent"}}));
  Woken run(mode, preemption);
  run.machine.scheduler.spawn({.name = "worker", .kernel_thread = true}, [&] {
    World::owe(run.machine.cpu(), 10'000);
    run.machine.cpu().might_sleep();
    World::owe(run.machine.cpu(), 10'000);
    run.machine.cpu().cond_resched();
    World::spend(run.machine.cpu(), 10'000);
  });
  CHECK(run.urgent_at() == instant);
}

TEST_CASE("Code in user mode is preempted at once in every model, a system call at its return") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto preemption = GENERATE(Preemption::none, Preemption::voluntary, Preemption::full);
  const bool in_system_call = GENERATE(false, true);
  Woken run(mode, preemption);
  run.machine.spawn("application", [&] {
    if (in_system_call) run.machine.cpu().enter_kernel();
    World::spend(run.machine.cpu(), 5'000);
    if (in_system_call) run.machine.cpu().leave_kernel();
    World::spend(run.machine.cpu(), 5'000);
  });
  const bool at_once = !in_system_call || preemption == Preemption::full;
  CHECK(run.urgent_at() == (at_once ? "1000 cpu0 urgent" : "5000 cpu0 urgent"));
}

TEST_CASE("Nothing is preempted while interrupts, bottom halves or preemption are off") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto excluded = GENERATE(0, 1, 2);
  Woken run(mode, Preemption::full);
  run.machine.spawn("task", [&] {
    sched::Cpu& cpu = run.machine.cpu();
    const auto section = [&cpu] { World::spend(cpu, 3'000); };
    if (excluded == 0) {
      const sched::InterruptsOff off(cpu);
      section();
    } else if (excluded == 1) {
      const sched::BottomHalvesOff off(cpu);
      section();
    } else {
      const sched::PreemptionOff off(cpu);
      section();
    }
    World::spend(cpu, 3'000);
  });
  CHECK(run.urgent_at() == "3000 cpu0 urgent");
}

// --- sharing
// -----------------------------------------------------------------------------------------

TEST_CASE("Equal threads take turns, a slice each") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  std::string last;
  for (const char* name : {"a", "b", "c"}) {
    machine.spawn(name, [&, name] {
      for (int i = 0; i < 70; ++i) {
        if (last != name) world.story.log(machine.cpu(), name);
        last = name;
        World::spend(machine.cpu(), 100'000);
      }
    });
  }
  world.run();
  CHECK_THAT(world.story, Tells(R"(
             0  cpu0  a
       3000000  cpu0  b
       6000000  cpu0  c
       9000000  cpu0  a
      12000000  cpu0  b
      15000000  cpu0  c
      18000000  cpu0  a
      19000000  cpu0  b
      20000000  cpu0  c
  )"));
}

TEST_CASE("Threads share a CPU in proportion to the weights of their nice values") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  const std::vector<int> nice{0, 5, -5, 19};
  std::vector<sched::Thread*> threads;
  std::int64_t all_weights = 0;
  for (const int value : nice) {
    all_weights += sched::weight_of_nice(value);
    threads.push_back(&machine.scheduler.spawn({.name = "busy", .nice = value}, [&] {
      for (;;)
        World::spend(machine.cpu(), 10'000);
    }));
  }
  const std::int64_t end_ns = 3'000'000'000;
  world.run_until(end_ns);
  for (std::size_t i = 0; i < nice.size(); ++i) {
    CAPTURE(nice[i]);
    const std::int64_t fair_ns = end_ns / all_weights * sched::weight_of_nice(nice[i]);
    const std::int64_t difference_ns = threads[i]->cpu_time().count() - fair_ns;
    CHECK(std::abs(difference_ns) <= 6'000'000);  // two slices
  }
}

TEST_CASE("A thread that slept is served soon, but does not make up for all that it missed") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  machine.spawn("busy", [&] {
    for (;;)
      World::spend(machine.cpu(), 10'000);
  });
  sched::Thread& sleeper = machine.spawn("sleeper", [&] {
    machine.scheduler.sleep_until(core::kStart + core::Nanos{500'000'000});
    world.story.log(machine.cpu(), "wakes");
    for (;;)
      World::spend(machine.cpu(), 10'000);
  });
  world.run_until(600'000'000);
  CHECK_THAT(world.story, Tells("500000000 cpu0 wakes"));
  CHECK(sleeper.cpu_time().count() >= 49'000'000);
  CHECK(sleeper.cpu_time().count() <= 56'000'000);
}

TEST_CASE("Real-time threads run by priority, equals in their order, until they block") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine({.softirq_threads = false});
  const auto spawn = [&](const char* name, int priority) {
    machine.scheduler.spawn({.name = name, .realtime_priority = priority}, [&, name] {
      World::spend(machine.cpu(), 10'000'000);
      world.story.log(machine.cpu(), name);
    });
  };
  machine.spawn("other", [&] { world.story.log(machine.cpu(), "other"); });
  spawn("low a", 1);
  spawn("high", 9);
  spawn("low b", 1);
  world.run();
  CHECK_THAT(world.story, Tells(R"(
      10000000  cpu0  high
      20000000  cpu0  low a
      30000000  cpu0  low b
      30000000  cpu0  other
  )"));
}

TEST_CASE("Whoever yields lets every ready thread go first") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine({.softirq_threads = false});
  for (const char* name : {"a", "b", "c"}) {
    machine.spawn(name, [&, name] {
      for (int i = 0; i < 2; ++i) {
        World::spend(machine.cpu(), 10);
        world.story.log(machine.cpu(), name);
        machine.scheduler.yield();
      }
    });
  }
  world.run();
  CHECK_THAT(world.story, Tells(R"(
      10  cpu0  a
      20  cpu0  b
      30  cpu0  c
      40  cpu0  a
      50  cpu0  b
      60  cpu0  c
  )"));
}

// --- several CPUs
// --------------------------------------------------------------------------------------

TEST_CASE(
    "Waking a thread on an idle CPU costs the waker a wake-up and an interrupt, and takes its "
    "time") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine({.cpus = 2});
  auto& queue = world.make<sched::WaitQueue>("a word");
  bool said = false;
  machine.scheduler.spawn({.name = "listener", .affinity = 2}, [&] {
    queue.wait(machine.scheduler, [&] { return said; });
    world.story.log(machine.cpu(), "listens");
  });
  machine.scheduler.spawn({.name = "speaker", .affinity = 1}, [&] {
    World::spend(machine.cpu(), 1000 - world.now_ns());
    said = true;
    world.story.log(machine.cpu(), "speaks");
    queue.wake_one(machine.cpu());
    world.story.log(machine.cpu(), "has spoken");
  });
  world.run();
  // The waker: wake-up 17, interrupt 12. Then latency 25, idle exit 19, handler 30, switch 40.
  CHECK_THAT(world.story, Tells(R"(
      1000  cpu0  speaks
      1029  cpu0  has spoken
      1143  cpu1  listens
  )"));
}

TEST_CASE("A thread runs on the CPUs of its mask only, and on an idle one if there is one") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine({.cpus = 3});
  std::uint64_t on_cpu[3] = {};
  std::uint64_t pinned_elsewhere = 0;
  for (int i = 0; i < 2; ++i) {
    machine.scheduler.spawn({.name = "pinned", .affinity = 0b110}, [&] {
      for (int turn = 0; turn < 100; ++turn) {
        machine.scheduler.sleep_until(world.timeline.now() + core::Nanos{700});
        World::spend(machine.cpu(), 2'000);
        if (machine.cpu().index() == 0) ++pinned_elsewhere;
      }
    });
  }
  machine.spawn("free", [&] {
    for (int turn = 0; turn < 100; ++turn) {
      machine.scheduler.sleep_until(world.timeline.now() + core::Nanos{900});
      World::spend(machine.cpu(), 1'000);
      ++on_cpu[machine.cpu().index()];
    }
  });
  world.run();
  CHECK(pinned_elsewhere == 0);
  CHECK(on_cpu[0] + on_cpu[1] + on_cpu[2] == 100);
}

TEST_CASE("Every nanosecond of a CPU is idle, or in some context; none is counted twice") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine({.cpus = 2});
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{});
  world.make<Flood>(world, nic, 1000, 300'000, 700);
  for (int i = 0; i < 3; ++i) {
    machine.spawn("task", [&] {
      for (int turn = 0; turn < 50; ++turn) {
        machine.scheduler.sleep_until(world.timeline.now() + core::Nanos{3'000});
        World::spend(machine.cpu(), 2'000);
      }
    });
  }
  world.run();
  world.run_until(world.now_ns() + 1'000);
  for (std::size_t cpu = 0; cpu < 2; ++cpu) {
    const sched::Usage& usage = machine.scheduler.cpu(cpu).usage();
    const std::int64_t counted_ns = usage.busy().count() + usage.idle().count();
    // An idle CPU counts when it stops idling.
    CHECK(counted_ns <= world.now_ns());
    CHECK(usage.busy().count() > 50'000);
  }
}

}  // namespace
}  // namespace tapestry::tests::scheduler_test
