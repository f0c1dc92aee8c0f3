// Two machines on a wire that speak UDP.
#include "net/udp.hpp"

#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "net/headers.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::udp_test {
namespace {

using net::Endpoint;
using net::SocketStatus;
using net::UdpSocket;

constexpr std::uint16_t kPort = 5001;

TEST_CASE(
    "A datagram goes there and its echo comes back, in every settle mode at the same instant") {
  std::vector<std::int64_t> done_at;
  for (const auto mode : kSettleModes) {
    World world(mode, net_costs());
    NetPair net(world);
    net.b.process("server", [&] {
      const auto socket = net.b.stack.udp().open();
      REQUIRE(socket->bind({{}, kPort}) == SocketStatus::ok);
      std::vector<std::uint8_t> buffer(2000);
      for (int i = 0; i < 10; ++i) {
        const UdpSocket::Received got = socket->receive(buffer);
        REQUIRE(got.status == SocketStatus::ok);
        CHECK(got.flow == 7);
        socket->send_to(got.from, std::span(buffer).first(got.length), got.flow);
      }
    });
    net.a.process("client", [&] {
      const auto socket = net.a.stack.udp().open();
      REQUIRE(socket->connect({net.b.own(), kPort}) == SocketStatus::ok);
      std::vector<std::uint8_t> buffer(2000);
      for (std::uint32_t i = 0; i < 10; ++i) {
        const auto request = pattern(100 + 137 * i, i);
        REQUIRE(socket->send(request, 7) == SocketStatus::ok);
        const UdpSocket::Received got = socket->receive(buffer);
        CHECK(got.from == Endpoint{net.b.own(), kPort});
        CHECK(std::vector(buffer.begin(), buffer.begin() + static_cast<int>(got.length)) ==
              request);
      }
      net.a.machine.cpu().settle();
      done_at.push_back(world.now_ns());
    });
    world.run();
    CHECK(ledger_is_closed(world));
    CHECK(world.packets.in_use() == 0);
    CHECK(net.b.stack.udp().figures().in_datagrams == 10);
  }
  REQUIRE(done_at.size() == 3);
  CHECK(done_at[0] == done_at[1]);
  CHECK(done_at[0] == done_at[2]);
}

// --- addresses and ports -------------------------------------------------------------------------

TEST_CASE("Ports belong to whoever binds them first, on the addresses that it binds") {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.process("binder", [&] {
    net::Udp& udp = m.stack.udp();
    const auto all = udp.open(), one = udp.open(), other = udp.open(), third = udp.open();
    CHECK(one->bind({m.own(), 80}) == SocketStatus::ok);
    CHECK(all->bind({{}, 80}) == SocketStatus::in_use);
    CHECK(other->bind({m.own(), 80}) == SocketStatus::in_use);
    CHECK(other->bind({{0x7f000001}, 80}) == SocketStatus::ok);
    CHECK(third->bind({{0x08080808}, 81}) == SocketStatus::unreachable);
    CHECK(all->bind({{}, 0}) == SocketStatus::ok);
    CHECK(all->local().port == 32768);
    CHECK(third->connect({m.own(), 80}) == SocketStatus::ok);
    CHECK(third->local() == Endpoint{m.own(), 32769});
    {
      const auto short_lived = udp.open();
      CHECK(short_lived->bind({{}, 90}) == SocketStatus::ok);
    }
    const auto next = udp.open();
    CHECK(next->bind({{}, 90}) == SocketStatus::ok);
  });
  world.run();
}

TEST_CASE("Ephemeral ports run out after 28,232 of them") {
  World world(sched::SettleMode::seams);
  auto& m = world.make<NetMachine>(world, 1u);
  m.process("binder", [&] {
    std::vector<std::unique_ptr<UdpSocket>> sockets;
    for (int i = 32768; i <= 60999; ++i) {
      sockets.push_back(m.stack.udp().open());
      if (sockets.back()->bind({}) != SocketStatus::ok) FAIL("port " << i);
    }
    CHECK(m.stack.udp().open()->bind({}) == SocketStatus::in_use);
    sockets[100].reset();
    const auto last = m.stack.udp().open();
    CHECK(last->bind({}) == SocketStatus::ok);
    CHECK(last->local().port == 32868);
  });
  world.run();
}

TEST_CASE("A connected socket hears its peer only, and the best match gets the datagram") {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.process("sockets", [&] {
    net::Udp& udp = m.stack.udp();
    const auto anyone = udp.open(), peer = udp.open(), stranger = udp.open();
    anyone->bind({m.own(), kPort});
    peer->bind({m.own(), 2000});
    stranger->bind({m.own(), 3000});
    const auto connected = udp.open();
    connected->bind({{0x7f000001}, kPort});
    REQUIRE(connected->connect({m.own(), 2000}) == SocketStatus::ok);
    peer->send_to(connected->local(), pattern(1));
    stranger->send_to(connected->local(), pattern(2));
    stranger->send_to({m.own(), kPort}, pattern(3));
    std::vector<std::uint8_t> buffer(10);
    CHECK(connected->receive(buffer).length == 1);
    CHECK_FALSE(connected->readable());
    CHECK(anyone->receive(buffer).length == 3);
  });
  world.run();
  CHECK(drops(world, core::DropReason::no_socket) == 1);
  CHECK(ledger_is_closed(world));
}

TEST_CASE("What cannot be sent is refused at once") {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.process("sender", [&] {
    const auto socket = m.stack.udp().open();
    CHECK(socket->send_to({m.own(), 9}, pattern(65'508)) == SocketStatus::too_long);
    CHECK(socket->send_to({{0x08080808}, 9}, pattern(10)) == SocketStatus::unreachable);
    CHECK(socket->connect({{0x08080808}, 9}) == SocketStatus::unreachable);
  });
  world.run();
  CHECK(m.stack.ipv4().figures().out_no_routes == 1);
  CHECK(world.packets.ledger().created(core::Origin::stack).packets == 0);
}

TEST_CASE("Datagrams of no bytes and of the most bytes arrive whole") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  NetPair net(world);
  net.ab.copies = GENERATE(false, true);
  net.b.process("server", [&] {
    const auto socket = net.b.stack.udp().open();
    socket->bind({{}, kPort});
    std::vector<std::uint8_t> buffer(65'536);
    for (const std::size_t length : {std::size_t{0}, std::size_t{65'507}}) {
      const auto got = socket->receive(buffer);
      CHECK(got.length == length);
      CHECK(std::equal(buffer.begin(), buffer.begin() + static_cast<int>(length),
                       pattern(length).begin()));
    }
  });
  net.a.process("client", [&] {
    const auto socket = net.a.stack.udp().open();
    socket->connect({net.b.own(), kPort});
    CHECK(socket->send({}) == SocketStatus::ok);
    CHECK(socket->send(pattern(65'507)) == SocketStatus::ok);
  });
  world.run();
  CHECK(ledger_is_closed(world));
  CHECK(world.packets.ledger().ended(core::Outcome::delivered).bytes == 65'507);
}

TEST_CASE("A datagram for a broadcast address reaches who is bound to every address") {
  World world(sched::SettleMode::seams, net_costs());
  NetPair net(world);
  std::vector<std::uint8_t> buffer(10);
  net.b.process("server", [&] {
    const auto socket = net.b.stack.udp().open();
    socket->bind({{}, kPort});
    CHECK(socket->receive(buffer).length == 5);
    CHECK(socket->receive(buffer).length == 6);
  });
  net.a.process("client", [&] {
    const auto socket = net.a.stack.udp().open();
    socket->send_to({NetMachine::address(255), kPort}, pattern(5));
    socket->send_to({{0xffffffff}, kPort}, pattern(6));
    socket->send_to({NetMachine::address(255), 8}, pattern(5));  // no ICMP about broadcasts
  });
  world.run();
  CHECK(net.b.driver.sent.empty());
  CHECK(net.a.driver.sent[0].bytes[0] == 0xff);
}

// --- checksums -----------------------------------------------------------------------------------

TEST_CASE("What becomes of a checksum between two machines") {
  struct Row {
    const char* what;
    bool sender_offloads;
    bool marks_arrive;
    bool receiver_checked;  // CHECKSUM_UNNECESSARY
    bool delivered;
  };
  const auto row = GENERATE(values<Row>({
      {"computed in software, checked in software", false, false, false, true},
      {"left to a device that did it, checked by the other", false, false, true, true},
      {"unfinished, and the receiver knows", true, true, false, true},
      {"unfinished, and nobody told the receiver", true, false, false, false},
  }));
  CAPTURE(row.what);
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  NetPair net(world);
  net.skip_arp();
  net.a.driver.offers.transmit_checksum = row.sender_offloads;
  net.ab.carries_marks = row.marks_arrive;
  std::uint64_t received = 0;
  net.b.process("server", [&] {
    const auto socket = net.b.stack.udp().open();
    socket->bind({{}, kPort});
    std::vector<std::uint8_t> buffer(2000);
    const auto got = socket->receive(buffer, core::kStart + core::Nanos{5'000'000});
    if (got.status == SocketStatus::ok) ++received;
  });
  net.a.process("client", [&] {
    const auto socket = net.a.stack.udp().open();
    socket->send_to({net.b.own(), kPort}, pattern(1001));
  });
  if (row.receiver_checked) {
    net.b.device.set_receive_handler([](core::PacketPtr packet) {
      packet->checksum = core::ChecksumState::unnecessary;
      return packet;
    });
  }
  world.run();
  CHECK(received == (row.delivered ? 1 : 0));
  CHECK(drops(world, core::DropReason::udp_csum) == (row.delivered ? 0 : 1));
  CHECK(net.b.stack.udp().figures().in_csum_errors == (row.delivered ? 0 : 1));
  const bool looked = !row.receiver_checked && !row.marks_arrive;
  const auto cost = net.b.machine.scheduler.cpu(0).usage().of(sched::Work::checksum);
  CHECK((cost.count() > 0) == looked);
  CHECK(ledger_is_closed(world));
}

}  // namespace
}  // namespace tapestry::tests::udp_test
