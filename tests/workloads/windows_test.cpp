// What workloads measure, and when: the warm-up is left out, windows add up, and of a run that is
// cut short the part that has passed counts.
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/world.hpp"
#include "tests/workloads/workload_world.hpp"

namespace tapestry::tests::windows_test {

namespace {

using core::Nanos;

std::string flow(const std::string& kind, const std::string& warmup, const std::string& duration,
                 const std::string& more = "") {
  return "{kind: " + kind + ", from: guest, to: host, to-cpu: 1, warmup: " + warmup +
         ", duration: " + duration + more + "}";
}

workloads::Outcome outcome_of(const std::string& workload, const std::string& costs,
                              sched::SettleMode mode = sched::SettleMode::seams) {
  WorkloadWorld world(workload, costs, mode);
  world.run();
  CHECK(world.workload().finished());
  return world.outcome();
}

// A datagram of 125 bytes each millisecond.
const std::string kPaced = ", size: 125B, rate: 1Mbit";

}  // namespace

TEST_CASE("a stream's window begins after the warm-up and ends with its duration", "[workloads]") {
  const auto outcome = outcome_of(flow("udp-stream", "10ms", "20ms", kPaced), "zero");
  CHECK(outcome.window == Nanos{20'000'000});
  CHECK(outcome.window_packets == 20);
  CHECK(outcome.window_bytes == 20 * 125);
  REQUIRE(outcome.latency);
  CHECK(outcome.latency->count() == 20);
  REQUIRE(outcome.flows.size() == 1);
  CHECK(outcome.flows[0].sent_packets == 30);
  CHECK(outcome.flows[0].received_packets == 30);
  CHECK(outcome.flows[0].out_of_order == 0);
}

TEST_CASE("of a stream that is cut short the part of the window that has passed counts",
          "[workloads]") {
  struct Row {
    std::int64_t cut_us, window_us;
    std::uint64_t packets;
  };
  const Row rows[] = {
      {0, 0, 0}, {5'500, 0, 0}, {10'500, 500, 1}, {15'500, 5'500, 6}, {45'000, 20'000, 20}};
  for (const Row& row : rows) {
    CAPTURE(row.cut_us);
    WorkloadWorld world(flow("udp-stream", "10ms", "20ms", kPaced));
    world.run_for(Nanos{row.cut_us * 1000});
    const auto outcome = world.outcome();
    CHECK(outcome.window == Nanos{row.window_us * 1000});
    CHECK(outcome.window_packets == row.packets);
  }
}

TEST_CASE("two windows that follow each other see together what one over both sees",
          "[workloads]") {
  const auto* kind = GENERATE("udp-stream", "udp-rr");
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(kind, mode);
  const auto whole = outcome_of(flow(kind, "0ms", "10ms"), "epyc-guest", mode);
  const auto later = outcome_of(flow(kind, "4ms", "6ms"), "epyc-guest", mode);
  WorkloadWorld world(flow(kind, "0ms", "10ms"), "epyc-guest", mode);
  world.run_for(Nanos{4'000'000} - Nanos{1});
  const auto earlier = world.outcome();
  CHECK(whole.window_packets > 50);
  CHECK(earlier.window_packets + later.window_packets == whole.window_packets);
  CHECK(earlier.window_bytes + later.window_bytes == whole.window_bytes);
  CHECK(earlier.latency->count() + later.latency->count() == whole.latency->count());
  CHECK(earlier.window + later.window == whole.window - Nanos{1});
}

TEST_CASE("request and response: one at a time, both directions counted, none lost",
          "[workloads]") {
  const auto outcome = outcome_of(
      flow("udp-rr", "1ms", "10ms", ", request: 10B, response: 30B, sessions: 2"), "epyc-guest");
  REQUIRE(outcome.transactions);
  CHECK(outcome.window_packets == 2 * *outcome.transactions);
  CHECK(outcome.window_bytes == 40 * *outcome.transactions);
  CHECK(outcome.latency->count() == *outcome.transactions);
  REQUIRE(outcome.flows.size() == 4);
  for (const workloads::FlowResult& one : outcome.flows) {
    INFO(one.name);
    CHECK(one.sent_packets == one.received_packets);
  }
  CHECK(outcome.flows[0].sent_bytes == 10 * outcome.flows[0].sent_packets);
  CHECK(outcome.flows[1].sent_bytes == 30 * outcome.flows[1].sent_packets);
}

TEST_CASE("a ping's requests leave at their interval, and its window ends with the last reply",
          "[workloads]") {
  WorkloadWorld world("{kind: ping, from: guest, to: host, size: 200B, count: 4, interval: 5ms}");
  world.run();
  const std::vector<std::int64_t> sent = world.sent_ns(200);
  REQUIRE(sent.size() == 4);
  for (std::size_t i = 0; i < sent.size(); ++i)
    CHECK(sent[i] - sent[0] - static_cast<std::int64_t>(i) * 5'000'000 < 1'000);
  const auto outcome = world.outcome();
  CHECK(outcome.window_packets == 4);
  CHECK(outcome.window_bytes == 800);
  CHECK(outcome.window >= Nanos{15'000'000});
  CHECK(outcome.window < Nanos{15'010'000});
  CHECK(outcome.latency->count() == 4);
}

TEST_CASE("a ping that is cut short tells of the replies that have come", "[workloads]") {
  WorkloadWorld world("{kind: ping, from: guest, to: host, count: 4, interval: 5ms}");
  CHECK(world.outcome().window == Nanos{0});
  world.run_for(Nanos{7'000'000});
  const auto outcome = world.outcome();
  CHECK(outcome.window_packets == 2);
  CHECK(outcome.window >= Nanos{5'000'000});
  CHECK(outcome.window < Nanos{5'010'000});
}

TEST_CASE("system calls: as many reads as writes, and their time is all of the window",
          "[workloads]") {
  const auto few = outcome_of("{kind: syscall, machine: guest, size: 1B, count: 10}", "epyc-guest");
  const auto many =
      outcome_of("{kind: syscall, machine: guest, size: 1B, count: 40}", "epyc-guest");
  CHECK(few.calls == 20u);
  CHECK(many.calls == 80u);
  CHECK(few.window == few.call_time);
  const Nanos each = (many.call_time - few.call_time) / 60;
  CHECK(each.count() > 10'000);
  CHECK(std::abs((few.call_time - 20 * each).count()) < 2 * each.count());

  WorkloadWorld world("{kind: syscall, machine: guest, size: 1B, count: 40}", "epyc-guest");
  world.run_for(many.call_time / 2);
  const auto half = world.outcome();
  REQUIRE(half.calls);
  CHECK(*half.calls > 30);
  CHECK(*half.calls < 50);
  CHECK(half.call_time > Nanos{0});
  CHECK(half.call_time <= many.call_time / 2);
}

}  // namespace tapestry::tests::windows_test
