// Whole streams between two machines: every byte arrives, in order, whatever the wire does.
#include <catch2/catch.hpp>

#include "tests/net/tcp/pair.hpp"

namespace tapestry::tests::stream_test {
namespace {

constexpr std::uint64_t kMega = 1'000'000;

TEST_CASE("A stream arrives whole, in every settle mode at the same instant") {
  const bool segmentation = GENERATE(false, true);
  std::vector<std::int64_t> ends;
  for (const auto mode : kSettleModes) {
    World world(mode, net_costs());
    TcpPair net(world, {.segmentation = segmentation});
    Transfer result;
    transfer(net.a, net.b, 3 * kMega, 65'536, 5001, result);
    world.run_until(200'000'000'000);
    CHECK(result.received == 3 * kMega);
    CHECK(result.in_order);
    CHECK(ledger_is_closed(world));
    CHECK(net.a.stack.tcp().connections() == 0);
    CHECK(net.b.stack.tcp().connections() == 0);
    CHECK(world.packets.in_use() == 0);
    CHECK(world.packets.payload().blocks_in_use(1) == 0);
    ends.push_back(result.ended_ns);
  }
  CHECK(ends[0] == ends[1]);
  CHECK(ends[0] == ends[2]);
}

TEST_CASE("A wire that loses, doubles and reorders delays a stream and changes nothing of it") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const bool segmentation = GENERATE(false, true);
  const auto algorithm = GENERATE(net::CongestionControl::reno, net::CongestionControl::cubic);
  std::vector<std::int64_t> ends;
  for (const auto mode : kSettleModes) {
    World world(mode, net_costs(), seed);
    TcpPairOptions options{.segmentation = segmentation};
    options.wire.loss = 20'000'000;
    options.wire.duplication = 10'000'000;
    options.wire.reordering = 30'000'000;
    options.tcp.congestion_control = algorithm;
    TcpPair net(world, options);
    Transfer there, back;
    transfer(net.a, net.b, kMega, 30'000, 5001, there);
    transfer(net.b, net.a, kMega, 700, 5002, back);
    world.run_until(400'000'000'000);
    CAPTURE(seed, segmentation, there.sender.timeouts, there.sender.total_retrans);
    CHECK(there.received == kMega);
    CHECK(back.received == kMega);
    CHECK(there.in_order);
    CHECK(back.in_order);
    CHECK(ledger_is_closed(world));
    CHECK(net.a.stack.tcp().connections() == 0);
    ends.push_back(there.ended_ns);
    ends.push_back(back.ended_ns);
  }
  CHECK(ends[0] == ends[2]);
  CHECK(ends[0] == ends[4]);
  CHECK(ends[1] == ends[3]);
  CHECK(ends[1] == ends[5]);
}

TEST_CASE("Two CPUs work on one connection and exclude each other") {
  std::vector<std::int64_t> ends;
  for (const auto mode : kSettleModes) {
    World world(mode, net_costs());
    TcpPairOptions options;
    options.cpus = 2;
    options.wire.loss = 5'000'000;
    TcpPair net(world, options);
    Transfer there, back;
    transfer(net.a, net.b, 2 * kMega, 20'000, 5001, there);
    transfer(net.b, net.a, 2 * kMega, 50'000, 5002, back);
    world.run_until(200'000'000'000);
    CHECK(there.received == 2 * kMega);
    CHECK(back.received == 2 * kMega);
    CHECK(ledger_is_closed(world));
    ends.push_back(there.ended_ns);
    ends.push_back(back.ended_ns);
  }
  CHECK(ends[0] == ends[2]);
  CHECK(ends[0] == ends[4]);
  CHECK(ends[1] == ends[3]);
  CHECK(ends[1] == ends[5]);
}

TEST_CASE("Sequence numbers wrap, at 2^32 and at the half-way point, and nobody notices") {
  std::vector<std::int64_t> spans;
  for (const std::uint32_t first : {1u, 0u - 2000u, 0x8000'0000u - 2000u}) {
    World world(sched::SettleMode::seams, net_costs());
    TcpPairOptions options;
    options.wire.loss = 10'000'000;
    TcpPair net(world, options);
    net.a.stack.tcp().force_initial_sequence(first);
    net.b.stack.tcp().force_initial_sequence(first);
    Transfer there, back;
    transfer(net.a, net.b, 1 << 20, 40'000, 5001, there);
    transfer(net.b, net.a, 1 << 20, 40'000, 5002, back);
    world.run_until(200'000'000'000);
    CHECK(there.received == 1 << 20);
    CHECK(back.received == 1 << 20);
    CHECK(there.in_order);
    CHECK(there.receiver.bytes_received == 1 << 20);
    spans.push_back(there.ended_ns - there.began_ns);
  }
  CHECK(spans[0] == spans[1]);
  CHECK(spans[0] == spans[2]);
}

TEST_CASE("A connection to oneself carries a stream both ways") {
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  auto& m = world.make<NetMachine>(world, 1u);
  Transfer result;
  transfer(m, m, kMega, 10'000, 5001, result);
  world.run_until(200'000'000'000);
  CHECK(result.received == kMega);
  CHECK(result.in_order);
  CHECK(ledger_is_closed(world));
  CHECK(m.stack.tcp().connections() == 0);
}

TEST_CASE("A world may end in the middle of everything") {
  const std::int64_t end = GENERATE(1'020'000, 1'300'000, 2'000'000, 3'333'333, 5'000'000);
  World world(GENERATE(from_range(kSettleModes)), net_costs());
  TcpPair net(world, {.segmentation = true, .cpus = 2});
  Transfer there, back;
  transfer(net.a, net.b, 100 * kMega, 65'536, 5001, there);
  transfer(net.b, net.a, 100 * kMega, 1000, 5002, back);
  world.run_until(end);
  CHECK(world.packets.close().balanced);
}

}  // namespace
}  // namespace tapestry::tests::stream_test
