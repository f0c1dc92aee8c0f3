// Whole runs of a guest on platform lkl: its own virtio device and UML's drivers in library mode.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "app/run/runner.hpp"
#include "app/scenario/loader.hpp"

namespace tapestry::tests::lkl_run_test {
namespace {

using namespace app;

const std::string kScenarios = std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/";

const char* const kDevices[] = {
    "{kind: lkl-virtio, attach: host.tap0, address: 10.77.0.2/24}",
    ("{kind: lkl-virtio, attach: host.tap0, address: 10.77.0.2/24, queue-depth: 32, "
     "offloads: [csum, guest_csum, mrg_rxbuf]}"),
    "{kind: lkl-virtio, attach: host.tap0, address: 10.77.0.2/24, queue-depth: 2}",
    "{kind: legacy-tap, attach: host.tap0, address: 10.77.0.2/24}",
    "{kind: vector, transport: tap, attach: host.tap0, address: 10.77.0.2/24}",
    "{kind: vector, transport: hybrid, attach: host.tap0, napi: false, address: 10.77.0.2/24}",
};
const char* const kPlaces[] = {"pin: 0", "pin: 0, poll-pin: 1", "poll-pin: 1", "hz: 250"};

ScenarioFile lkl_scenario(const std::string& device, const std::string& place,
                          const std::string& costs) {
  const std::string text =
      "schema: tapestry/1\ntitle: lkl\ncosts: " + costs +
      "\nmachines:\n"
      "  host: {platform: native, kernel: \"6.18\", cpus: 2}\n"
      "  guest: {platform: lkl, kernel: \"5.5\", host: host, " +
      place +
      "}\n"
      "devices:\n"
      "  host.tap0: {kind: tap, address: 10.77.0.1/24}\n"
      "  guest.eth0: " +
      device +
      "\nworkloads:\n"
      "  ping: {kind: ping, from: guest, to: host, count: 5, interval: 1ms}\n"
      "  gnip: {kind: ping, from: host, to: guest, count: 5, interval: 1ms}\n"
      "  rr: {kind: udp-rr, from: guest, to: host, request: 1B, response: 1B, duration: " +
      (costs == "zero" ? "20us" : "500us") +
      "}\n"
      "  out: {kind: udp-stream, from: guest, to: host, size: 1472B, rate: 500Mbit, "
      "duration: 1ms}\n"
      "  in: {kind: udp-stream, from: host, to: guest, size: 600B, rate: 200Mbit, "
      "duration: 1ms}\n";
  LoadedScenario loaded = parse_scenario(text, kScenarios + "lkl.yaml");
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    FAIL(diagnostic.format("lkl"));
  return std::move(*loaded.scenario);
}

std::int64_t metric(const RunResult& result, const std::string& name) {
  return std::get<std::int64_t>(result.metrics.at(name));
}

}  // namespace

TEST_CASE("an LKL guest talks to its host, with one fingerprint however it is paid", "[lkl]") {
  for (const char* const costs : {"zero", "epyc-guest"}) {
    for (const char* const device : kDevices) {
      for (const char* const place : kPlaces) {
        INFO(costs << ", " << place << ", " << device);
        const ScenarioFile file = lkl_scenario(device, place, costs);
        const RunReport first = run_scenario(file, {});
        REQUIRE(first.ending == Ending::complete);
        REQUIRE(first.results.size() == 5);
        for (const RunResult& result : first.results) {
          INFO(result.workload);
          CHECK(metric(result, "packets") > 0);
        }
        for (const auto mode : {sched::SettleMode::always, sched::SettleMode::random}) {
          RunnerOptions options;
          options.settle_mode = mode;
          const RunReport again = run_scenario(file, options);
          REQUIRE(again.ending == Ending::complete);
          CHECK(again.fingerprint == first.fingerprint);
        }
      }
    }
  }
}

}  // namespace tapestry::tests::lkl_run_test
