// A TCP stream between two servers, and what each of them spends for a segment of 1,448 bytes.
#include <stdexcept>

#include "app/run/runner.hpp"
#include "app/scenario/loader.hpp"
#include "tests/host/closure/micro_scenarios.hpp"

namespace tapestry::tests::closure {

namespace {

constexpr std::int64_t kSegmentBytes = 1448;

// The sender has one CPU for everything; the receiver takes interrupts and reads on two. The wire
// is faster than either, and the cards keep quiet for 50 us after an interrupt, as those measured
// do.
std::string two_servers(const std::string& costs, bool segmentation) {
  const std::string card =
      std::string("{kind: nic, link: wire, checksum: offload, rx: 4096, ") +
      "rx-usecs: 50us, tx-usecs: 50us, gro: true, tso: " + (segmentation ? "true" : "false") +
      ", address: 10.0.0.";
  return "schema: tapestry/1\ntitle: a stream\ncosts: " + costs +
         "\nmachines:\n"
         "  client: {platform: native, kernel: \"4.18\", cpus: 1}\n"
         "  server: {platform: native, kernel: \"4.18\", cpus: 2}\n"
         "links:\n  wire: {rate: 100Gbit, delay: 1us}\n"
         "devices:\n"
         "  client.eth0: " +
         card +
         "1/24}\n"
         "  server.eth0: " +
         card +
         "2/24}\n"
         "workloads:\n"
         "  w: {kind: tcp-stream, send: 64KiB, from: client, to: server, to-cpu: 1, "
         "duration: 20ms, warmup: 5ms}\n";
}

}  // namespace

// Arguments: the machine, client or server; what cuts, gso (software) or tso (the card).
std::int64_t tcp_stream(const MicroRun& run) {
  const std::string text = two_servers(run.costs.name(), run.arguments.at(1) == "tso");
  const app::LoadedScenario loaded =
      app::parse_scenario(text, std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/stream.yaml");
  if (!loaded.scenario) throw std::runtime_error(loaded.diagnostics.at(0).format("stream"));
  app::RunnerOptions options;
  options.settle_mode = run.mode;
  const app::RunReport report = app::run_scenario(*loaded.scenario, options);
  const app::RunResult& result = report.results.at(0);
  std::int64_t bytes = 0;
  for (const workloads::FlowResult& flow : result.outcome.flows)
    bytes += static_cast<std::int64_t>(flow.received_bytes);
  for (const app::MachineUsage& machine : result.usage)
    if (machine.machine == run.arguments.at(0))
      return machine.usage.busy().count() * 1000 / (bytes / kSegmentBytes);
  throw std::runtime_error("there is no machine " + run.arguments.at(0));
}

}  // namespace tapestry::tests::closure
