// Whole runs: shipped scenarios, their fingerprints, their captures, and how runs end.
#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "app/run/runner.hpp"
#include "app/scenario/loader.hpp"
#include "tests/support/skip.hpp"
#include "workloads/pcap_file.hpp"

namespace tapestry::app {
namespace {

const std::string kScenarios = std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/";

ScenarioFile load(const std::string& name) {
  LoadedScenario loaded = load_scenario(kScenarios + name);
  REQUIRE(loaded.scenario);
  return std::move(*loaded.scenario);
}

ScenarioFile parse(const std::string& workload, const std::string& costs = "zero") {
  const std::string text = "schema: tapestry/1\ntitle: small\ncosts: " + costs +
                           "\nmachines:\n"
                           "  host: {platform: native, kernel: \"6.18\", cpus: 2}\n"
                           "  guest: {platform: uml, kernel: \"6.1\", host: host, pin: 0}\n"
                           "devices:\n"
                           "  host.tap0: {kind: tap, address: 10.77.0.1/24}\n"
                           "  guest.eth0: {kind: legacy-tap, attach: host.tap0, "
                           "address: 10.77.0.2/24}\n"
                           "workloads:\n  w: " +
                           workload + "\n";
  LoadedScenario loaded = parse_scenario(text, kScenarios + "small.yaml");
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    FAIL(diagnostic.format("small"));
  return std::move(*loaded.scenario);
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / name).string();
}

// What a program prints; empty if it cannot be run.
std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()))
    text += buffer.data();
  return text;
}

std::int64_t metric(const RunResult& result, const std::string& name) {
  return std::get<std::int64_t>(result.metrics.at(name));
}

TEST_CASE("a shipped scenario has one fingerprint, however it is paid and whoever watches") {
  const std::string name =
      GENERATE("packets-per-syscall.yaml", "uml-on-this-host.yaml", "pktgen-burst.yaml");
  LoadOptions shorter;  // 20 ms of a stream hold every mechanism of the whole
  if (name == "uml-on-this-host.yaml")
    shorter.overrides = {"workloads.stream.duration=20ms", "workloads.maerts.duration=20ms"};
  const LoadedScenario loaded = load_scenario(kScenarios + name, shorter);
  REQUIRE(loaded.scenario);
  const ScenarioFile& file = *loaded.scenario;
  const RunReport first = run_scenario(file, {});
  REQUIRE(first.ending == Ending::complete);
  for (const auto mode : {sched::SettleMode::always, sched::SettleMode::random}) {
    RunnerOptions options;
    options.settle_mode = mode;
    CHECK(run_scenario(file, options).fingerprint == first.fingerprint);
  }
  RunnerOptions watched;
  watched.captures.push_back({"", temporary("tapestry-watched.pcap")});
  CHECK(run_scenario(file, watched).fingerprint == first.fingerprint);
}

// Its streams are cut short: what 20 ms hold is every mechanism of the whole.
TEST_CASE("the thread of 2020 has one fingerprint, however it is paid") {
  LoadOptions shorter;
  shorter.overrides = {"workloads.stream.duration=20ms", "workloads.maerts.duration=20ms"};
  const LoadedScenario loaded = load_scenario(kScenarios + "uml-lkl-tap-virtio.yaml", shorter);
  REQUIRE(loaded.scenario);
  const RunReport first = run_scenario(*loaded.scenario, {});
  REQUIRE(first.ending == Ending::complete);
  for (const auto mode : {sched::SettleMode::always, sched::SettleMode::random}) {
    RunnerOptions options;
    options.settle_mode = mode;
    CHECK(run_scenario(*loaded.scenario, options).fingerprint == first.fingerprint);
  }
}

// What the guest sends reaches a machine at the other end of a wire, through the host's bridge.
TEST_CASE("a bridge joins a guest on a tap and a machine behind a card, in every settle mode") {
  const std::string text =
      "schema: tapestry/1\ntitle: bridged\ncosts: epyc-guest\nmachines:\n"
      "  host: {platform: native, kernel: \"4.18\", cpus: 2}\n"
      "  far: {platform: native, kernel: \"4.18\", cpus: 2, costs: xeon-2018}\n"
      "  guest: {platform: uml, kernel: \"6.1\", host: host, pin: 0}\n"
      "devices:\n"
      "  host.tap0: {kind: tap}\n"
      "  host.eth0: {kind: nic, link: wire, checksum: offload, tso: true, adaptive-rx: true}\n"
      "  host.docker0: {kind: bridge, ports: [host.tap0, host.eth0], address: 10.77.0.1/24}\n"
      "  far.eth0: {kind: nic, link: wire, checksum: offload, adaptive-rx: true, "
      "address: 10.77.0.3/24}\n"
      "  guest.vec0: {kind: vector, transport: tap, attach: host.tap0, address: 10.77.0.2/24}\n"
      "links:\n  wire: {rate: 10Gbit, delay: 1us}\n"
      "workloads:\n"
      "  out: {kind: udp-stream, from: guest, to: far, size: 1472B, duration: 2ms}\n"
      "  in: {kind: udp-rr, from: far, to: guest, request: 64B, response: 64B, duration: 2ms}\n"
      "  own: {kind: udp-rr, from: host, to: guest, request: 64B, response: 64B, duration: 2ms}\n";
  const LoadedScenario loaded = parse_scenario(text, kScenarios + "bridged.yaml");
  REQUIRE(loaded.scenario);
  const RunReport first = run_scenario(*loaded.scenario, {});
  REQUIRE(first.ending == Ending::complete);
  REQUIRE(first.results.size() == 3);
  for (const RunResult& result : first.results) {
    CAPTURE(result.workload);
    CHECK(metric(result, "packets") > 10);
  }
  for (const auto mode : {sched::SettleMode::always, sched::SettleMode::random}) {
    RunnerOptions options;
    options.settle_mode = mode;
    CHECK(run_scenario(*loaded.scenario, options).fingerprint == first.fingerprint);
  }
}

TEST_CASE("a replayed capture arrives whole and unaltered over every transport") {
  RunnerOptions options;
  options.workloads = {"replay"};
  const RunReport report = run_scenario(load("packets-per-syscall.yaml"), options);
  REQUIRE(report.results.size() == 4);
  for (const RunResult& result : report.results) {
    CAPTURE(result.variant);
    CHECK(metric(result, "packets") == 3586);
    CHECK(metric(result, "lost") == 0);
  }
}

TEST_CASE("a capture has whole nanoseconds, and no checksum that tshark calls wrong") {
  const std::string path = temporary("tapestry-checksums.pcap");
  RunnerOptions options;
  options.variants = {"raw"};
  options.workloads = {"rr"};
  options.captures.push_back({"host.ve0", path});
  REQUIRE(run_scenario(load("packets-per-syscall.yaml"), options).ending == Ending::complete);
  const auto read = workloads::read_capture(path);
  REQUIRE(read.ok());
  CHECK(read->frames.size() > 1000);
  CHECK(read->warning.empty());
  if (std::system("command -v tshark >/dev/null") != 0) TAPESTRY_SKIP("tshark is not installed");
  const std::string flags = " -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE ";
  const std::string bad =
      output_of("tshark -r " + path + flags +
                "-Y 'udp.checksum.status == 0 || ip.checksum.status == 0' 2>/dev/null | wc -l");
  CHECK(std::stoi(bad) == 0);
}

TEST_CASE("a run with nothing to do ends at once, twice the same") {
  const auto* workload =
      GENERATE("{kind: udp-stream, from: guest, to: host, size: 64B, duration: 0ms, rate: 1Mbit}",
               "{kind: ping, from: guest, to: host, count: 1, interval: 1ms}");
  const ScenarioFile file = parse(workload);
  const RunReport once = run_scenario(file, {});
  CHECK(once.ending == Ending::complete);
  CHECK(run_scenario(file, {}).fingerprint == once.fingerprint);
}

TEST_CASE("a world in which nothing costs anything still comes to its end") {
  const ScenarioFile file =
      parse("{kind: udp-rr, from: guest, to: host, request: 1B, response: 1B, duration: 20us}");
  const RunReport report = run_scenario(file, {});
  CHECK(report.ending == Ending::complete);
  REQUIRE(report.results.size() == 1);
  CHECK(metric(report.results[0], "lost") == 0);
}

TEST_CASE("a run that takes too long is ended, and says so") {
  RunnerOptions options;
  options.timeout = std::chrono::milliseconds(1);
  const RunReport report = run_scenario(
      parse("{kind: udp-stream, from: guest, to: host, size: 64B, duration: 60s}", "epyc-guest"),
      options);
  CHECK(report.ending == Ending::timed_out);
  CHECK(report.error.find("time limit") != std::string::npos);
}

}  // namespace
}  // namespace tapestry::app
