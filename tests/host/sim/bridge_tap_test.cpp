// Why receiving collapses: a card's driver merges segments, a bridge forwards what it merged, and
// the tap's device takes it whole, because somebody said so who has long gone.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "host/sim/tap.hpp"
#include "net/bridge.hpp"
#include "tests/host/host_world.hpp"
#include "tests/support/tcp_frames.hpp"

namespace tapestry::tests::bridge_tap_test {
namespace {

using core::ChecksumState;
using host::sim::TapOffloads;

constexpr TapOffloads kAll{.checksum = true, .tcp4_segmentation = true};
constexpr std::size_t kMtuBuffer = 1514;
constexpr std::size_t kLargeBuffer = 65'536;

struct Read {
  std::vector<std::uint8_t> bytes;
  bool truncated;
  std::uint16_t gso_size;
  ChecksumState checksum;
};

struct Bench {
  Bench()
      : world(sched::SettleMode::seams),
        host(world.make<HostMachine>(world)),
        wire(host.add_device("eth0")),
        tap_device(host.add_device("tap0")),
        bridge_device(host.add_device("docker0")),
        card(world.make<FakeDriver>(wire, host.machine.interrupts)),
        tap(world.make<host::sim::Tap>(tap_device, host::sim::TapOptions{})),
        bridge(world.make<net::Bridge>(bridge_device)) {
    card.offers = {.scatter_gather = true, .receive_checksum = true, .gro = true};
  }
  // `segments` of a stream arrive at the card in one poll; all that a reader gets of it then.
  std::vector<Read> receive(std::size_t segments, std::optional<TapOffloads> formerly,
                            bool vnet_header, std::size_t buffer) {
    if (formerly) REQUIRE(tap.set_offloads(*formerly));
    host.run([&] {
      bridge.add_port(wire);
      bridge.add_port(tap_device);
      for (net::Device* device : {&wire, &tap_device, &bridge_device})
        device->open();
    });
    auto reader = tap.open_reader(vnet_header);
    world.at(world.now_ns() + 1000, [&] {
      for (std::size_t i = 0; i < segments; ++i)
        card.inject(
            make_tcp(world.packets, {.sequence = 1000 + static_cast<std::uint32_t>(1448 * i),
                                     .identification = static_cast<std::uint16_t>(i),
                                     .from = {0x02, 0x77, 0, 0, 0, 1},
                                     .to = {0x02, 0x77, 0, 0, 0, 2}}));
    });
    world.run();
    std::vector<Read> reads;
    host.run([&] {
      for (;;) {
        host::ReceiveSlot slot{.packet = world.packets.allocate(core::Origin::host_copy),
                               .capacity = buffer};
        if (reader->receive({&slot, 1}).count == 0) {
          core::consume(std::move(slot.packet));
          break;
        }
        reads.push_back(
            {bytes_of(*slot.packet), slot.truncated, slot.packet->gso_size, slot.packet->checksum});
        core::deliver(std::move(slot.packet));
      }
    });
    reader.reset();
    return reads;
  }

  World world;
  HostMachine& host;
  net::Device& wire;
  net::Device& tap_device;
  net::Device& bridge_device;
  FakeDriver& card;
  host::sim::Tap& tap;
  net::Bridge& bridge;
};

TEST_CASE("Behind a bridge a tap that nobody told of offloads gives its reader frames of one MTU") {
  Bench bench;
  const auto reads = bench.receive(4, std::nullopt, false, kMtuBuffer);
  REQUIRE(reads.size() == 4);
  for (const Read& read : reads) {
    const TcpView view(read.bytes);
    CHECK_FALSE(read.truncated);
    CHECK(view.payload() == 1448);
    CHECK(view.checksum_is_right());
    CHECK(view.payload_is_of_stream(1));
  }
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE(
    "Offloads that stayed on give a legacy reader the head of a super-frame, and no checksum") {
  Bench bench;
  const auto reads = bench.receive(4, kAll, false, kMtuBuffer);
  REQUIRE(reads.size() == 1);
  const TcpView view(reads[0].bytes);
  CHECK(reads[0].truncated);
  CHECK(reads[0].bytes.size() == kMtuBuffer);
  CHECK(view.total_length() == 40 + 4 * 1448);  // more than there is: the guest throws it away
  CHECK(reads[0].gso_size == 0);
  CHECK_FALSE(view.checksum_is_right());
  CHECK(bench.world.packets.close().truncated.bytes == 54 + 4 * 1448 - kMtuBuffer);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A single segment survives even there: that is all that trickles through") {
  Bench bench;
  const auto reads = bench.receive(1, kAll, false, kMtuBuffer);
  REQUIRE(reads.size() == 1);
  CHECK_FALSE(reads[0].truncated);
  CHECK(TcpView(reads[0].bytes).checksum_is_right());
}

TEST_CASE("A reader with a virtual header and a large buffer gets the super-frame, and is told") {
  Bench bench;
  const auto reads = bench.receive(4, kAll, true, kLargeBuffer);
  REQUIRE(reads.size() == 1);
  CHECK_FALSE(reads[0].truncated);
  CHECK(TcpView(reads[0].bytes).payload() == 4 * 1448);
  CHECK(reads[0].gso_size == 1448);
  CHECK(reads[0].checksum == ChecksumState::partial);
}

TEST_CASE("With a virtual header but an MTU's buffer the reader is told and still loses the rest") {
  Bench bench;
  const auto reads = bench.receive(4, kAll, true, 1562);  // the vector driver's, without gro
  REQUIRE(reads.size() == 1);
  CHECK(reads[0].truncated);
  CHECK(reads[0].gso_size == 1448);
}

}  // namespace
}  // namespace tapestry::tests::bridge_tap_test
