// Finding a neighbour's link address: asking, waiting, giving up, learning.
#include "net/arp.hpp"

#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "net/headers.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::arp_test {
namespace {

using core::DropReason;
using net::Ipv4Address;
using net::MacAddress;

bool is_arp(const core::Packet& packet) { return packet.protocol == net::ethernet::kArp; }

// An ARP frame from the outside.
core::PacketPtr arp_frame(core::PacketPool& pool, std::uint16_t operation, MacAddress sender_mac,
                          Ipv4Address sender, Ipv4Address target) {
  core::PacketPtr packet = pool.allocate(core::Origin::replay);
  std::uint8_t* frame = packet->put(42).data();
  std::fill(frame, frame + 42, std::uint8_t{0});
  std::fill(frame, frame + 6, std::uint8_t{0xff});
  std::copy(sender_mac.bytes.begin(), sender_mac.bytes.end(), frame + 6);
  core::store_be16(frame + 12, net::ethernet::kArp);
  core::store_be32(frame + 14, net::arp::kEthernetAndIpv4);
  core::store_be16(frame + 18, net::arp::kLengths);
  core::store_be16(frame + 20, operation);
  std::copy(sender_mac.bytes.begin(), sender_mac.bytes.end(), frame + 22);
  core::store_be32(frame + 28, sender.value);
  core::store_be32(frame + 38, target.value);
  return packet;
}

struct Asker {
  explicit Asker(sched::SettleMode mode = sched::SettleMode::seams, net::StackOptions options = {})
      : world(mode, net_costs()),
        m(world.make<NetMachine>(world, 1u, TestMachineOptions{}, options)) {}

  void send(std::uint32_t to, std::size_t bytes = 100) {
    const auto socket = m.stack.udp().open();
    socket->send_to({NetMachine::address(to), 9}, pattern(bytes));
  }
  net::ArpTable& arp() { return m.stack.arp(); }

  World world;
  NetMachine& m;
};

TEST_CASE("The first packet waits for one request and one reply, which both sides learn from") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, net_costs());
  NetPair net(world);
  net.b.process("opener", [] {});
  net.a.process("sender", [&] {
    const auto socket = net.a.stack.udp().open();
    for (int i = 0; i < 3; ++i)
      socket->send_to({net.b.own(), 9}, pattern(100));
  });
  world.run();
  REQUIRE(net.a.driver.sent.size() == 4);
  CHECK(net.a.driver.sent[0].length == 42);
  CHECK(net.a.stack.arp().figures().requests_out == 1);
  CHECK(net.a.stack.arp().figures().replies_in == 1);
  CHECK(net.b.stack.arp().figures().replies_out == 1);
  CHECK(net.a.stack.arp().look_up(net.b.own()) == net.b.device.mac());
  CHECK(net.b.stack.arp().look_up(net.a.own()) == net.a.device.mac());
  CHECK(net.b.stack.arp().figures().requests_out == 0);  // for the ICMP that says: nobody there
  CHECK(net.b.stack.udp().figures().no_ports == 3);
  CHECK(ledger_is_closed(world));
}

TEST_CASE("Nobody answers: three requests a second apart, then what waited is dropped") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Asker run(mode);
  run.m.process("sender", [&] {
    run.send(7);
    run.send(7);
  });
  CHECK(run.world.run() == sched::Hub::Stop::quiet);
  REQUIRE(run.m.driver.sent.size() == 3);
  CHECK(core::nanos_since_start(run.m.driver.sent[1].at) / 1'000'000'000 == 1);
  CHECK(core::nanos_since_start(run.m.driver.sent[2].at) / 1'000'000'000 == 2);
  CHECK(run.world.now_ns() / 1'000'000'000 == 3);
  CHECK(drops(run.world, DropReason::neigh_failed) == 2);
  CHECK(run.arp().figures().failed == 1);
  CHECK(ledger_is_closed(run.world));
  CHECK(run.world.packets.in_use() == 0);

  run.m.process("again", [&] { run.send(7); });  // starts anew
  run.world.run_until(3'500'000'000);
  CHECK(run.m.driver.sent.size() == 4);
}

TEST_CASE("A lost request is repeated, and what waited goes out in order") {
  World world(sched::SettleMode::seams, net_costs());
  NetPair net(world);
  int lost = 0;
  net.ab.passes = [&](const core::Packet& packet) { return !is_arp(packet) || ++lost > 1; };
  std::vector<std::uint8_t> first_bytes;
  net.b.process("server", [&] {
    const auto socket = net.b.stack.udp().open();
    socket->bind({{}, 9});
    std::vector<std::uint8_t> buffer(2000);
    for (int i = 0; i < 5; ++i) {
      socket->receive(buffer);
      first_bytes.push_back(buffer[0]);
    }
  });
  net.a.process("sender", [&] {
    const auto socket = net.a.stack.udp().open();
    for (std::uint8_t i = 0; i < 5; ++i)
      socket->send_to({net.b.own(), 9}, std::vector<std::uint8_t>{i});
  });
  world.run();
  CHECK(first_bytes == std::vector<std::uint8_t>{0, 1, 2, 3, 4});
  CHECK(world.now_ns() > 1'000'000'000);
  CHECK(ledger_is_closed(world));
}

TEST_CASE("Who waits is bounded in memory, and the oldest gives way") {
  Asker run(sched::SettleMode::seams, {.unresolved_queue_bytes = 3 * 2304});
  run.m.process("sender", [&] {
    for (int i = 0; i < 5; ++i)
      run.send(7, 1400);
    CHECK(drops(run.world, DropReason::neigh_queuefull) == 2);
    CHECK(run.arp().figures().unresolved_discards == 2);
  });
  run.world.run();
  CHECK(drops(run.world, DropReason::neigh_failed) == 3);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("The table is bounded, and neighbours that never answered make room") {
  Asker run;
  run.m.process("sender", [&] {
    for (std::uint32_t i = 0; i < net::ArpTable::kEntriesMax - 1; ++i)
      run.arp().add(run.m.device, {0x0b000000u + i}, MacAddress::local(i));
    run.send(7);
    run.send(8);
    CHECK(drops(run.world, DropReason::neigh_createfail) == 1);
    CHECK(run.arp().figures().table_full == 1);
  });
  run.world.run();
  run.m.process("later", [&] {
    run.send(8);  // takes the place of the one that failed
    CHECK(drops(run.world, DropReason::neigh_createfail) == 1);
    CHECK(run.arp().entries() == net::ArpTable::kEntriesMax);
  });
  run.world.run();
  CHECK(drops(run.world, DropReason::neigh_failed) == 2);
}

TEST_CASE("What a table learns from frames that come in") {
  struct Row {
    const char* what;
    std::uint16_t operation;
    MacAddress mac;
    std::uint32_t sender;
    std::uint32_t target;
    bool known_before;
    std::optional<MacAddress> known_after;
    std::size_t replies;
  };
  const MacAddress fresh = MacAddress::local(77);
  const MacAddress old = MacAddress::local(9);
  const auto row = GENERATE_REF(values<Row>({
      {"a request for us", net::arp::kRequest, fresh, 9, 1, false, fresh, 1},
      {"a request for somebody else", net::arp::kRequest, fresh, 9, 5, false, std::nullopt, 0},
      {"the same from somebody known", net::arp::kRequest, fresh, 9, 5, true, fresh, 0},
      {"a reply that nobody asked for", net::arp::kReply, fresh, 9, 1, false, std::nullopt, 0},
      {"a gratuitous reply from somebody known", net::arp::kReply, fresh, 9, 9, true, fresh, 0},
      {"a gratuitous request, unknown", net::arp::kRequest, fresh, 9, 9, false, std::nullopt, 0},
      {"a multicast link address", net::arp::kReply, MacAddress{{1, 0, 0x5e, 0, 0, 1}}, 9, 1, true,
       old, 0},
      {"the broadcast link address", net::arp::kRequest, MacAddress::broadcast(), 9, 1, true, old,
       0},
      {"an operation that is none", 9, fresh, 9, 1, true, old, 0},
  }));
  CAPTURE(row.what);
  Asker run(GENERATE(from_range(kSettleModes)));
  run.m.process("opener", [&] {
    if (row.known_before) run.arp().add(run.m.device, NetMachine::address(row.sender), old);
  });
  run.world.at(1'000'000, [&] {
    run.m.driver.inject(arp_frame(run.world.packets, row.operation, row.mac,
                                  NetMachine::address(row.sender),
                                  NetMachine::address(row.target)));
  });
  run.world.run();
  CHECK(run.arp().look_up(NetMachine::address(row.sender)) == row.known_after);
  CHECK(run.m.driver.sent.size() == row.replies);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("Nobody takes our own address, and a probe for it is answered but not learned from") {
  Asker run;
  run.m.process("opener", [] {});
  const Ipv4Address own = NetMachine::address(1);
  const MacAddress thief = MacAddress::local(66);
  run.world.at(1'000'000, [&] {
    run.m.driver.inject(arp_frame(run.world.packets, net::arp::kReply, thief, own, own));
    run.m.driver.inject(arp_frame(run.world.packets, net::arp::kRequest, thief, {}, own));
    core::PacketPtr stump = arp_frame(run.world.packets, net::arp::kRequest, thief, {}, own);
    stump->trim_to(30);
    run.m.driver.inject(std::move(stump));
  });
  run.world.run();
  CHECK_FALSE(run.arp().look_up(own));
  CHECK_FALSE(run.arp().look_up({}));
  CHECK(run.arp().figures().ignored == 2);
  CHECK(run.m.driver.sent.size() == 1);
  CHECK(ledger_is_closed(run.world));
}

}  // namespace
}  // namespace tapestry::tests::arp_test
