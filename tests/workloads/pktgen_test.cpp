// pktgen: what it hands over, whom its buffers cost, and how it reports it.
#include "workloads/pktgen.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "app/run/runner.hpp"
#include "app/scenario/loader.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::pktgen_test {

namespace {

using namespace app;

const std::string kFile = std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/test.yaml";

std::string scenario(const std::string& options, const std::string& device = "") {
  return "schema: tapestry/1\ntitle: test\ncosts: xeon-2018\n"
         "machines:\n"
         "  a: {platform: native, kernel: \"6.1\", cpus: 1}\n"
         "  b: {platform: native, kernel: \"6.1\", cpus: 1}\n"
         "links:\n  wire: {rate: 10Gbit, delay: 1us}\n"
         "devices:\n"
         "  a.eth0: {kind: nic, link: wire, address: 10.0.0.1/24" +
         device +
         "}\n"
         "  b.eth0: {kind: nic, link: wire, rx: 4096, address: 10.0.0.2/24}\n"
         "workloads:\n  p: {kind: pktgen, from: a, to: b" +
         options + "}\n";
}

RunResult run(const std::string& options, const std::string& device = "",
              sched::SettleMode mode = sched::SettleMode::seams) {
  LoadedScenario loaded = parse_scenario(scenario(options, device), kFile);
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    FAIL(diagnostic.format("test"));
  RunnerOptions how;
  how.settle_mode = mode;
  RunReport report = run_scenario(*loaded.scenario, how);
  REQUIRE(report.ending == Ending::complete);
  CHECK(report.results.at(0).finished);
  return std::move(report.results.at(0));
}

const workloads::PktgenFigures& figures_of(const RunResult& result) {
  return *result.outcome.pktgen;
}

}  // namespace

TEST_CASE("pktgen sends its count and no more, whatever divides it, and each frame arrives",
          "[workloads]") {
  const char* const options = GENERATE(
      ", count: 1", ", count: 100, burst: 7", ", count: 100, burst: 7, clone-skb: 1000",
      ", count: 100, clone-skb: 3", ", count: 100, mode: queue-xmit",
      ", count: 100, mode: queue-xmit, burst: 7, clone-skb: 3", ", count: 100, size: 1514B");
  CAPTURE(options);
  const RunResult result = run(options);
  const std::uint64_t count = options == std::string(", count: 1") ? 1 : 100;
  CHECK(figures_of(result).packets == count);
  CHECK(figures_of(result).errors == 0);
  CHECK(result.outcome.flows.at(0).received_packets == count);
  for (const auto mode : {sched::SettleMode::always, sched::SettleMode::random})
    CHECK(run(options, "", mode).fingerprint == result.fingerprint);
}

TEST_CASE("a buffer that is sent again costs its making once, and its freeing once",
          "[workloads]") {
  struct Row {
    const char* options;
    std::int64_t buffers;
  };
  // Of xeon-2018: application, the filling, 50; packet-alloc 23.8; packet-free 18.3.
  const Row rows[] = {{", count: 100", 100},
                      {", count: 100, clone-skb: 10", 10},
                      {", count: 100, clone-skb: 10, burst: 5", 2},
                      {", count: 100, clone-skb: 100", 1}};
  for (const Row& row : rows) {
    CAPTURE(row.options);
    const RunResult result = run(row.options);
    const sched::Usage& usage = result.usage.at(0).usage;
    CHECK(usage.of(sched::Work::application) == core::Nanos{50 * row.buffers});
    // Freed one or several at a time, each rounded to a nanosecond.
    CHECK(usage.of(sched::Work::packet_free) >= core::Nanos{18 * row.buffers});
    CHECK(usage.of(sched::Work::packet_free) < core::Nanos{19 * row.buffers});
    // With what interrupts take in between.
    CHECK(figures_of(result).alloc >= core::Nanos{73 * row.buffers});
  }
}

TEST_CASE("a delay and a full ring are waited for, and count as idle", "[workloads]") {
  const core::Nanos paced = figures_of(run(", count: 100, delay: 10us")).idle;
  CHECK(paced > core::Nanos{900'000});
  CHECK(paced < core::Nanos{1'000'000});
  // 1,000 frames of 1,514 bytes take 1.23 ms on the wire, 16 of them in the ring.
  const workloads::PktgenFigures full =
      figures_of(run(", count: 1000, clone-skb: 1000, size: 1514B", ", tx: 16"));
  CHECK(full.packets == 1000);
  CHECK(full.total > core::Nanos{1'230'000});
  CHECK(full.idle > full.transmit);
}

TEST_CASE("what the queueing discipline has no place for is an error", "[workloads]") {
  const RunResult result =
      run(", count: 500, mode: queue-xmit, size: 1514B", ", tx: 16, txqueuelen: 10");
  CHECK(figures_of(result).errors > 0);
  CHECK(figures_of(result).packets + figures_of(result).errors == 500);
  CHECK(result.outcome.flows.at(0).received_packets == figures_of(result).packets);
}

TEST_CASE("a frame that is longer than the device's is refused where it stands", "[workloads]") {
  LoadedScenario loaded = parse_scenario(scenario(", size: 1515B"), kFile);
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK_THAT(loaded.diagnostics[0].format("t"),
             Catch::Contains("workloads.p.size: 1515 bytes are more than the MTU of a.eth0"));
}

TEST_CASE("the result block is the kernel's", "[workloads]") {
  workloads::PktgenFigures figures;
  figures.frame_bytes = 60;
  figures.packets = 1'000'000;
  figures.total = core::Nanos{4'143'884'000};
  figures.idle = core::Nanos{20'000};
  CHECK(workloads::pktgen_result(figures) ==
        "Result: OK: 4143884(c4143864+d20) usec, 1000000 (60byte,0frags)\n"
        "  241319pps 115Mb/sec (115833120bps) errors: 0\n");
}

}  // namespace tapestry::tests::pktgen_test
