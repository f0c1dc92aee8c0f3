// The parts on their own: sequence numbers, headers, congestion control.
#include <catch2/catch.hpp>

#include "net/tcp/congestion.hpp"
#include "net/tcp/header.hpp"
#include "tests/net/tcp/pair.hpp"

namespace tapestry::tests::parts_test {
namespace {

using net::tcp::Header;
using net::tcp::Sequence;

TEST_CASE("Sequence numbers compare across the wrap") {
  const Sequence before{0xffff'ff00}, behind{0x100};
  CHECK(before < behind);
  CHECK(behind > before);
  CHECK(behind - before == 0x200);
  CHECK(before + 0x200 == behind);
  CHECK(Sequence{0} < Sequence{0x7fff'ffff});
  CHECK(Sequence{0x8000'0001} < Sequence{0});
  CHECK(net::tcp::later(before, behind) == behind);
}

TEST_CASE("A header with every option comes back as it was written") {
  Header header;
  header.source = 1;
  header.destination = 65535;
  header.sequence = {0xdead'beef};
  header.acknowledgement = {7};
  header.window = 4711;
  header.syn = header.ack = true;
  header.mss = 1460;
  header.has_window_scale = true;
  header.window_scale = 7;
  header.sack_permitted = true;
  header.has_timestamps = true;
  header.timestamp = 99;
  header.timestamp_echo = 98;
  std::vector<std::uint8_t> bytes(header.bytes());
  CHECK(bytes.size() == 40);
  net::tcp::emit(header, bytes);
  Header read;
  REQUIRE(net::tcp::parse(bytes, read));
  CHECK(read.sequence == header.sequence);
  CHECK(read.mss == 1460);
  CHECK(read.window_scale == 7);
  CHECK(read.sack_permitted);
  CHECK(read.timestamp_echo == 98);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    CHECK_FALSE(net::tcp::parse(std::span(bytes).first(cut), read));
}

TEST_CASE("The cube root is the largest number whose cube fits") {
  for (std::uint64_t root = 0; root < 2'642'245; root = root * 3 / 2 + 1) {
    CHECK(net::tcp::cube_root(root * root * root) == root);
    if (root > 1) CHECK(net::tcp::cube_root(root * root * root - 1) == root - 1);
  }
  CHECK(net::tcp::cube_root(UINT64_MAX) == 2'642'245);
}

// W(t) = 0.4 (t - K)^3 + Wmax, K = cbrt(Wmax (1 - beta) / 0.4), of RFC 9438: after a loss at 1000
// segments, with a round trip of 100 ms. K is 9.08 s.
TEST_CASE("Cubic grows as the formula says") {
  const auto cubic = net::tcp::make_algorithm(net::CongestionControl::cubic, 1000);
  net::tcp::Window window;
  window.size = 1000;
  window.threshold = window.size = cubic->threshold_after_loss(window);
  CHECK(window.size == 700);
  struct Row {
    int seconds;
    std::uint32_t size;
  };
  const std::vector<Row> rows = {{2, 858}, {4, 949}, {6, 990}, {8, 999}, {10, 1001}, {12, 1011}};
  std::int64_t now_us = 10'000'000;
  auto row = rows.begin();
  for (int round = 1; round <= 120; ++round) {
    now_us += 100'000;
    net::tcp::AckView view{.acked = 1, .now_us = now_us, .rtt_us = 100'000, .window_limited = true};
    const std::uint32_t acks = window.size;
    for (std::uint32_t i = 0; i < acks; ++i) {
      view.now_us = now_us + i * 100'000 / acks;
      cubic->measured(window, view);
      cubic->acknowledged(window, view);
    }
    if (row != rows.end() && round == row->seconds * 10) {
      CAPTURE(row->seconds, window.size);
      CHECK(window.size >= row->size * 98 / 100);
      CHECK(window.size <= row->size * 103 / 100 + 2);
      ++row;
    }
  }
}

TEST_CASE("Reno doubles in slow start, then grows by one in a round") {
  const auto reno = net::tcp::make_algorithm(net::CongestionControl::reno, 1000);
  net::tcp::Window window{.size = 10, .threshold = 40};
  net::tcp::AckView view{.acked = 10, .window_limited = true};
  reno->acknowledged(window, view);
  CHECK(window.size == 20);
  view.acked = 20;
  reno->acknowledged(window, view);
  CHECK(window.size == 40);
  view.acked = 40;
  reno->acknowledged(window, view);
  CHECK(window.size == 41);
  CHECK(reno->threshold_after_loss(window) == 20);
}

// --- T5: a write, a write, a read ----------------------------------------------------------------

TEST_CASE("Two small writes and a read take 40 ms with Nagle and delayed ACKs, and only then") {
  const bool nagle = GENERATE(true, false);
  const bool delayed = GENERATE(true, false);
  World world(sched::SettleMode::seams, net_costs());
  TcpPairOptions options;
  if (!delayed) options.tcp.delayed_ack = core::Nanos{0};
  TcpPair net(world, options);
  net.b.process("server", [&] {
    const auto listener = net.b.stack.tcp().open();
    listener->bind({{}, 80});
    listener->listen(4);
    const auto socket = listener->accept();
    std::vector<std::uint8_t> buffer(200);
    for (;;) {
      std::size_t length = 0;
      while (length < 200) {
        const auto got = socket->receive(std::span(buffer).subspan(length));
        if (got.length == 0) return;
        length += got.length;
      }
      socket->send(std::span(buffer).first(50));
    }
  });
  std::int64_t worst_ns = 0;
  net.a.process("client", [&] {
    const auto socket = net.a.stack.tcp().open();
    net.a.machine.scheduler.sleep_until(core::kStart + core::Nanos{1'000'000});
    socket->connect({net.b.own(), 80});
    socket->set_no_delay(!nagle);
    std::vector<std::uint8_t> buffer(200);
    for (int i = 0; i < 30; ++i) {
      net.a.machine.cpu().settle();
      const std::int64_t began = world.now_ns();
      socket->send(std::span(buffer).first(100));
      socket->send(std::span(buffer).first(100));
      socket->receive(buffer);
      net.a.machine.cpu().settle();
      if (i >= 20) worst_ns = std::max(worst_ns, world.now_ns() - began);
    }
  });
  world.run_until(100'000'000'000);
  CAPTURE(nagle, delayed, worst_ns);
  if (nagle && delayed) {
    CHECK(worst_ns > 35'000'000);
    CHECK(worst_ns < 50'000'000);
  } else {
    CHECK(worst_ns > 0);
    CHECK(worst_ns < 1'000'000);
  }
}

}  // namespace
}  // namespace tapestry::tests::parts_test
