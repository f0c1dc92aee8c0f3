// IPv4 headers as they are written, and what is done with those that come in.
#include "net/ipv4.hpp"

#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/ping.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::ipv4_test {
namespace {

using core::DropReason;

using Bytes = std::vector<std::uint8_t>;

// A UDP datagram from 10.0.0.2:1000 to 10.0.0.1:9 with ten bytes, as a frame.
Bytes good_frame() {
  Bytes frame(14 + 20 + 8 + 10);
  const net::MacAddress to = net::MacAddress::local(1);
  std::copy(to.bytes.begin(), to.bytes.end(), frame.begin());
  core::store_be16(&frame[12], net::ethernet::kIpv4);
  core::store_be16(&frame[14], 0x4500);
  core::store_be16(&frame[16], 38);
  frame[22] = 64;
  frame[23] = net::ipv4::kUdp;
  core::store_be32(&frame[26], NetMachine::address(2).value);
  core::store_be32(&frame[30], NetMachine::address(1).value);
  core::store_be16(&frame[34], 1000);
  core::store_be16(&frame[36], 9);
  core::store_be16(&frame[38], 18);
  return frame;
}

void seal(Bytes& frame) {
  core::store_be16(&frame[24], 0);
  core::store_be16(&frame[24], core::internet_checksum({&frame[14], 20}));
}

core::PacketPtr packet_of(core::PacketPool& pool, const Bytes& frame, bool in_payload) {
  core::PacketPtr packet = pool.allocate(core::Origin::replay);
  if (in_payload) {
    core::PayloadRef payload = pool.allocate_payload(frame.size());
    std::copy(frame.begin(), frame.end(), payload.writable().begin());
    packet->append_payload(std::move(payload));
  } else {
    std::copy(frame.begin(), frame.end(), packet->put(frame.size()).begin());
  }
  packet->account(frame.size());
  return packet;
}

struct Verdict {
  std::uint64_t delivered = 0;
  std::optional<DropReason> dropped;
};

Verdict verdict_on(const Bytes& frame, bool in_payload) {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  Verdict verdict;
  const core::ProbeHandle watch = world.packets.ledger().on_drop.watch(
      [&](const core::Packet&, DropReason reason) { verdict.dropped = reason; });
  m.process("server", [&] {
    const auto socket = m.stack.udp().open();
    socket->bind({{}, 9});
    std::vector<std::uint8_t> buffer(100);
    if (socket->receive(buffer, core::kStart + core::Nanos{5'000'000}).length == 10)
      ++verdict.delivered;
  });
  world.at(1'000'000, [&] { m.driver.inject(packet_of(world.packets, frame, in_payload)); });
  world.run_until(10'000'000);
  CHECK(ledger_is_closed(world));
  return verdict;
}

TEST_CASE("A sound datagram is delivered, with padding and options too") {
  const bool in_payload = GENERATE(false, true);
  Bytes frame = good_frame();
  SECTION("as it is") { SUCCEED("nothing to change"); }
  SECTION("padded to Ethernet's minimum") {
    frame.resize(60);
    SUCCEED("zeros behind it");
  }
  SECTION("with options") {
    frame.insert(frame.begin() + 34, {1, 1, 1, 0});
    frame[14] = 0x46;
    core::store_be16(&frame[16], 42);
    core::store_be16(&frame[24], core::internet_checksum({&frame[14], 24}));
    CHECK(verdict_on(frame, in_payload).delivered == 1);
    return;
  }
  seal(frame);
  const Verdict verdict = verdict_on(frame, in_payload);
  CHECK(verdict.delivered == 1);
  CHECK_FALSE(verdict.dropped);
}

TEST_CASE("Each thing that can be wrong with a packet has its reason") {
  struct Row {
    const char* what;
    std::function<void(Bytes&)> spoil;
    bool sealed;
    DropReason reason;
  };
  const auto row = GENERATE(values<Row>({
      {"for another host", [](Bytes& f) { f[5] = 9; }, true, DropReason::otherhost},
      {"no room for a header", [](Bytes& f) { f.resize(14 + 19); }, false,
       DropReason::pkt_too_small},
      {"version 6", [](Bytes& f) { f[14] = 0x65; }, true, DropReason::ip_inhdr},
      {"a header of 16 bytes", [](Bytes& f) { f[14] = 0x44; }, true, DropReason::ip_inhdr},
      {"a flipped bit", [](Bytes& f) { f[22] ^= 1; }, false, DropReason::ip_csum},
      {"shorter than it says", [](Bytes& f) { core::store_be16(&f[16], 39); }, true,
       DropReason::pkt_too_small},
      {"a length below its header", [](Bytes& f) { core::store_be16(&f[16], 19); }, true,
       DropReason::ip_inhdr},
      {"not for us", [](Bytes& f) { f[33] = 77; }, true, DropReason::ip_inaddrerrors},
      {"from a multicast address", [](Bytes& f) { f[26] = 224; }, true,
       DropReason::ip_invalid_source},
      {"from ourselves", [](Bytes& f) { f[29] = 1; }, true, DropReason::ip_local_source},
      {"for a loopback address", [](Bytes& f) { f[30] = 127; }, true, DropReason::ip_localnet},
      {"a protocol that nobody speaks", [](Bytes& f) { f[23] = 132; }, true,
       DropReason::ip_noproto},
      {"a port where nobody listens", [](Bytes& f) { f[37] = 8; }, true, DropReason::no_socket},
      {"a UDP length beyond the packet", [](Bytes& f) { f[39] = 19; }, true,
       DropReason::pkt_too_small},
      {"a UDP length below its header", [](Bytes& f) { f[39] = 7; }, true,
       DropReason::pkt_too_small},
      {"a wrong UDP checksum", [](Bytes& f) { f[41] = 1; }, true, DropReason::udp_csum},
      {"an ICMP message with a wrong checksum", [](Bytes& f) { f[23] = 1; }, true,
       DropReason::icmp_csum},
      {"a fragment of nothing",
       [](Bytes& f) {
         core::store_be16(&f[16], 20);
         core::store_be16(&f[20], 0x2000);
       },
       true, DropReason::ip_inhdr},
  }));
  CAPTURE(row.what);
  Bytes frame = good_frame();
  seal(frame);
  row.spoil(frame);
  if (row.sealed) seal(frame);
  const Verdict verdict = verdict_on(frame, GENERATE(false, true));
  CHECK(verdict.delivered == 0);
  REQUIRE(verdict.dropped);
  CHECK(core::name_of(*verdict.dropped) == core::name_of(row.reason));
}

TEST_CASE("The header that is sent is right to the bit") {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.stack.arp().add(m.device, NetMachine::address(2), net::MacAddress::local(2));
  m.driver.offers.transmit_checksum = false;
  m.process("sender", [&] {
    const auto socket = m.stack.udp().open();
    socket->bind({{}, 0x1234});
    socket->send_to({NetMachine::address(2), 0x5678}, Bytes{'h', 'i', '!'});
  });
  world.run();
  const Bytes expected{0x02, 0x54, 0,    0,    0,    2,  // to
                       0x02, 0x54, 0,    0,    0,    1,  // from
                       0x08, 0x00,                       // IPv4
                       0x45, 0x00, 0x00, 0x1f,           // 31 bytes
                       0x00, 0x01, 0x40, 0x00,           // number 1, don't fragment
                       0x40, 0x11, 0x26, 0xcb,           // 64 hops, UDP, checksum
                       10,   0,    0,    1,    10,   0,    0,
                       2,    0x12, 0x34, 0x56, 0x78, 0x00, 0x0b,  // ports, 11 bytes
                       0xf9, 0xbf, 'h',  'i',  '!'};              // checksum, data
  REQUIRE(m.driver.sent.size() == 1);
  CHECK(m.driver.sent[0].bytes == expected);
}

TEST_CASE("Routes: on link, to ourselves, by the gateway, to everybody, or none") {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  net::Device& second = m.stack.add_device({.name = "eth1", .mac = net::MacAddress::local(50)});
  m.stack.set_address(second, {{0x0a010001}, 16});
  CHECK(m.stack.route(NetMachine::address(9))->device == &m.device);
  CHECK(m.stack.route(NetMachine::address(9))->next_hop == NetMachine::address(9));
  CHECK(m.stack.route({0x0a010909})->device == &second);
  CHECK(m.stack.route({0x0a010909})->source == net::Ipv4Address{0x0a010001});
  CHECK(m.stack.route(NetMachine::address(1))->device == nullptr);
  CHECK(m.stack.route({0x7f000001})->device == nullptr);
  CHECK(m.stack.route(NetMachine::address(255))->broadcast);
  CHECK(m.stack.route({0xffffffff})->broadcast);
  CHECK(m.stack.route({0xe0000001})->device == &m.device);
  CHECK_FALSE(m.stack.route({0x08080808}));
  m.stack.set_gateway(NetMachine::address(254));
  CHECK(m.stack.route({0x08080808})->next_hop == NetMachine::address(254));
  CHECK(m.stack.route({0x08080808})->source == NetMachine::address(1));
}

TEST_CASE("Addresses are printed as everybody prints them") {
  CHECK(net::Ipv4Address{0x0a4d0001}.text() == "10.77.0.1");
  CHECK(net::MacAddress::local(0x0102'03fe).text() == "02:54:01:02:03:fe");
  CHECK(net::MacAddress::broadcast().is_broadcast());
  CHECK(net::MacAddress::broadcast().is_multicast());
  const net::Ipv4Prefix prefix{{0x0a4d0001}, 24};
  CHECK(prefix.contains({0x0a4d00fe}));
  CHECK_FALSE(prefix.contains({0x0a4d0100}));
  CHECK(net::Ipv4Prefix{{1}, 0}.contains({0xdeadbeef}));
  CHECK_FALSE(net::Ipv4Prefix{{1}, 32}.contains({2}));
}

}  // namespace
}  // namespace tapestry::tests::ipv4_test
