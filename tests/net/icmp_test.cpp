// Echoes, and the news that nobody listens.
#include "net/icmp.hpp"

#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "net/headers.hpp"
#include "net/ping.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::icmp_test {
namespace {

using net::PingSocket;
using net::SocketStatus;

TEST_CASE(
    "A ping of any size comes back intact, with its round trip, in every settle mode the same") {
  const std::size_t bytes = GENERATE(0u, 56u, 1472u, 1473u, 65'507u);
  std::vector<std::int64_t> round_trips;
  for (const auto mode : kSettleModes) {
    World world(mode, net_costs());
    NetPair net(world);
    net.b.process("opener", [] {});
    net.a.process("ping", [&] {
      PingSocket socket(net.a.stack);
      REQUIRE(socket.open(5) == SocketStatus::ok);
      for (std::uint16_t sequence = 1; sequence <= 3; ++sequence) {
        REQUIRE(socket.send(net.b.own(), sequence, bytes) == SocketStatus::ok);
        const PingSocket::Reply reply = socket.receive();
        CHECK(reply.sequence == sequence);
        CHECK(reply.bytes == bytes);
        CHECK(reply.intact);
        CHECK(reply.time_to_live == 64);
        CHECK(reply.from == net.b.own());
        CHECK_FALSE(reply.duplicate);
        REQUIRE(reply.has_round_trip);
        CHECK(reply.round_trip.count() > 1000);  // twice the wire
        round_trips.push_back(reply.round_trip.count());
      }
    });
    world.run();
    CHECK(net.b.stack.icmp().figures().in_echo_requests == 3);
    CHECK(net.b.stack.icmp().figures().out_echo_replies == 3);
    CHECK(net.a.stack.icmp().figures().in_echo_replies == 3);
    CHECK(ledger_is_closed(world));
    CHECK(world.packets.in_use() == 0);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(round_trips[i] == round_trips[i + 3]);
    CHECK(round_trips[i] == round_trips[i + 6]);
  }
}

TEST_CASE("A machine answers its own pings through its backlog") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  int replies = 0;
  m.process("ping", [&] {
    PingSocket socket(m.stack);
    socket.open(5);
    for (const net::Ipv4Address to : {m.own(), net::Ipv4Address{0x7f000001}}) {
      socket.send(to, 1, 2000);
      replies += socket.receive().intact ? 1 : 0;
    }
  });
  world.run();
  CHECK(replies == 2);
  CHECK(m.driver.sent.empty());
  CHECK(m.machine.napi.figures(0).processed == 4);
  CHECK(ledger_is_closed(world));
}

TEST_CASE(
    "A reply that does not come is waited for until the deadline, one that comes twice is told") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  NetPair net(world);
  net.skip_arp();
  int frames = 0;
  net.ba.passes = [&](const core::Packet&) { return ++frames != 1; };
  net.b.process("opener", [] {});
  net.a.process("ping", [&] {
    PingSocket socket(net.a.stack);
    socket.open(5);
    socket.send(net.b.own(), 1, 56);
    const core::Instant limit = core::kStart + core::Nanos{50'000'000};
    CHECK(socket.receive(limit).status == SocketStatus::timed_out);
    CHECK(world.timeline.now() >= limit);
    CHECK(socket.receive(world.timeline.now()).status == SocketStatus::would_block);
    socket.send(net.b.own(), 2, 56);
    socket.send(net.b.own(), 2, 56);  // the same number again
    CHECK_FALSE(socket.receive().duplicate);
    CHECK(socket.receive().duplicate);
  });
  world.run();
  CHECK(ledger_is_closed(world));
}

TEST_CASE("Ping sockets are told apart by their number") {
  World world(sched::SettleMode::seams, net_costs());
  NetPair net(world);
  net.b.process("opener", [] {});
  net.a.process("ping", [&] {
    PingSocket first(net.a.stack), second(net.a.stack);
    CHECK(first.open(1) == SocketStatus::ok);
    CHECK(second.open(1) == SocketStatus::in_use);
    CHECK(second.open(2) == SocketStatus::ok);
    CHECK(second.send({0x08080808}, 1, 56) == SocketStatus::unreachable);
    CHECK(second.send(net.b.own(), 1, PingSocket::kPayloadMax + 1) == SocketStatus::too_long);
    second.send(net.b.own(), 9, 56);
    CHECK(second.receive().sequence == 9);
    const core::Instant soon = world.timeline.now() + core::Nanos{1'000'000};
    CHECK(first.receive(soon).status == SocketStatus::timed_out);
    {
      PingSocket gone(net.a.stack);
      gone.open(3);
      gone.send(net.b.own(), 1, 56);
    }
  });
  world.run();
  CHECK(drops(world, core::DropReason::no_socket) == 1);
  CHECK(ledger_is_closed(world));
}

TEST_CASE(
    "Who sends to a port where nobody listens is told so: six times at once, then one a second") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, net_costs());
  NetPair net(world);
  net.b.process("opener", [] {});
  net.a.process("sender", [&] {
    const auto socket = net.a.stack.udp().open();
    for (int i = 0; i < 20; ++i)
      socket->send_to({net.b.own(), 7}, pattern(1000));
    net.a.machine.scheduler.sleep_until(core::kStart + core::Nanos{1'100'000'000});
    for (int i = 0; i < 3; ++i)
      socket->send_to({net.b.own(), 7}, pattern(1000));
  });
  world.run();
  CHECK(net.b.stack.udp().figures().no_ports == 23);
  CHECK(drops(world, core::DropReason::no_socket) == 23);
  CHECK(net.b.stack.icmp().figures().out_unreachables == 7);
  CHECK(net.b.stack.icmp().figures().rate_limited == 16);
  CHECK(net.a.stack.icmp().figures().in_unreachables == 7);
  // ARP's reply, then the message: 576 bytes of IP at most, quoting what was received.
  REQUIRE(net.b.driver.sent.size() == 8);
  const auto& frame = net.b.driver.sent[1].bytes;
  CHECK(frame.size() == 14 + 576);
  CHECK(frame[34] == net::icmp::kUnreachable);
  CHECK(frame[35] == net::icmp::kPortUnreachable);
  CHECK(frame[42] == 0x45);
  CHECK(core::load_be32(&frame[42 + net::ipv4::kSource]) == net.a.own().value);
  CHECK(core::load_be16(&frame[62 + net::udp::kDestination]) == 7);
  CHECK(std::vector(frame.begin() + 70, frame.end()) == [] {
    auto payload = pattern(1000);
    payload.resize(576 - 20 - 8 - 20 - 8);
    return payload;
  }());
  CHECK(ledger_is_closed(world));
  CHECK(world.packets.in_use() == 0);
}

}  // namespace
}  // namespace tapestry::tests::icmp_test
