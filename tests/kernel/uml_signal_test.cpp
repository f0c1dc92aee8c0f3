// How a descriptor of its host interrupts a UML guest: each frame is a signal, signals that meet
// are one, what is put off is one bit, and none is lost.
//
// A thread on the host's second CPU raises the guest's line, as a tap does for each frame.
#include <catch2/catch.hpp>

#include <functional>
#include <vector>

#include "kernel/uml.hpp"
#include "kernel/world.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::uml_signal_test {

namespace {

using core::Nanos;

struct Guest final : irq::InterruptHandler {
  explicit Guest(sched::SettleMode mode, sched::CostTable table = sched::CostTable::zero())
      : costs(std::move(table)),
        world({.settle_mode = mode}),
        host(world.add_machine({.name = "host", .era = *kernel::era_of("6.18"), .cpus = 2}, costs)),
        guest(world.add_machine({.name = "guest",
                                 .platform = kernel::PlatformKind::uml,
                                 .era = *kernel::era_of("6.1"),
                                 .hz = 100,
                                 .host = &host},
                                costs)),
        line(guest.interrupts().add_line("tap", irq::Trigger::edge, *this)) {}

  // A frame comes at each of these instants.
  void frames_at(const std::vector<std::int64_t>& instants_ns) {
    host.scheduler().spawn({.name = "peer", .affinity = 2, .kernel_thread = true},
                           [this, instants_ns] {
                             for (const std::int64_t at : instants_ns) {
                               host.scheduler().sleep_until(core::kStart + Nanos{at});
                               host.cpu().settle();
                               ++waiting;
                               line.raise();
                             }
                           });
  }
  void run() { world.run_until(core::kStart + std::chrono::milliseconds(5)); }

  // As the legacy driver: reads until there is nothing, and each look takes a while.
  void interrupt() override {
    for (;;) {
      spend(before_look);
      if (waiting == 0) break;
      --waiting;
      ++taken;
    }
    spend(behind_look);
  }
  void spend(Nanos span) {
    guest.cpu().owe(sched::Work::application, span);
    guest.cpu().settle();
  }

  Nanos before_look{100};
  Nanos behind_look{100};
  int waiting = 0;  // frames in the tap
  int taken = 0;
  sched::CostTable costs;
  kernel::World world;
  kernel::Machine& host;
  kernel::Machine& guest;
  irq::IrqLine& line;
};

}  // namespace

TEST_CASE("A frame at any nanosecond of a UML guest's handler, its last look included, is taken",
          "[uml]") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  for (const bool costly : {false, true}) {
    for (std::int64_t gap = 0; gap < 700; ++gap) {
      Guest run(mode, costly ? net_costs() : sched::CostTable::zero());
      run.frames_at({100'000, 100'000 + gap});
      run.run();
      if (run.taken == 2 && run.waiting == 0 && !run.line.pending()) continue;
      CAPTURE(costly, gap);
      FAIL("a frame is left in the tap: the guest is deaf");
    }
  }
  SUCCEED("all taken");
}

TEST_CASE("Frames that come while a UML guest handles one are a signal each, and one bit",
          "[uml]") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  Guest run(mode);
  run.before_look = Nanos{0};
  run.behind_look = Nanos{10'000};  // nothing is looked at any more
  run.frames_at({100'000, 102'000, 104'000, 106'000});
  run.run();
  CHECK(run.taken == 4);
  CHECK(run.line.raised() == 4);
  CHECK(run.line.delivered() == 2);  // the first, and all the others together
  CHECK(run.line.merged() == 2);
  CHECK(run.guest.uml()->signals_delivered() == 4);
}

TEST_CASE("Signals that a UML guest has not taken yet merge", "[uml]") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(sched::Work::ipi_latency, sched::Cost{.fixed_ps = 5'000'000});  // until it looks
  const auto delivered = [&](Guest& run) {
    run.guest.scheduler().spawn({.name = "task"}, [&] { run.spend(Nanos{200'000}); });
    run.run();
    return run.guest.uml()->signals_delivered();
  };
  Guest quiet(mode, costs);
  Guest run(mode, costs);
  run.frames_at({100'000, 101'000, 102'000});
  CHECK(delivered(run) == delivered(quiet) + 1);
  CHECK(run.taken == 3);
  CHECK(run.line.raised() == 3);
  CHECK(run.line.delivered() == 1);
}

}  // namespace tapestry::tests::uml_signal_test
