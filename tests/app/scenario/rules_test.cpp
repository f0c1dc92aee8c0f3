// What only the whole scenario shows. The faults themselves are in tests/app/malformed; here is
// what stays allowed beside them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::rules_test {

using namespace app;

namespace {

std::vector<std::string> with(const std::string& what, const std::string& by) {
  return said(load(replaced(small_scenario(), what, by)));
}

const std::string kGuestDevice =
    "guest.vec0: {kind: vector, transport: tap, attach: host.tap0, address: 10.77.0.2/24}";

}  // namespace

TEST_CASE("a guest of a guest is no cycle", "[app][scenario]") {
  CHECK(said(load(small_scenario(), {"machines.inner={platform: uml, kernel: 6.1, host: guest}"}))
            .empty());
}

TEST_CASE("a long chain of hosts that ends in a cycle is found", "[app][scenario]") {
  std::vector<std::string> overrides = {"machines.guest.host=m0"};
  for (int i = 0; i < 10; ++i) {
    overrides.push_back("machines.m" + std::to_string(i) + "={platform: uml, kernel: 6.1, host: m" +
                        std::to_string((i + 1) % 10) + "}");
  }
  const std::vector<std::string> lines = said(load(small_scenario(), overrides));
  CHECK(lines.size() == 11);
  CHECK(lines.front().find("a machine cannot run on itself: guest -> m0 -> m1") !=
        std::string::npos);
}

TEST_CASE("the pin of a guest is one of its host's CPUs", "[app][scenario]") {
  CHECK(with("host: host", "host: host, pin: 1").empty());
  CHECK(with("host: host", "host: host, pin: 2") ==
        std::vector<std::string>{"file:6:47: error: machines.guest.pin: host has no CPU 2"});
}

TEST_CASE("raw attaches to a veth whose peer the host uses", "[app][scenario]") {
  const std::string text = replaced(
      small_scenario(), kGuestDevice,
      "host.ve0: {kind: veth, peer: host.ve1, address: 10.77.1.1/24}\n  host.ve1: {kind: veth, "
      "peer: host.ve0}\n"
      "  guest.vec0: {kind: vector, transport: raw, attach: host.ve1, address: 10.77.1.2/24}");
  const LoadedScenario loaded = load(text);
  REQUIRE(said(loaded).empty());
  CHECK(std::get<VethDevice>(loaded.scenario->variants[0].devices[1].kind).peer.index == 2);
  CHECK(loaded.scenario->variants[0].devices[1].txqueuelen == 0);
}

TEST_CASE("a bridge has ports and no queue, and its network is theirs", "[app][scenario]") {
  const std::string text = replaced(
      small_scenario(), "host.tap0: {kind: tap, address: 10.77.0.1/24}",
      "host.tap0: {kind: tap}\n  host.eth0: {kind: nic, link: wire}\n"
      "  host.docker0: {kind: bridge, ports: [host.tap0, host.eth0], address: 10.77.0.1/24}\n"
      "  far.eth0: {kind: nic, link: wire, checksum: offload, tso: true, gro: false, "
      "adaptive-rx: true, address: 10.77.0.3/24}");
  const LoadedScenario loaded =
      load(replaced(text, "workloads:", "links:\n  wire: {rate: 10Gbit}\nworkloads:"),
           {"machines.far={platform: native, kernel: 4.18, cpus: 1}", "workloads.udp.to=far"});
  REQUIRE(said(loaded).empty());
  const std::vector<Device>& devices = loaded.scenario->variants[0].devices;
  const auto& bridge = std::get<BridgeDevice>(devices[2].kind);
  REQUIRE(bridge.ports.size() == 2);
  CHECK(bridge.ports[0].index == 0);
  CHECK(bridge.ports[1].index == 1);
  CHECK(devices[2].txqueuelen == 0);
  const auto& near = std::get<NicDevice>(devices[1].kind);
  CHECK((near.gro && !near.tso && !near.adaptive_rx));
  const auto& far = std::get<NicDevice>(devices[3].kind);
  CHECK((!far.gro && far.tso && far.adaptive_rx));
}

TEST_CASE("veths have no queue to set the length of", "[app][scenario]") {
  const LoadedScenario loaded =
      load(small_scenario(), {"devices.host.ve0={kind: veth, peer: host.ve1, txqueuelen: 5}",
                              "devices.host.ve1={kind: veth, peer: host.ve0}"});
  CHECK(
      said(loaded) ==
      std::vector<std::string>{
          "--set:1:47: error: devices.host.ve0.txqueuelen: unknown key 'txqueuelen' in a device of "
          "kind veth"});
}

TEST_CASE("both ends of a flow need addresses that see each other", "[app][scenario]") {
  CHECK(with("10.77.0.2/24", "10.77.1.2/16").size() == 1);  // the host's /24 does not contain it
  CHECK(with(", address: 10.77.0.2/24", "").size() == 1);
  CHECK(said(load(replaced(replaced(small_scenario(), "10.77.0.2/24", "10.77.1.2/16"),
                           "10.77.0.1/24", "10.77.0.1/16")))
            .empty());
}

TEST_CASE("a link has exactly two ends", "[app][scenario]") {
  const std::string wire = "links={wire: {rate: 1Gbit}}";
  const std::string one = "devices.host.eth0={kind: nic, link: wire}";
  const std::string two = "devices.host.eth1={kind: nic, link: wire}";
  const std::string three = "devices.host.eth2={kind: nic, link: wire}";
  CHECK(said(load(small_scenario(), {wire, one, two})).empty());
  CHECK(said(load(small_scenario(), {wire})) ==
        std::vector<std::string>{
            "--set:1:8: error: links.wire: a link has two ends, but no nic names it"});
  CHECK(said(load(small_scenario(), {wire, one, two, three})).size() == 1);
}

TEST_CASE("a scenario without traffic and a run of no length are scenarios", "[app][scenario]") {
  CHECK(said(load("schema: tapestry/1\ntitle: idle\ncosts: zero\nmachines: {a: {platform: native, "
                  "kernel: 6.18}}\n"))
            .empty());
  CHECK(said(load(small_scenario(), {"workloads.udp.duration=0ms"})).empty());
  CHECK(said(load(small_scenario(), {"stop=0s"})).empty());
  CHECK(said(load(small_scenario(), {"stop=1s", "workloads.udp.start=1s"})).empty());
  CHECK(said(load(small_scenario(), {"stop=1s", "workloads.udp.start=1.1s"})) ==
        std::vector<std::string>{
            "file:11:3: error: workloads.udp: starts at 1.1s, after the stop at 1s"});
}

TEST_CASE("a cost table is looked for beside the scenario and in the given folders",
          "[app][scenario]") {
  LoadOptions options;
  CHECK_FALSE(parse_scenario(small_scenario(), "/nowhere/test.yaml", options).scenario);
  options.costs_folders = {"/also/nowhere", (kRoot / "scenarios/costs").string()};
  const LoadedScenario loaded = parse_scenario(small_scenario(), "/nowhere/test.yaml", options);
  REQUIRE(loaded.scenario);
  CHECK(loaded.scenario->variants[0].costs_path == (kRoot / "scenarios/costs/zero.yaml").string());
  options.files_must_exist = false;
  CHECK(parse_scenario(replaced(small_scenario(), "zero", "mine"), "/nowhere/test.yaml", options)
            .scenario);
}

TEST_CASE("an unknown cost table is answered with the known ones", "[app][scenario]") {
  const LoadedScenario loaded = load(replaced(small_scenario(), "costs: zero", "costs: zer"));
  CHECK(hint_of(loaded).rfind("did you mean 'zero'? tables: ", 0) == 0);
}

TEST_CASE("a file that cannot be read is a fault like others", "[app][scenario]") {
  CHECK(said(load_scenario("/nowhere/at/all.yaml")) ==
        std::vector<std::string>{"file:1:1: error: the scenario cannot be opened"});
  CHECK(said(load_scenario("/tmp")) ==
        std::vector<std::string>{"file:1:1: error: a folder, not a scenario file"});
}

}  // namespace tapestry::tests::rules_test
