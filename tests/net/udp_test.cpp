// Two machines on a wire that speak UDP.
#include "net/udp.hpp"

#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "net/headers.hpp"
#include "net/socket_memory.hpp"
#include "sched/guards.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests {
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

// --- buffers -------------------------------------------------------------------------------------

TEST_CASE("A packet counts as much memory as Linux counts for it") {
  CHECK(net::socket_memory_bytes(1472) == 2304);
  CHECK(net::socket_memory_bytes(0) == 768);
  CHECK(net::socket_memory_bytes(1) == 768);
  CHECK(net::socket_memory_bytes(9000) == 12288 + 256);
  for (std::size_t length = 1; length < 66'000; ++length)
    REQUIRE(net::socket_memory_bytes(length) >= net::socket_memory_bytes(length - 1));
}

TEST_CASE("A full receive buffer drops what comes next, until somebody reads") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  NetPair net(world);
  net.skip_arp();
  net.b.process("server", [&] {
    const auto socket = net.b.stack.udp().open();
    socket->bind({{}, kPort});
    socket->set_receive_buffer(10 * 2304);
    net.b.machine.scheduler.sleep_until(core::kStart + core::Nanos{20'000'000});
    std::vector<std::uint8_t> buffer(2000);
    int got = 0;
    while (socket->readable()) {
      socket->receive(buffer);
      ++got;
    }
    CHECK(got == 11);  // the one that crosses the bound is taken
    CHECK(socket->figures().receive_buffer_errors == 19);
    CHECK(socket->figures().datagrams_in == 11);
  });
  net.a.process("client", [&] {
    const auto socket = net.a.stack.udp().open();
    for (int i = 0; i < 30; ++i)
      socket->send_to({net.b.own(), kPort}, pattern(1472));
  });
  world.run();
  CHECK(drops(world, core::DropReason::socket_rcvbuff) == 19);
  CHECK(net.b.stack.udp().figures().rcvbuf_errors == 19);
  CHECK(ledger_is_closed(world));
}

TEST_CASE(
    "A reader's buffer that is too short loses the rest of its datagram, and the ledger knows") {
  World world(sched::SettleMode::seams, net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.process("both", [&] {
    const auto socket = m.stack.udp().open();
    socket->bind({m.own(), kPort});
    socket->send_to(socket->local(), pattern(1000));
    std::vector<std::uint8_t> buffer(100);
    const auto got = socket->receive(buffer);
    CHECK(got.length == 1000);
    CHECK(buffer == [] {
      auto bytes = pattern(1000);
      bytes.resize(100);
      return bytes;
    }());
  });
  world.run();
  CHECK(world.packets.ledger().truncated().bytes == 900);
  CHECK(ledger_is_closed(world));
}

TEST_CASE(
    "A sender blocks while its send buffer is on its way, and is woken when half of it is free") {
  std::vector<std::int64_t> woken_at;
  for (const auto mode : kSettleModes) {
    World world(mode, net_costs());
    auto& m = world.make<NetMachine>(world, 1u);
    m.stack.arp().add(m.device, NetMachine::address(2), net::MacAddress::local(2));
    m.driver.frees_at_once = false;
    m.driver.reports_completions = false;
    std::vector<std::size_t> in_ring;
    m.process("sender", [&] {
      const auto socket = m.stack.udp().open();
      socket->set_send_buffer(8 * 2304);
      const Endpoint to{NetMachine::address(2), 9};
      for (int i = 0; i < 8; ++i)
        REQUIRE(socket->send_to(to, pattern(1472)) == SocketStatus::ok);
      CHECK(socket->send_to(to, pattern(1472), 0, true) == SocketStatus::would_block);
      CHECK_FALSE(socket->wait_writable(world.timeline.now()));
      CHECK(socket->send_to(to, pattern(1472)) == SocketStatus::ok);  // blocks
      in_ring.push_back(m.driver.in_ring());
      woken_at.push_back(world.now_ns());
    });
    m.process("completions", [&] {
      for (int i = 1; i <= 5; ++i) {
        m.machine.scheduler.sleep_until(core::kStart + core::Nanos{i * 1'000'000});
        m.driver.complete(1);
      }
    });
    world.run();
    CHECK(in_ring == std::vector<std::size_t>{5});  // four were left
    CHECK(woken_at.back() / 1'000'000 == 4);
    CHECK(ledger_is_closed(world));
  }
  CHECK(woken_at[0] == woken_at[1]);
  CHECK(woken_at[0] == woken_at[2]);
}

TEST_CASE("A socket may be closed while its packets are still on their way") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.stack.arp().add(m.device, NetMachine::address(2), net::MacAddress::local(2));
  m.driver.frees_at_once = false;
  m.process("sender", [&] {
    {
      const auto socket = m.stack.udp().open();
      for (int i = 0; i < 5; ++i)
        socket->send_to({NetMachine::address(2), 9}, pattern(3000));
    }
    m.machine.cpu().settle();
    m.driver.complete(1000);
    const sched::BottomHalvesOff softirqs(m.machine.cpu());
  });
  world.run();
  CHECK(ledger_is_closed(world));
}

TEST_CASE("Two readers of one socket share its datagrams, each wake-up wakes one") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  NetPair net(world, {.cpus = 2});
  net.skip_arp();
  std::unique_ptr<UdpSocket> socket;
  int got = 0;
  const auto reader = [&] {
    std::vector<std::uint8_t> buffer(2000);
    if (!socket) {
      socket = net.b.stack.udp().open();
      socket->bind({{}, kPort});
    }
    while (socket->receive(buffer, core::kStart + core::Nanos{50'000'000}).status ==
           SocketStatus::ok)
      ++got;
  };
  net.b.process("reader 1", reader);
  net.b.process("reader 2", reader);
  net.a.process("client", [&] {
    const auto sender = net.a.stack.udp().open();
    for (int i = 0; i < 40; ++i)
      sender->send_to({net.b.own(), kPort}, pattern(100));
  });
  world.run();
  CHECK(got == 40);
  CHECK(ledger_is_closed(world));
  socket.reset();
}

TEST_CASE("A deadline of now does not wait, a later one waits as long") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  m.process("reader", [&] {
    const auto socket = m.stack.udp().open();
    socket->bind({{}, kPort});
    std::vector<std::uint8_t> buffer(10);
    const auto now = [&] { return m.machine.cpu().now(m.machine.cpu().settle()); };
    CHECK(socket->receive(buffer, now()).status == SocketStatus::would_block);
    const core::Instant limit = now() + core::Nanos{3'000'000};
    CHECK(socket->receive(buffer, limit).status == SocketStatus::timed_out);
    CHECK(now() >= limit);
    CHECK_FALSE(socket->wait_readable(limit + core::Nanos{1'000'000}));
    socket->send_to({m.own(), kPort}, pattern(4));
    CHECK(socket->wait_readable(core::kNever));
    const auto got = socket->receive(buffer, now());
    CHECK(got.status == SocketStatus::ok);
    CHECK(got.stamp > got.born);
  });
  world.run();
  CHECK(ledger_is_closed(world));
}

}  // namespace
}  // namespace tapestry::tests
