// What a card does by itself: cutting, summing, verifying, hashing; every instant on the wire
// exact.
#include <catch2/catch.hpp>
#include <vector>

#include "host/sim/nic.hpp"
#include "tests/support/net_world.hpp"
#include "tests/support/tcp_frames.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::nic_offload_test {
namespace {

using core::ChecksumState;
using core::PacketPtr;
using host::sim::Link;
using host::sim::LinkOptions;
using host::sim::Nic;
using host::sim::NicOptions;

constexpr NicOptions kCuts{.transmit_checksum = true, .segmentation = true};

struct Bench {
  explicit Bench(NicOptions left_options = kCuts, NicOptions right_options = {},
                 LinkOptions link_options = {.delay = core::Nanos{0}})
      : world(sched::SettleMode::seams),
        machine(world.add_machine({.softirq_threads = false})),
        link(world.make<Link>(world.timeline, world.packets, "link", link_options)),
        left(world.make<Nic>(world.timeline, world.packets, left_options)),
        right(world.make<Nic>(world.timeline, world.packets, right_options)) {
    left.connect(link, Link::End::a);
    right.connect(link, Link::End::b);
    host::NicPort port = right.port();
    while (!port.receive_ring.full())
      port.receive_ring.fill(world.packets.allocate(core::Origin::host_copy));
    port.receive_doorbell.ring(port.receive_ring.head());
  }
  void send(PacketPtr packet) {
    host::NicPort port = left.port();
    port.transmit_ring.fill(std::move(packet));
    port.transmit_doorbell.ring(port.transmit_ring.head());
  }
  void wait_until(std::int64_t instant_ns) {
    world.at(instant_ns, [] {});
    world.run_until(instant_ns);
  }
  struct Taken {
    TcpView view;
    ChecksumState checksum;
    std::uint32_t hash;
  };
  std::vector<Taken> take() {
    std::vector<Taken> taken;
    host::NicPort port = right.port();
    while (port.receive_ring.oldest_is_done()) {
      PacketPtr packet = port.receive_ring.take_done();
      taken.push_back({TcpView(*packet), packet->checksum, packet->hash});
      core::deliver(std::move(packet));
    }
    return taken;
  }
  std::size_t clean() {
    std::size_t cleaned = 0;
    host::NicPort port = left.port();
    for (; port.transmit_ring.oldest_is_done(); ++cleaned)
      core::consume(port.transmit_ring.take_done());
    return cleaned;
  }

  World world;
  TestMachine& machine;
  Link& link;
  Nic& left;
  Nic& right;
};

// 14 + 20 + 20 + 1,446 = 1,500: with 24 on the wire 12,192 bits.
TcpFrame large(std::size_t payload) {
  TcpFrame frame;
  frame.payload = payload;
  return frame;
}

TEST_CASE("A packet that the card cuts takes the wire as its frames do, one behind the other") {
  Bench bench;
  bench.send(make_large_tcp(bench.world.packets, large(3 * 1446 + 100), 1446));
  struct Look {
    std::int64_t at_ns;
    std::size_t sent;
    std::size_t received;
  };
  // 10 Gbit/s: 1,219.2 ns a frame; the last one, 154 + 24 bytes, 142.4.
  for (const Look look :
       {Look{1'219, 0, 0}, Look{1'220, 0, 1}, Look{2'438, 0, 1}, Look{2'439, 0, 2},
        Look{3'657, 0, 2}, Look{3'658, 0, 3}, Look{3'799, 0, 3}, Look{3'800, 1, 4}}) {
    CAPTURE(look.at_ns);
    bench.wait_until(look.at_ns);
    CHECK(bench.left.port().transmit_ring.done_now(8) == look.sent);
    CHECK(bench.right.port().receive_ring.done_now(8) == look.received);
  }
  const auto frames = bench.take();
  REQUIRE(frames.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(frames[i].view.sequence() == 1000 + i * 1446);
    CHECK(frames[i].view.identification() == 5 + i);
    CHECK(frames[i].view.ip_checksum_is_right());
    CHECK(frames[i].view.checksum_is_right());
    CHECK(frames[i].view.payload_is_of_stream(1));
  }
  CHECK(bench.left.figures().tx_packets == 4);
  CHECK(bench.left.figures().tx_bytes == 3 * 1500 + 154);
  CHECK(bench.left.figures().tx_segmented == 1);
  CHECK(bench.link.figures(Link::End::a).frames == 4);
  CHECK(bench.clean() == 1);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("The frames of a cut packet have one place in the link's queue, or none") {
  Bench bench(kCuts, {}, {.delay = core::Nanos{0}, .queue_packets = 2});
  for (int i = 0; i < 3; ++i)
    bench.send(make_large_tcp(bench.world.packets, large(4 * 1446), 1446));
  bench.wait_until(100'000);
  CHECK(bench.take().size() == 8);
  CHECK(bench.link.figures(Link::End::a).queue_dropped == 4);
  CHECK(drops(bench.world, core::DropReason::link_queue) == 4);
  CHECK(bench.clean() == 3);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A frame between two cut packets keeps its turn") {
  Bench bench;
  bench.send(make_large_tcp(bench.world.packets, large(2 * 1446), 1446));
  bench.send(make_tcp(bench.world.packets, {.identification = 99, .payload = 10}));
  bench.send(make_large_tcp(bench.world.packets, large(2 * 1446), 1446));
  bench.wait_until(10'000);
  std::vector<std::uint16_t> identifications;
  for (const Bench::Taken& frame : bench.take())
    identifications.push_back(frame.view.identification());
  CHECK(identifications == std::vector<std::uint16_t>{5, 6, 99, 5, 6});
}

TEST_CASE(
    "The sender's card fills checksums in, the receiver's verifies them, each by its options") {
  struct Row {
    bool sums;
    bool verifies;
    bool partial;  // as the driver gives it; else finished by software
    bool spoilt;
    bool right;
    ChecksumState seen;
  };
  for (const Row row : {Row{true, true, true, false, true, ChecksumState::unnecessary},
                        Row{true, false, true, false, true, ChecksumState::none},
                        Row{false, true, false, false, true, ChecksumState::unnecessary},
                        Row{false, true, false, true, false, ChecksumState::none},
                        Row{false, false, false, false, true, ChecksumState::none}}) {
    CAPTURE(row.sums, row.verifies, row.partial, row.spoilt);
    Bench bench({.transmit_checksum = row.sums}, {.receive_checksum = row.verifies});
    PacketPtr packet = make_partial_tcp(bench.world.packets, large(700));
    if (!row.partial) net::finish_checksum(*packet);
    if (row.spoilt) packet->data()[51] ^= 1;
    bench.send(std::move(packet));
    bench.wait_until(10'000);
    const auto frames = bench.take();
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].view.checksum_is_right() == row.right);
    CHECK(frames[0].checksum == row.seen);
  }
}

TEST_CASE("A verified checksum is known as such also to a frame that waited for a buffer") {
  Bench bench({.transmit_checksum = true}, {.receive_descriptors = 8, .receive_checksum = true});
  bench.right.port().receive_ring.drop_all(core::DropReason::dev_ready);
  bench.send(make_partial_tcp(bench.world.packets, large(700)));
  host::NicPort port = bench.right.port();
  port.receive_ring.fill(bench.world.packets.allocate(core::Origin::host_copy));
  port.receive_doorbell.ring(port.receive_ring.head());
  bench.wait_until(10'000);
  const auto frames = bench.take();
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].checksum == ChecksumState::unnecessary);
}

TEST_CASE("Frames of one flow have one hash, and others another") {
  Bench bench({}, {.receive_hash = true});
  for (const int port : {100, 101, 100, 102}) {
    TcpFrame frame = large(100);
    frame.source_port = static_cast<std::uint16_t>(port);
    bench.send(make_tcp(bench.world.packets, frame));
  }
  bench.wait_until(10'000);
  const auto frames = bench.take();
  REQUIRE(frames.size() == 4);
  CHECK(frames[0].hash != 0);
  CHECK(frames[0].hash == frames[2].hash);
  CHECK(frames[0].hash != frames[1].hash);
  CHECK(frames[1].hash != frames[3].hash);
}

TEST_CASE(
    "The throttle register changes how long the card keeps quiet, from the next interrupt on") {
  Bench bench;
  auto& body =
      bench.world.make<Handler>([&] { bench.world.story.log(bench.machine.cpu(), "irq"); });
  bench.right.set_line(bench.machine.interrupts.add_line("rx", irq::Trigger::edge, body));
  bench.right.port().throttle->ring(3);
  bench.send(make_large_tcp(bench.world.packets, large(6 * 1446), 1446));  // 1220 ... 7316
  bench.world.run();
  CHECK_THAT(bench.world.story, Tells(R"(
      1220 cpu0 irq
      4220 cpu0 irq
      7220 cpu0 irq
     10220 cpu0 irq
  )"));
}

}  // namespace
}  // namespace tapestry::tests::nic_offload_test
