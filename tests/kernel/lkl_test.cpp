// The LKL platform: what a host steals from a guest whose CPU is a lock, who hands it to whom, and
// when an interrupt gets it. One look at the poll set takes the 1 ns that the table of no costs
// has.
#include "kernel/lkl.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/world.hpp"
#include "tests/support/timeline.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::lkl_test {

using core::Nanos;
using sched::Work;

namespace {

struct Placed {
  std::size_t guest_cpu = 0;
  std::optional<std::size_t> poll_cpu{};
};

struct Nested {
  explicit Nested(sched::SettleMode mode, sched::CostTable table = sched::CostTable::zero(),
                  Placed placed = {})
      : costs(std::move(table)),
        world({.settle_mode = mode}),
        host(world.add_machine({.name = "host",
                                .era = *kernel::era_of("6.18"),
                                .cpus = 2,
                                .preemption = sched::Preemption::full},
                               costs)),
        guest(world.add_machine({.name = "lkl",
                                 .platform = kernel::PlatformKind::lkl,
                                 .era = *kernel::era_of("5.5"),
                                 .hz = 100,
                                 .host = &host,
                                 .host_cpu = placed.guest_cpu,
                                 .poll_cpu = placed.poll_cpu},
                                costs)),
        story(world.timeline()) {}

  sched::Thread& spawn(std::string name, std::function<void()> body) {
    return guest.scheduler().spawn({.name = std::move(name)}, std::move(body));
  }
  // On the guest's running thread.
  void spend(std::int64_t ns) {
    guest.cpu().owe(Work::application, Nanos{ns});
    guest.cpu().settle();
  }
  void log(const std::string& text) {
    guest.cpu().settle();
    story.log(host.cpu(), text);
  }
  // On the host: a device of it interrupts.
  void at(std::int64_t ns, std::function<void()> body) {
    struct Deed {
      std::function<void()> body;
    };
    deeds.push_back(std::make_unique<std::function<void()>>(std::move(body)));
    world.timeline().events().push(
        core::kStart + Nanos{ns}, actor(),
        [](void* deed, std::uint64_t) { (*static_cast<std::function<void()>*>(deed))(); },
        deeds.back().get());
  }
  core::ActorId actor() {
    if (!actor_) actor_ = world.timeline().add_actor("device", core::Phase::device);
    return *actor_;
  }
  void run() { world.run_until(core::kStart + std::chrono::seconds(1)); }
  std::int64_t now_ns() { return core::nanos_since_start(world.timeline().now()); }
  std::int64_t stolen_ns() { return guest.lkl()->stolen().count(); }

  sched::CostTable costs;
  std::vector<std::unique_ptr<std::function<void()>>> deeds;
  kernel::World world;
  kernel::Machine& host;
  kernel::Machine& guest;
  Story story;

 private:
  std::optional<core::ActorId> actor_;
};

// An interrupt of the host that takes `cost` at `at`, on CPU 0.
struct HostInterrupt final : irq::InterruptHandler {
  HostInterrupt(Nested& nested, std::int64_t at_ns, std::int64_t cost_ns)
      : machine(nested.host),
        cost(cost_ns),
        line(nested.host.interrupts().add_line("disk", irq::Trigger::edge, *this)) {
    nested.at(at_ns, [this] { line.raise(); });
  }
  void interrupt() override { machine.cpu().owe(Work::application, cost); }

  kernel::Machine& machine;
  Nanos cost;
  irq::IrqLine& line;
};

// A descriptor of the guest that becomes ready in an interrupt of the host, on one of its CPUs.
struct Descriptor final : irq::InterruptHandler {
  Descriptor(Nested& nested, std::size_t host_cpu, std::function<void()> handler)
      : in_guest(std::move(handler)),
        guest_line(nested.guest.interrupts().add_line("tap", irq::Trigger::edge, in_guest)),
        host_line(nested.host.interrupts().add_line("wire", irq::Trigger::edge, *this, host_cpu)) {}
  void interrupt() override { guest_line.raise(); }

  Handler in_guest;
  irq::IrqLine& guest_line;
  irq::IrqLine& host_line;
};

struct Work1000 {
  std::int64_t done_ns = 0;
  std::int64_t stolen_ns = 0;
};

// One guest thread that spends 1,000 ns in two pieces, inside of the kernel or outside of it.
Work1000 spend_1000(Nested& nested, bool inside) {
  Work1000 result;
  nested.spawn("task", [&] {
    const auto work = [&] {
      nested.guest.cpu().owe(Work::application, Nanos{300});
      nested.guest.cpu().owe(Work::application, Nanos{700});
      nested.guest.cpu().settle();
    };
    if (inside)
      nested.guest.system_call(work);
    else
      work();
    result = {nested.now_ns(), nested.stolen_ns()};
  });
  nested.run();
  return result;
}

}  // namespace

TEST_CASE("what a host interrupt takes from an LKL guest is stolen, to the nanosecond", "[lkl]") {
  struct Row {
    std::int64_t at_ns, done_ns, stolen_ns;
  };
  // Before the first instruction, at its first nanosecond, in the middle, one before the end, at
  // the end (devices come first), after it.
  const Row rows[] = {{0, 1250, 0},     {1, 1250, 250},    {400, 1250, 250},
                      {999, 1250, 250}, {1000, 1250, 250}, {1001, 1000, 0}};
  for (const auto mode : kSettleModes) {
    for (const Row& row : rows) {
      for (const bool inside : {true, false}) {
        INFO("at " << row.at_ns << ", inside " << inside);
        Nested nested(mode);
        HostInterrupt disk(nested, row.at_ns, 250);
        const Work1000 result = spend_1000(nested, inside);
        CHECK(result.done_ns == row.done_ns);
        CHECK(result.stolen_ns == row.stolen_ns);
      }
    }
  }
}

TEST_CASE("a real-time thread of the host takes an LKL guest's CPU for as long as it runs",
          "[lkl]") {
  for (const auto mode : kSettleModes) {
    Nested nested(mode);
    HostInterrupt disk(nested, 700, 250);
    nested.host.scheduler().spawn({.name = "audio", .realtime_priority = 50, .affinity = 1}, [&] {
      nested.host.scheduler().sleep_until(core::kStart + Nanos{300});
      nested.host.cpu().owe(Work::application, Nanos{2000});
      nested.host.cpu().settle();
    });
    const Work1000 result = spend_1000(nested, true);
    CHECK(result.done_ns == 3250);
    CHECK(result.stolen_ns == 2250);
  }
}

TEST_CASE("an LKL guest that sleeps is neither running nor stolen from", "[lkl]") {
  for (const auto mode : kSettleModes) {
    Nested nested(mode);
    HostInterrupt disk(nested, 400, 250);
    std::int64_t done_ns = 0;
    nested.spawn("task", [&] {
      nested.guest.system_call(
          [&] { nested.guest.scheduler().sleep_until(core::kStart + Nanos{5000}); });
      nested.spend(1000);
      done_ns = nested.now_ns();
    });
    nested.run();
    CHECK(done_ns == 6000);
    CHECK(nested.stolen_ns() == 0);
  }
}

TEST_CASE("an LKL guest's threads hand its CPU over by a futex, on one CPU or across two",
          "[lkl]") {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(Work::futex, sched::Cost{7'000, 0, 0});
  for (const auto mode : kSettleModes) {
    Nested nested(mode, costs);
    sched::WaitQueue ball("the ball");
    int turns = 0;
    for (const int mine : {0, 1}) {
      nested.spawn("player", [&, mine] {
        for (int i = 0; i < 3; ++i) {
          nested.guest.system_call([&] {
            ball.wait(nested.guest.scheduler(), [&] { return turns % 2 == mine; });
            ++turns;
            ball.wake_one(nested.guest.cpu());
          });
        }
      });
    }
    const std::uint64_t before = nested.guest.lkl()->handovers();
    nested.run();
    CHECK(turns == 6);
    // Of ksoftirqd and the idle loop, too, at the beginning and the end.
    const std::uint64_t handovers = nested.guest.lkl()->handovers() - before;
    CHECK(handovers >= 6);
    CHECK(handovers <= 12);
    // One wakes and one goes to sleep: the wake-up is on the way.
    CHECK(nested.guest.lkl()->handing_over().count() >= static_cast<std::int64_t>(handovers) * 7);
  }
}

TEST_CASE("an interrupt runs on the poll thread if nobody holds the LKL CPU", "[lkl]") {
  for (const auto mode : kSettleModes) {
    Nested nested(mode, sched::CostTable::zero(), {.guest_cpu = 0, .poll_cpu = 1});
    Descriptor tap(nested, 1, [&] {
      nested.log("handler begins");
      nested.guest.cpu().owe(Work::application, Nanos{50});
      nested.log("handler ends");
    });
    nested.at(500, [&] { tap.host_line.raise(); });
    nested.run();
    CHECK_THAT(nested.story, Tells(R"(
        501  cpu1  handler begins
        551  cpu1  handler ends
    )"));
    CHECK(nested.guest.lkl()->deferred() == 0);
  }
}

TEST_CASE("an interrupt for a held LKL CPU is pending until it is given back", "[lkl]") {
  for (const auto mode : kSettleModes) {
    Nested nested(mode, sched::CostTable::zero(), {.guest_cpu = 0, .poll_cpu = 1});
    Descriptor tap(nested, 1, [&] { nested.log("handler"); });
    nested.spawn("task", [&] {
      nested.guest.system_call([&] {
        nested.log("system call begins");
        nested.spend(1000);
        nested.log("system call ends");
      });
      nested.log("outside");
    });
    nested.at(500, [&] { tap.host_line.raise(); });
    nested.run();
    CHECK_THAT(nested.story, Tells(R"(
          0  cpu0  system call begins
       1000  cpu0  system call ends
       1000  cpu0  handler
       1000  cpu0  outside
    )"));
    CHECK(nested.guest.lkl()->deferred() == 1);
  }
}

TEST_CASE("while a process is outside of the kernel an interrupt runs beside it", "[lkl]") {
  for (const auto mode : kSettleModes) {
    Nested nested(mode, sched::CostTable::zero(), {.guest_cpu = 0, .poll_cpu = 1});
    Descriptor tap(nested, 1, [&] {
      nested.log("handler begins");
      nested.guest.cpu().owe(Work::application, Nanos{300});
      nested.log("handler ends");
    });
    nested.spawn("task", [&] {
      nested.spend(1000);
      nested.log("outside");
    });
    nested.at(500, [&] { tap.host_line.raise(); });
    nested.run();
    CHECK_THAT(nested.story, Tells(R"(
        501  cpu1  handler begins
        801  cpu1  handler ends
       1000  cpu0  outside
    )"));
    CHECK(nested.guest.lkl()->contended() == 0);
    CHECK(nested.stolen_ns() == 0);
  }
}

TEST_CASE("a process that wants the LKL CPU while an interrupt has it waits for it", "[lkl]") {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(Work::futex, sched::Cost{10'000, 0, 0});
  for (const auto mode : kSettleModes) {
    Nested nested(mode, costs, {.guest_cpu = 0, .poll_cpu = 1});
    Descriptor tap(nested, 1, [&] {
      nested.guest.cpu().owe(Work::application, Nanos{5000});
      nested.log("handler ends");
    });
    nested.spawn("task", [&] {
      nested.spend(1000);
      nested.log("inside again");
    });
    nested.at(500, [&] { tap.host_line.raise(); });
    nested.run();
    CHECK_THAT(nested.story, Tells(R"(
       5501  cpu1  handler ends
       5511  cpu0  inside again
    )"));
    CHECK(nested.guest.lkl()->contended() == 1);
  }
}

TEST_CASE("an interrupt wakes a process of an LKL guest by way of its idle loop", "[lkl]") {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(Work::futex, sched::Cost{10'000, 0, 0});
  for (const auto mode : kSettleModes) {
    Nested nested(mode, costs, {.guest_cpu = 0, .poll_cpu = 1});
    sched::WaitQueue data("data");
    bool arrived = false;
    Descriptor tap(nested, 1, [&] {
      arrived = true;
      data.wake_one(nested.guest.cpu());
      nested.log("handler");
    });
    nested.spawn("reader", [&] {
      nested.guest.system_call([&] {
        data.wait(nested.guest.scheduler(), [&] { return arrived; });
        nested.log("reader");
      });
    });
    nested.at(5000, [&] { tap.host_line.raise(); });
    nested.run();
    // The poll thread wakes the idle thread (10), which wakes the reader's (10) and, on the same
    // CPU, goes to sleep first (10).
    CHECK_THAT(nested.story, Tells(R"(
       5001  cpu1  handler
       5031  cpu0  reader
    )"));
  }
}

TEST_CASE("a world ends in the middle of anything that an LKL guest does", "[lkl]") {
  sched::CostTable costs = sched::CostTable::zero();
  for (std::size_t i = 0; i < sched::kWorkCount; ++i)
    costs.set(static_cast<Work>(i),
              sched::Cost{.fixed_ps = static_cast<std::int64_t>(11 + i) * 1000});
  int lines_told = 0;
  for (std::int64_t end_ns = 0; end_ns < 20'000; end_ns += 97) {
    Nested nested(sched::SettleMode::seams, costs, {.guest_cpu = 0, .poll_cpu = 1});
    Descriptor tap(nested, 1, [&] { nested.spend(400); });
    for (int i = 0; i < 3; ++i) {
      nested.spawn("task", [&] {
        for (;;) {
          nested.spend(300);
          nested.guest.system_call([&] {
            nested.guest.scheduler().sleep_until(core::kStart + Nanos{nested.now_ns() + 700});
          });
        }
      });
    }
    for (const std::int64_t at_ns : {3'000, 9'100, 9'700, 15'000})
      nested.at(at_ns, [&] { tap.host_line.raise(); });
    nested.world.run_until(core::kStart + Nanos{end_ns});
    nested.world.unwind();
    lines_told += static_cast<int>(tap.guest_line.delivered());
  }
  CHECK(lines_told > 0);
}

}  // namespace tapestry::tests::lkl_test
