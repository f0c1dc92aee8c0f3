// What the framework does for a device: offloads it lacks, taps, figures, the backlog.
#include "net/device.hpp"

#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::device_test {
namespace {

using core::ChecksumState;
using core::DropReason;

bool udp_checksum_is_right(const std::vector<std::uint8_t>& frame) {
  const std::span<const std::uint8_t> bytes(frame);
  core::InternetChecksum checksum;
  core::add_ipv4_pseudo_header(checksum, core::load_be32(&frame[26]), core::load_be32(&frame[30]),
                               net::ipv4::kUdp, static_cast<std::uint16_t>(frame.size() - 34));
  checksum.add(bytes.subspan(34));
  return checksum.finish() == 0;
}

struct One {
  explicit One(sched::SettleMode mode = sched::SettleMode::seams, net::StackOptions options = {})
      : world(mode, net_costs()),
        m(world.make<NetMachine>(world, 1u, TestMachineOptions{}, options)) {
    m.stack.arp().add(m.device, NetMachine::address(2), net::MacAddress::local(2));
  }
  sched::Usage& usage() { return m.machine.scheduler.cpu(0).usage(); }
  std::int64_t spent(sched::Work work) { return usage().of(work).count(); }

  World world;
  NetMachine& m;
};

TEST_CASE("A device that cannot compute checksums gets finished ones, and that costs") {
  const bool offload = GENERATE(true, false);
  One run;
  run.m.driver.offers.transmit_checksum = offload;
  ChecksumState seen{};
  const core::ProbeHandle watch = run.m.device.on_frame.watch(
      [&](const core::Packet& packet, core::Direction) { seen = packet.checksum; });
  run.m.process("sender", [&] {
    const auto socket = run.m.stack.udp().open();
    socket->send_to({NetMachine::address(2), 9}, pattern(999));
  });
  run.world.run();
  REQUIRE(run.m.driver.sent.size() == 1);
  CHECK(udp_checksum_is_right(run.m.driver.sent[0].bytes) == !offload);
  CHECK(seen == (offload ? ChecksumState::partial : ChecksumState::none));
  // 10 ns and 0.1 ns for each of 1,007 bytes
  CHECK(run.spent(sched::Work::checksum) == (offload ? 0 : 111));
}

TEST_CASE(
    "A packet in several pieces is copied for a device without scatter-gather, a whole one not") {
  const bool scatter_gather = GENERATE(true, false);
  One run;
  run.m.driver.offers.scatter_gather = scatter_gather;
  run.m.process("sender", [&] {
    core::PacketPtr frame = make_frame(run.world.packets, 1, 100);
    run.m.device.transmit(std::move(frame));
    CHECK(run.spent(sched::Work::copy) == 0);
    frame = make_frame(run.world.packets, 2, 100);
    frame->append_payload(run.world.packets.allocate_payload(50));
    run.m.device.transmit(std::move(frame));
    CHECK(run.spent(sched::Work::copy) == (scatter_gather ? 0 : 28));  // 20 + 150 * 0.05, rounded
  });
  run.world.run();
}

TEST_CASE("A super-packet for a device without segmentation has nowhere to go yet") {
  One run;
  run.m.process("sender", [&] {
    core::PacketPtr frame = make_frame(run.world.packets, 1, 5000);
    frame->gso_size = 1448;
    frame->gso_type = core::GsoType::tcpv4;
    run.m.device.transmit(std::move(frame));
  });
  run.world.run();
  CHECK(drops(run.world, DropReason::skb_gso_seg) == 1);
  CHECK(run.m.device.figures().tx_dropped == 1);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("A device that is down takes nothing, and opening it twice opens it once") {
  One run;
  run.m.machine.spawn("sender", [&] {
    run.m.device.transmit(make_frame(run.world.packets, 1));
    CHECK(drops(run.world, DropReason::dev_ready) == 1);
    run.m.device.open();
    run.m.device.open();
    run.m.device.transmit(make_frame(run.world.packets, 2));
    run.m.device.close();
    run.m.device.close();
    run.m.device.transmit(make_frame(run.world.packets, 3));
    run.m.device.open();
    run.m.device.transmit(make_frame(run.world.packets, 4));
  });
  run.world.run();
  CHECK(run.m.driver.opens == 2);
  CHECK(run.m.driver.closes == 1);
  CHECK(run.m.driver.sent.size() == 2);
  CHECK(drops(run.world, DropReason::dev_ready) == 2);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("A queueless device has no queueing discipline and pays for itself") {
  One run;
  run.m.driver.offers.lockless = run.m.driver.offers.queueless = true;
  run.m.driver.reports_completions = false;
  run.m.process("sender", [&] {
    run.m.device.transmit(make_frame(run.world.packets, 1));
    run.m.driver.busy_times = 1;
    run.m.device.transmit(make_frame(run.world.packets, 2));  // there is nowhere to wait
  });
  run.world.run();
  CHECK(run.spent(sched::Work::qdisc) == 0);
  CHECK(run.spent(sched::Work::driver_transmit) == 0);
  CHECK(run.m.driver.sent.size() == 1);
  CHECK(run.m.device.figures().tx_dropped == 1);
  CHECK(ledger_is_closed(run.world));
}

// --- receiving -----------------------------------------------------------------------------------

TEST_CASE("A thousand frames wait in the backlog of a CPU, further ones are dropped") {
  const auto mode = GENERATE(from_range(kSettleModes));
  One run(mode);
  run.m.driver.without_napi = true;
  run.m.process("opener", [] {});
  run.world.at(1'000'000, [&] {
    for (std::uint32_t i = 0; i < 1007; ++i)
      run.m.driver.inject(make_frame(run.world.packets, i, 60, kPeerMac, kGuestMac));
  });
  run.world.run();
  CHECK(drops(run.world, DropReason::cpu_backlog) == 7);
  CHECK(drops(run.world, DropReason::unhandled_proto) == 1000);
  const irq::SoftnetFigures& softnet = run.m.machine.napi.figures(0);
  CHECK(softnet.processed == 1000);
  CHECK(softnet.dropped == 7);
  CHECK(run.m.device.figures().rx_packets == 1007);
  CHECK(run.m.device.figures().rx_dropped == 1007);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE(
    "Frames that are too short or of a protocol that nobody speaks are dropped for that reason") {
  One run;
  run.m.process("opener", [] {});
  run.world.at(1'000'000, [&] {
    core::PacketPtr stump = run.world.packets.allocate(core::Origin::replay);
    (void)stump->put(13);
    run.m.driver.inject(std::move(stump));
    run.m.driver.inject(make_frame(run.world.packets, 1));
  });
  run.world.run();
  CHECK(drops(run.world, DropReason::pkt_too_small) == 1);
  CHECK(run.m.device.figures().rx_errors == 1);
  CHECK(drops(run.world, DropReason::unhandled_proto) == 1);
  CHECK(run.m.device.figures().rx_dropped == 1);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("A receive handler may take the frame, or let it go on") {
  One run;
  int taken = 0;
  run.m.device.set_receive_handler([&](core::PacketPtr packet) {
    if (++taken == 2) return packet;
    core::deliver(std::move(packet));
    return core::PacketPtr();
  });
  run.m.process("opener", [] {});
  run.world.at(1'000'000, [&] {
    for (std::uint32_t i = 0; i < 3; ++i)
      run.m.driver.inject(make_frame(run.world.packets, i));
  });
  run.world.run();
  CHECK(taken == 3);
  CHECK(drops(run.world, DropReason::unhandled_proto) == 1);
  CHECK(run.world.packets.ledger().ended(core::Outcome::delivered).packets == 2);
}

TEST_CASE("The frame's address says whom it is for") {
  struct Row {
    Mac to;
    core::PacketType type;
  };
  const auto row = GENERATE(values<Row>({
      {kGuestMac, core::PacketType::host},
      {kPeerMac, core::PacketType::otherhost},
      {Mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, core::PacketType::broadcast},
      {Mac{0x01, 0x00, 0x5e, 0, 0, 1}, core::PacketType::multicast},
  }));
  One run;
  core::PacketType seen{};
  const core::ProbeHandle watch =
      run.m.device.on_frame.watch([&](const core::Packet& packet, core::Direction direction) {
        CHECK(direction == core::Direction::incoming);
        seen = packet.packet_type;
      });
  run.m.process("opener", [] {});
  run.world.at(1'000'000, [&] {
    run.m.driver.inject(make_frame(run.world.packets, 1, 60, kPeerMac, row.to));
  });
  run.world.run();
  CHECK(seen == row.type);
}

// --- taps ----------------------------------------------------------------------------------------

class CountingTap final : public net::Device::Tap {
 public:
  CountingTap(World& world, NetMachine& m) : world_(world), m_(m) {}
  bool frame(const core::Packet& packet, core::Direction direction) override {
    world_.timeline.require_settled("a tap");
    World::spend(m_.machine.cpu(), 1'000);
    ++(direction == core::Direction::incoming ? incoming : outgoing);
    bytes += packet.length();
    return false;
  }
  int incoming = 0, outgoing = 0;
  std::size_t bytes = 0;

 private:
  World& world_;
  NetMachine& m_;
};

TEST_CASE("Taps see both directions, on the CPU's time, until they are removed") {
  const auto mode = GENERATE(from_range(kSettleModes));
  One run(mode);
  auto& tap = run.world.make<CountingTap>(run.world, run.m);
  run.m.process("sender", [&] {
    run.m.device.add_tap(tap);
    const std::int64_t before = run.world.now_ns();
    run.m.device.transmit(make_frame(run.world.packets, 1, 100));
    CHECK(run.world.now_ns() - before > 1'000);
    run.m.machine.scheduler.sleep_until(core::kStart + core::Nanos{2'000'000});
    run.m.device.remove_tap(tap);
    run.m.device.transmit(make_frame(run.world.packets, 2, 100));
  });
  run.world.at(1'000'000, [&] { run.m.driver.inject(make_frame(run.world.packets, 3, 70)); });
  run.world.run();
  CHECK(tap.outgoing == 1);
  CHECK(tap.incoming == 1);
  CHECK(tap.bytes == 170);
}

TEST_CASE("Removing a tap waits for the CPU that is in it") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  auto& m = world.make<NetMachine>(world, 1u, TestMachineOptions{.cpus = 2});
  class SlowTap final : public net::Device::Tap {
   public:
    explicit SlowTap(NetMachine& m) : m_(m) {}
    bool frame(const core::Packet&, core::Direction) override {
      inside = true;
      World::spend(m_.machine.cpu(), 5'000'000);
      inside = false;
      return false;
    }
    bool inside = false;

   private:
    NetMachine& m_;
  };
  auto& tap = world.make<SlowTap>(m);
  m.process("sender", [&] {
    m.device.add_tap(tap);
    m.device.transmit(make_frame(world.packets, 1));
  });
  m.process("remover", [&] {
    m.machine.scheduler.sleep_until(core::kStart + core::Nanos{1'000'000});
    CHECK(tap.inside);
    m.device.remove_tap(tap);
    CHECK_FALSE(tap.inside);
    CHECK(world.now_ns() >= 5'000'000);
  });
  world.run();
}

}  // namespace
}  // namespace tapestry::tests::device_test
