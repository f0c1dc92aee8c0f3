// Which resource binds a run: a CPU, a link, or none.
#include <catch2/catch.hpp>

#include <string>

#include "app/run/runner.hpp"
#include "app/scenario/loader.hpp"

namespace tapestry::tests::binding_test {

using namespace app;

namespace {

RunReport run(const std::string& rate, const std::string& workload) {
  const std::string text =
      "schema: tapestry/1\ntitle: two servers\ncosts: xeon-2018\n"
      "machines:\n"
      "  client: {platform: native, kernel: \"6.1\", cpus: 2}\n"
      "  server: {platform: native, kernel: \"6.1\", cpus: 2, costs: zero}\n"
      "links:\n  wire: {rate: " +
      rate +
      ", delay: 1us}\n"
      "devices:\n"
      "  client.eth0: {kind: nic, link: wire, address: 10.0.0.1/24}\n"
      "  server.eth0: {kind: nic, link: wire, address: 10.0.0.2/24}\n"
      "workloads:\n  w: " +
      workload + "\n";
  LoadedScenario loaded =
      parse_scenario(text, std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/two.yaml");
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    FAIL(diagnostic.format("two"));
  return run_scenario(*loaded.scenario, {});
}

TEST_CASE("what binds is the CPU or the link that had no time left, else nobody", "[app]") {
  struct Row {
    const char* rate;
    const char* workload;
    const char* name;
    bool binds;
  };
  const std::string flood =
      "{kind: udp-stream, from: client, to: server, size: 1472B, duration: 20ms, from-cpu: 1}";
  const std::string question =
      "{kind: udp-rr, from: client, to: server, request: 64B, response: 64B, duration: 20ms, "
      "from-cpu: 1}";
  const Row rows[] = {
      {"100Gbit", flood.c_str(), "client CPU 1", true},
      {"1Gbit", flood.c_str(), "link wire from client.eth0", true},
      {"100Gbit", question.c_str(), "client CPU 0", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rate, row.workload);
    const RunReport report = run(row.rate, row.workload);
    REQUIRE(report.results.size() == 1);
    REQUIRE(report.results[0].busiest);
    CHECK(report.results[0].busiest->name == row.name);
    CHECK(report.results[0].busiest->binds() == row.binds);
    CHECK(report.results[0].busiest->percent < 100.1);
  }
}

}  // namespace
}  // namespace tapestry::tests::binding_test
