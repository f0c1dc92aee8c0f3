// One base and its variants: merging, removing, multiplying.
#include "app/scenario/variants.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::variants_test {

using namespace app;

namespace {

std::vector<std::string> names_of(const LoadedScenario& loaded) {
  std::vector<std::string> names;
  for (const Scenario& variant : loaded.scenario->variants)
    names.push_back(variant.variant);
  return names;
}

int depth_of(const Scenario& scenario) {
  return std::get<VectorDevice>(scenario.devices[1].kind).depth;
}

}  // namespace

TEST_CASE("a file without variants has one, named base", "[app][scenario]") {
  const LoadedScenario loaded = load(small_scenario());
  REQUIRE(said(loaded).empty());
  CHECK(names_of(loaded) == std::vector<std::string>{"base"});
}

TEST_CASE("a variant changes what it names and keeps the rest", "[app][scenario]") {
  const LoadedScenario loaded = load(small_scenario() + R"(variants:
  plain: {}
  deep: {seed: 5, devices: {guest.vec0: {depth: 128}},
         workloads: {echo: {kind: ping, from: guest, to: host}}}
)");
  REQUIRE(said(loaded).empty());
  const Scenario& plain = loaded.scenario->variants[0];
  const Scenario& deep = loaded.scenario->variants[1];
  CHECK(names_of(loaded) == std::vector<std::string>{"plain", "deep"});
  CHECK(depth_of(plain) == 64);
  CHECK(depth_of(deep) == 128);
  CHECK(std::get<VectorDevice>(deep.devices[1].kind).transport == Transport::tap);
  CHECK(plain.seed == 1);
  CHECK(deep.seed == 5);
  CHECK(plain.workloads.size() == 1);
  REQUIRE(deep.workloads.size() == 2);
  CHECK(deep.workloads[1].name == "echo");  // behind what the base has
}

TEST_CASE("a changed kind starts a thing afresh", "[app][scenario]") {
  const std::string text =
      replaced(small_scenario(), "attach: host.tap0,", "attach: host.tap0, depth: 128,");
  const LoadedScenario loaded = load(text + R"(variants:
  legacy: {devices: {guest.vec0: {kind: legacy-tap, attach: host.tap0, address: 10.77.0.2/24}}}
  line: {devices: {guest.vec0: {line: "vec0:transport=hybrid,ifname=tap0", address: 10.77.0.2/24}}}
  same: {devices: {guest.vec0: {kind: vector, gro: false}}}
)");
  REQUIRE(said(loaded).empty());
  CHECK(std::holds_alternative<LegacyTapDevice>(loaded.scenario->variants[0].devices[1].kind));
  CHECK(depth_of(loaded.scenario->variants[1]) == 64);
  CHECK(depth_of(loaded.scenario->variants[2]) == 128);
}

TEST_CASE("~ removes from the base, and only what is there", "[app][scenario]") {
  const LoadedScenario loaded =
      load(small_scenario() + "variants: {idle: {workloads: {udp: ~}}}\n");
  REQUIRE(said(loaded).empty());
  CHECK(loaded.scenario->variants[0].workloads.empty());
  CHECK(said(load(small_scenario() + "variants: {idle: {workloads: {ping: ~}}}\n")) ==
        std::vector<std::string>{
            "file:12:37: error: variants.idle.workloads.ping: '~' removes an entry of the base, "
            "which has no 'ping'"});
}

TEST_CASE("a matrix multiplies its variant, the last axis fastest", "[app][scenario]") {
  const LoadedScenario loaded = load(small_scenario() + R"(variants:
  v:
    devices: {guest.vec0: {gro: false}}
    matrix:
      devices.guest.vec0.depth: [32, 64]
      devices.guest.vec0.transport: [tap, hybrid]
)");
  REQUIRE(said(loaded).empty());
  CHECK(names_of(loaded) ==
        std::vector<std::string>{"v-32-tap", "v-32-hybrid", "v-64-tap", "v-64-hybrid"});
  const auto& last = std::get<VectorDevice>(loaded.scenario->variants[3].devices[1].kind);
  CHECK(last.depth == 64);
  CHECK(last.transport == Transport::hybrid);
  CHECK_FALSE(last.gro);
}

TEST_CASE("a matrix can add a key and choose whole maps", "[app][scenario]") {
  const LoadedScenario loaded = load(small_scenario() + R"(variants:
  v:
    matrix:
      machines.guest.sysctl.net.core.netdev_budget: [16, 300]
      workloads.udp: [{kind: ping, from: guest, to: host}]
)");
  REQUIRE(said(loaded).empty());
  CHECK(names_of(loaded) == std::vector<std::string>{"v-16-0", "v-300-0"});
  CHECK(loaded.scenario->variants[1].machines[1].sysctl.netdev_budget == 300);
}

TEST_CASE("a faulty matrix is refused", "[app][scenario]") {
  struct Row {
    const char* variants;
    const char* message;
  };
  const Row rows[] = {
      {"v: {matrix: 3}", "a matrix is a map from paths to lists of values, not '3'"},
      {"v: {matrix: {}}", "not an empty one"},
      {"v: {matrix: {seed: 3}}", "maps each path to a list of values, not to '3'"},
      {"v: {matrix: {seed: []}}", "not to an empty list"},
      {"v: {matrix: {guest.vec0.depth: [1]}}", "a path begins with a section, not with 'guest'"},
      {"v: {matrix: {devices.guest.vec9.depth: [1]}}", "there is no device 'guest.vec9'"},
      {"v: {matrix: {seed.x: [1]}}", "seed is '1': it has no entries"},
      {"v: {matrix: {seed: [1, 1]}}", "two variants are named 'v-1'"},
      {"v-1: {}\n  v: {matrix: {seed: [1]}}", "two variants are named 'v-1'"},
  };
  for (const Row& row : rows) {
    const std::string text = replaced(small_scenario(), "costs: zero", "costs: zero\nseed: 1");
    const LoadedScenario loaded = load(text + "variants:\n  " + row.variants + "\n");
    INFO(row.variants << " -> " << (said(loaded).empty() ? "nothing" : said(loaded).front()));
    REQUIRE_FALSE(loaded.diagnostics.empty());
    CHECK(said(loaded).front().find(row.message) != std::string::npos);
  }
}

TEST_CASE("names are what they look like: no, on, null and 1.10", "[app][scenario]") {
  std::string text = small_scenario() + "variants:\n  no: {}\n  on: {}\n  null: {}\n  1.10: {}\n";
  text += "published:\n  - {variant: 1.10, workload: udp, metric: drops, value: 0, source: no}\n";
  text += "expect:\n  - that: 1.10.udp.drops <= null.udp.drops\n";
  const LoadedScenario loaded = load(replaced(text, "title: small", "title: 1.10"));
  REQUIRE(said(loaded).empty());
  CHECK(names_of(loaded) == std::vector<std::string>{"no", "on", "null", "1.10"});
  CHECK(loaded.scenario->title == "1.10");
  CHECK(loaded.scenario->published.front().source == "no");
  CHECK(loaded.scenario->published.front().name.variant == "1.10");
}

TEST_CASE("a fault of the base is told once, a fault of a variant with its name",
          "[app][scenario]") {
  const std::string variants =
      "variants:\n  a: {}\n  b: {devices: {guest.vec0: {depth: 0}}}\n  c: {}\n";
  CHECK(said(load(replaced(small_scenario(), "cpus: 2", "cpus: 0") + variants)) ==
        std::vector<std::string>{
            "file:5:50: error: machines.host.cpus: 0 is out of range, which is 1 to 64",
            "file:14:37: error: variants.b.devices.guest.vec0.depth: 0 is out of range, which is 1 "
            "to 1024 "
            "(in variant b)"});
}

}  // namespace tapestry::tests::variants_test
