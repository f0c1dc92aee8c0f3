// Where bytes are: reading what another CPU or a device has written costs more.
#include <catch2/catch.hpp>

#include "tests/support/net_world.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::cold_read_test {
namespace {

constexpr std::int64_t kWarmNs = 100, kColdNs = 350;  // for a kilobyte

sched::CostTable memory_costs() {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(sched::Work::copy, sched::Cost{.per_byte_fs = 100'000});
  costs.set(sched::Work::cold_read, sched::Cost{.per_byte_fs = 250'000});
  return costs;
}

// What CPU 1 pays for copying a kilobyte that `writer` touched last; a negative one is a device.
std::int64_t copied_by_cpu_1(sched::SettleMode mode, int writer) {
  World world(mode, memory_costs());
  TestMachine& machine = world.add_machine({.cpus = 3, .softirq_threads = false});
  core::CacheOwner owner = 0;
  std::int64_t took = -1;
  CopyCharger& copies = world.make<CopyCharger>(machine.scheduler);
  if (writer >= 0)
    machine.scheduler.spawn({.name = "writer", .affinity = sched::CpuMask{1} << writer},
                            [&] { owner = machine.cpu().cache_owner(); });
  machine.scheduler.spawn({.name = "reader", .affinity = 2}, [&] {
    World::spend(machine.cpu(), 1000);  // the writer is done by then
    copies.charge_copy(1000, owner);
    machine.cpu().settle();
    took = world.now_ns() - 1000;
  });
  world.run();
  return took;
}

TEST_CASE("A copy of what another CPU or a device has left costs more than of one's own bytes") {
  struct Row {
    const char* who;
    int writer;
    std::int64_t ns;
  };
  const Row rows[] = {{"the CPU itself", 1, kWarmNs},
                      {"a lower CPU", 0, kColdNs},
                      {"a higher CPU", 2, kColdNs},
                      {"a device", -1, kColdNs}};
  for (const sched::SettleMode mode : kSettleModes)
    for (const Row& row : rows) {
      CAPTURE(row.who);
      CHECK(copied_by_cpu_1(mode, row.writer) == row.ns);
    }
}

}  // namespace
}  // namespace tapestry::tests::cold_read_test
