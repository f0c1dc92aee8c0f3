// A descriptor that becomes ready again while its handler runs is not forgotten, whatever the
// guest.
#include <catch2/catch.hpp>

#include "kernel/world.hpp"
#include "tests/support/net_world.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::guest_line_test {
namespace {

using core::Nanos;

// The host's CPU 1 takes an interrupt and raises the guest's line.
struct Raiser final : irq::InterruptHandler {
  Raiser(kernel::Machine& host, irq::IrqLine& guest_line)
      : guest(guest_line), line(host.interrupts().add_line("wire", irq::Trigger::edge, *this, 1)) {}
  void interrupt() override { guest.raise(); }
  irq::IrqLine& guest;
  irq::IrqLine& line;
};

// How many of three frames a handler finds that reads until there are none.
int frames_read(kernel::PlatformKind platform, sched::SettleMode mode, std::int64_t gap_ns) {
  const sched::CostTable costs = net_costs();
  kernel::World world({.settle_mode = mode});
  kernel::Machine& host =
      world.add_machine({.name = "host", .era = *kernel::era_of("6.18"), .cpus = 2}, costs);
  kernel::Machine& guest = world.add_machine({.name = "guest",
                                              .platform = platform,
                                              .era = *kernel::era_of("6.1"),
                                              .hz = 100,
                                              .host = &host},
                                             costs);
  int waiting = 0, read = 0;
  Handler handler([&] {
    for (; waiting > 0; guest.cpu().settle()) {
      --waiting;
      ++read;
      guest.cpu().owe(sched::Work::application, Nanos{200});
    }
    guest.cpu().owe(sched::Work::application, Nanos{300});  // on its way out
  });
  irq::IrqLine& line = guest.interrupts().add_line("tap", irq::Trigger::edge, handler);
  Raiser raiser(host, line);
  struct Frame {
    int& waiting;
    Raiser& raiser;
  } frame{waiting, raiser};
  const core::ActorId wire = world.timeline().add_actor("wire", core::Phase::device);
  const auto arrive = [](void* object, std::uint64_t) {
    Frame& arriving = *static_cast<Frame*>(object);
    ++arriving.waiting;
    arriving.raiser.line.raise();
  };
  for (const std::int64_t at_ns : {std::int64_t{50'000}, 50'000 + gap_ns, std::int64_t{900'000}})
    world.timeline().events().push(core::kStart + Nanos{at_ns}, wire, arrive, &frame, 0);
  world.run_until(core::kStart + Nanos{2'000'000});
  world.unwind();
  return read;
}

}  // namespace

TEST_CASE("an edge while its handler runs makes it run again, on every platform of a guest") {
  for (const auto platform : {kernel::PlatformKind::uml, kernel::PlatformKind::lkl}) {
    for (const auto mode : kSettleModes) {
      for (std::int64_t gap_ns = 0; gap_ns < 6000; gap_ns += 41) {
        INFO("gap " << gap_ns);
        REQUIRE(frames_read(platform, mode, gap_ns) == 3);
      }
    }
  }
}

}  // namespace tapestry::tests::guest_line_test
