// The scenarios that ship are good, and one slip of the finger anywhere in them is found.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "app/scenario/guards.hpp"
#include "app/scenario/loader.hpp"
#include "app/scenario/yaml_reader.hpp"
#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::shipped_test {

using namespace app;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped_scenarios() {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kRoot / "scenarios")) {
    if (entry.path().extension() == ".yaml") found.insert(entry.path());
  }
  return {found.begin(), found.end()};
}

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Keys that are attributes or sections. The others are names that the author chose: the maps that
// hold them.
bool holds_names(const std::string& path) {
  static const std::set<std::string> kSections = {"machines", "devices", "links", "workloads",
                                                  "variants", "sides",   "matrix"};
  return kSections.contains(path.substr(path.rfind('.') + 1));
}

void collect_keys(const Value& value,
                  std::vector<std::pair<const Value*, const Value::Entry*>>& keys) {
  for (const Value& item : value.items)
    collect_keys(item, keys);
  for (const Value::Entry& entry : value.entries) {
    if (!holds_names(value.path)) keys.emplace_back(&value, &entry);
    collect_keys(entry.value, keys);
  }
}

std::size_t offset_of(const std::string& text, Position at) {
  std::size_t offset = 0;
  for (int line = 1; line < at.line; ++line)
    offset = text.find('\n', offset) + 1;
  return offset + static_cast<std::size_t>(at.column) - 1;
}

}  // namespace

TEST_CASE("every shipped scenario loads, and names its schema in its first line",
          "[app][scenario]") {
  REQUIRE(shipped_scenarios().size() >= 2);
  for (const fs::path& path : shipped_scenarios()) {
    INFO(path.filename().string());
    const LoadedScenario loaded = load_scenario(path.string());
    CHECK(said(loaded) == std::vector<std::string>{});
    CHECK(contents(path).rfind("# yaml-language-server: $schema=schema/scenario.json\n", 0) == 0);
  }
}

TEST_CASE("one misspelt key anywhere in a shipped scenario is refused with its exact path",
          "[app][scenario]") {
  for (const fs::path& path : shipped_scenarios()) {
    const std::string text = contents(path);
    Diagnostics diagnostics;
    const auto tree = read_yaml(text, diagnostics);
    REQUIRE(tree);
    std::vector<std::pair<const Value*, const Value::Entry*>> keys;
    collect_keys(*tree, keys);
    CHECK(keys.size() >= 50);
    for (const auto& key : keys) {
      const auto& map = key.first;
      const auto& entry = key.second;
      const std::string typo = entry->key + entry->key.back();  // budgett
      std::string changed = text;
      changed.insert(offset_of(text, entry->key_at) + entry->key.size(), 1, entry->key.back());
      const LoadedScenario loaded = load(changed);
      const std::string expected = join_path(map->path, typo) + ": unknown key '" + typo + "'";
      const bool told = std::any_of(
          loaded.diagnostics.begin(), loaded.diagnostics.end(),
          [&, at = entry->key_at](const Diagnostic& d) {  // clang 14 captures no bindings
            return d.at == at && d.text.rfind(expected, 0) == 0;
          });
      if (!told) {
        INFO(path.filename().string()
             << ": " << expected << ", but said "
             << Catch::StringMaker<std::vector<std::string>>::convert(said(loaded)));
        CHECK(told);
      }
      CHECK_FALSE(loaded.scenario.has_value());
    }
  }
}

TEST_CASE("a machine renamed in one place only is missed in the others", "[app][scenario]") {
  for (const fs::path& path : shipped_scenarios()) {
    const std::string text = contents(path);
    Diagnostics diagnostics;
    const auto tree = read_yaml(text, diagnostics);
    REQUIRE(tree);
    for (const Value::Entry& machine : tree->find("machines")->value.entries) {
      std::string changed = text;
      changed.insert(offset_of(text, machine.key_at), 1, 'x');
      const LoadedScenario loaded = load(changed);
      REQUIRE_FALSE(loaded.diagnostics.empty());
      CHECK(hint_of(loaded).rfind("did you mean 'x" + machine.key + "'?", 0) == 0);
    }
  }
}

TEST_CASE("the flagship has its variants, workloads and pins", "[app][scenario]") {
  const LoadedScenario loaded =
      load_scenario((kRoot / "scenarios/packets-per-syscall.yaml").string());
  REQUIRE(loaded.scenario);
  std::vector<std::string> variants;
  for (const Scenario& variant : loaded.scenario->variants) {
    variants.push_back(variant.variant);
    std::vector<std::string> workloads;
    for (const Workload& workload : variant.workloads)
      workloads.push_back(workload.name);
    CHECK(workloads == std::vector<std::string>{"replay", "udp", "rr", "ping"});
    CHECK(variant.machines[0].cpus == 2);
    CHECK(variant.machines[1].pin == 0);
  }
  CHECK(variants == std::vector<std::string>{"legacy", "tap", "hybrid", "raw"});
}

}  // namespace tapestry::tests::shipped_test
