// --set: paths into a scenario, and what they change.
#include "app/scenario/overrides.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::overrides_test {

using namespace app;

namespace {

std::string two_variants() {
  return small_scenario() + R"(variants:
  deep: {devices: {guest.vec0: {depth: 128}}}
  legacy:
    devices:
      guest.vec0: ~
      guest.eth0: {kind: legacy-tap, attach: host.tap0, address: 10.77.0.2/24}
)";
}

}  // namespace

TEST_CASE("an override replaces what the file says", "[app][scenario]") {
  const LoadedScenario loaded =
      load(small_scenario(),
           {"devices.guest.vec0.depth=32", "workloads.udp.size=64B", "seed=7",
            "machines.guest.sysctl.net.core.netdev_budget=16", "title=other", "stop=1s"});
  REQUIRE(said(loaded).empty());
  const Scenario& scenario = loaded.scenario->variants.front();
  CHECK(std::get<VectorDevice>(scenario.devices[1].kind).depth == 32);
  CHECK(std::get<UdpStreamWorkload>(scenario.workloads[0].kind).size == core::Bytes{64});
  CHECK(scenario.seed == 7);
  CHECK(scenario.machines[1].sysctl.netdev_budget == 16);
  CHECK(loaded.scenario->title == "other");
  CHECK(scenario.stop == std::chrono::seconds(1));
}

TEST_CASE("the last of several overrides of one path wins", "[app][scenario]") {
  const LoadedScenario loaded = load(small_scenario(), {"seed=2", "seed=3"});
  REQUIRE(said(loaded).empty());
  CHECK(loaded.scenario->variants.front().seed == 3);
}

TEST_CASE("a whole map can be set", "[app][scenario]") {
  const LoadedScenario loaded =
      load(small_scenario(), {"workloads.echo={kind: ping, from: guest, to: host, count: 3}"});
  REQUIRE(said(loaded).empty());
  CHECK(loaded.scenario->variants.front().workloads.size() == 2);
}

TEST_CASE("an override wins over every variant that has the thing", "[app][scenario]") {
  const LoadedScenario loaded = load(two_variants(), {"devices.guest.vec0.depth=16"});
  REQUIRE(said(loaded).empty());
  const auto& variants = loaded.scenario->variants;
  CHECK(std::get<VectorDevice>(variants[0].devices[1].kind).depth == 16);
  CHECK(std::holds_alternative<LegacyTapDevice>(variants[1].devices[1].kind));
}

TEST_CASE("one variant alone can be changed", "[app][scenario]") {
  const LoadedScenario loaded =
      load(two_variants(), {"variants.deep.devices.guest.vec0.depth=256"});
  REQUIRE(said(loaded).empty());
  CHECK(std::get<VectorDevice>(loaded.scenario->variants[0].devices[1].kind).depth == 256);
}

TEST_CASE("an override can reach into lists", "[app][scenario]") {
  const std::string text = small_scenario() + "expect:\n  - that: base.udp.drops == 0\n";
  const LoadedScenario loaded = load(text, {"expect[0].that=base.udp.drops < 5"});
  REQUIRE(said(loaded).empty());
  CHECK(loaded.scenario->expectations.front().that == "base.udp.drops < 5");
}

TEST_CASE("a faulty override points into its argument", "[app][scenario]") {
  struct Row {
    const char* argument;
    const char* message;
  };
  const Row rows[] = {
      {"devices", "--set:1:1: error: no '=' in --set"},
      {"=5", "--set:1:1: error: the path is missing before '='"},
      {"seed=", "--set:1:6: error: the value is missing after '='"},
      {"seed=x", "--set:1:6: error: seed: 'x' is not a whole number without unit"},
      {"devices.guest.vec0.depht=3",
       "--set:1:20: error: devices.guest.vec0.depht: unknown key 'depht' in a device"},
      {"devices.guest.vec1.depth=3",
       "--set:1:9: error: devices.guest.vec1.depth: there is no device 'guest.vec1'"},
      {"devices.guest.vec0.depth=0",
       "--set:1:26: error: devices.guest.vec0.depth: 0 is out of range"},
      {"guest.vec0.depth=3", "--set:1:1: error: guest: unknown key 'guest' in the scenario"},
      {"devices..depth=3", "--set:1:9: error: devices..depth: '.depth' cannot name a device"},
      {"workloads.udp.size.x=3",
       "--set:1:20: error: workloads.udp.size is '1472B': it has no entries"},
      {"workloads.udp.=3", "--set:1:15: error: a name is missing in the path"},
      {"expect[3].that=x", "--set:1:7: error: expect has no item [3]"},
      {"expect[x]=1", "--set:1:7: error: expected a number in brackets"},
      {"seed=[1", "--set:1:7: error: a '[' is never closed"},
      {"seed={a: 1, a: 2}", "--set:1:13: error: a: the key 'a' appears twice"},
      {"machines={}", "--set:1:10: error: the scenario: no machine"},
      {"seed=\x01", "--set:1:6: error: a control character"},
  };
  const std::string text = replaced(small_scenario(), "duration", "size: 1472B, duration");
  for (const Row& row : rows) {
    const std::vector<std::string> lines = said(load(text, {row.argument}));
    INFO(row.argument << " -> " << (lines.empty() ? "nothing" : lines.front()));
    REQUIRE_FALSE(lines.empty());
    CHECK(std::any_of(lines.begin(), lines.end(),
                      [&row](const std::string& line) { return line.rfind(row.message, 0) == 0; }));
  }
}

TEST_CASE("the second faulty override is known by its number", "[app][scenario]") {
  const std::vector<std::string> lines = said(load(small_scenario(), {"seed=1", "seed=x"}));
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().rfind("--set:2:6: error:", 0) == 0);
}

}  // namespace tapestry::tests::overrides_test
