#include "host/sim/veth.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/host/host_world.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests::veth_test {

namespace {

sched::CostTable costs() {
  sched::CostTable table = sched::CostTable::zero();
  table.set(sched::Work::veth, sched::Cost{.per_item_ps = 100'000});
  return table;
}

class Bench {
 public:
  Bench()
      : world(sched::SettleMode::seams, costs()),
        host(world.make<HostMachine>(world)),
        left(host.add_device("veth0")),
        right(host.add_device("veth1")),
        pair(world.make<host::sim::Veth>(left, right)) {
    right.set_receive_handler([this](core::PacketPtr packet) {
      CHECK(host.cpu().in_softirq());
      numbers.push_back(number_of(*packet));
      checksum = packet->checksum;
      host.stack.allocator().free(std::move(packet));
      return core::PacketPtr();
    });
  }

  World world;
  HostMachine& host;
  net::Device& left;
  net::Device& right;
  host::sim::Veth& pair;
  std::vector<std::uint32_t> numbers;
  core::ChecksumState checksum = core::ChecksumState::none;
};

}  // namespace

TEST_CASE("what one end of a pair sends, the other receives in order, through its backlog") {
  Bench bench;
  bench.host.run([&] {
    bench.left.open();
    bench.right.open();
    for (std::uint32_t number = 1; number <= 5; ++number)
      bench.left.transmit(make_frame(bench.world.packets, number));
  });
  CHECK(bench.numbers == std::vector<std::uint32_t>{1, 2, 3, 4, 5});
  // 5 crossings of 100, each with a softirq and a poll: 1 ns each, the least that they cost.
  CHECK(bench.world.now_ns() == 510);
  CHECK(bench.left.figures().tx_packets == 5);
  CHECK(bench.right.figures().rx_packets == 5);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("an unfinished checksum crosses a pair unfinished") {
  Bench bench;
  bench.host.run([&] {
    bench.left.open();
    bench.right.open();
    core::PacketPtr frame = make_frame(bench.world.packets, 1, 100);
    frame->checksum = core::ChecksumState::partial;
    frame->set_checksum_start(34);
    frame->checksum_offset = 6;
    bench.left.transmit(std::move(frame));
  });
  CHECK(bench.checksum == core::ChecksumState::partial);
}

TEST_CASE("nothing crosses to an end that is down, or that takes no frame so long") {
  Bench bench;
  bench.host.run([&] {
    bench.left.open();
    bench.left.transmit(make_frame(bench.world.packets, 1));
    bench.right.open();
    bench.left.transmit(make_frame(bench.world.packets, 2, 1519));
  });
  CHECK(bench.numbers.empty());
  CHECK(drops(bench.world, core::DropReason::link_down) == 1);
  CHECK(drops(bench.world, core::DropReason::pkt_too_big) == 1);
  CHECK(bench.left.figures().tx_dropped == 2);
  CHECK(bench.left.figures().tx_packets == 0);
}

}  // namespace tapestry::tests::veth_test
