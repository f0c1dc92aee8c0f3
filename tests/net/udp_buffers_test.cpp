// What bounds a socket: its buffers, and who waits for them.
#include <catch2/catch.hpp>

#include "net/socket_memory.hpp"
#include "net/udp.hpp"
#include "sched/guards.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::udp_buffers_test {
namespace {

using net::Endpoint;
using net::SocketStatus;
using net::UdpSocket;

constexpr std::uint16_t kPort = 5001;

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
}  // namespace tapestry::tests::udp_buffers_test
