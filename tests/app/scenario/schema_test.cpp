// The tables of attributes and the schema that is made of them.
#include "app/scenario/schema.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "app/scenario/attribute.hpp"
#include "app/scenario/guards.hpp"
#include "app/scenario/scalar.hpp"
#include "app/scenario/yaml_reader.hpp"
#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::schema_test {

using namespace app;

namespace {

// What the schema alone says about a scenario.
std::vector<std::string> schema_says(const std::string& text) {
  Diagnostics diagnostics;
  const auto tree = read_yaml(text, diagnostics);
  REQUIRE(tree);
  check_schema(*tree, Diagnostics(), diagnostics);
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : diagnostics.sorted())
    lines.push_back(diagnostic.format("file"));
  return lines;
}

// Whether the limit or default is something that the attribute could be set to.
bool is_value_of(AttributeType type, const std::string& text) {
  switch (type) {
    case AttributeType::flag:
      return Scalar<bool>::parse(text).ok();
    case AttributeType::count:
      return parse_count(text).ok();
    case AttributeType::number:
      return parse_number(text).ok();
    case AttributeType::duration:
      return core::parse_duration(text).ok();
    case AttributeType::size:
      return core::parse_size(text).ok();
    case AttributeType::rate:
      return core::parse_rate(text).ok();
    case AttributeType::percent:
      return core::parse_percent(text).ok();
    default:
      return true;
  }
}

}  // namespace

TEST_CASE("the schema that ships is the one of the tables", "[app][scenario]") {
  const std::filesystem::path path = kRoot / "scenarios/schema/scenario.json";
  if (std::getenv("TAPESTRY_WRITE_SCHEMA") != nullptr) std::ofstream(path) << scenario_schema();
  std::ifstream stream(path);
  const std::string shipped{std::istreambuf_iterator<char>(stream), {}};
  INFO("after a change of the tables run this test once with TAPESTRY_WRITE_SCHEMA=1");
  CHECK((shipped == scenario_schema()));
}

TEST_CASE("the schema is draft-07 and closed but for private notes", "[app][scenario]") {
  const auto schema = nlohmann::json::parse(scenario_schema());
  CHECK(schema.at("$schema") == "http://json-schema.org/draft-07/schema#");
  CHECK(schema.at("additionalProperties") == false);
  CHECK(schema.at("patternProperties").contains("^x-"));
  for (const auto& [name, definition] : schema.at("definitions").items()) {
    INFO(name);
    const bool chooses = definition.contains("allOf");  // among kinds, each of which is closed
    CHECK((chooses || definition.value("additionalProperties", true) == false));
  }
}

TEST_CASE("every attribute says what it is for, and its limits and default are values of its type",
          "[app][scenario]") {
  std::set<std::string> titles;
  for (const AttributeGroup& group : attribute_groups()) {
    INFO(group.title);
    CHECK(titles.insert(group.title).second);
    CHECK_FALSE(group.help.empty());
    std::set<std::string> names;
    for (const Attribute& attribute : group.attributes) {
      INFO(attribute.name);
      CHECK(names.insert(attribute.name).second);
      CHECK_FALSE(attribute.help.empty());
      CHECK_FALSE((attribute.required && !attribute.assumed.empty()));
      for (const std::string& text : {attribute.low, attribute.high, attribute.assumed}) {
        if (text.empty() || text == attribute.unlimited) continue;
        CHECK(is_value_of(attribute.type, text));
      }
      if (attribute.type == AttributeType::choice && !attribute.assumed.empty()) {
        const auto& choices = attribute.choices;
        CHECK(std::find(choices.begin(), choices.end(), attribute.assumed) != choices.end());
      }
    }
  }
}

TEST_CASE("the schema accepts what the loader accepts", "[app][scenario]") {
  CHECK(schema_says(small_scenario()).empty());
  CHECK(schema_says(small_scenario() +
                    "variants: {a: {devices: {guest.vec0: ~, host.tap0: {mtu: 9000}}, seed: 3}}")
            .empty());
  CHECK(schema_says(replaced(small_scenario(), "kernel: \"6.18\"", "kernel: 6.18")).empty());
  CHECK(schema_says(replaced(small_scenario(), "title: small", "title: 1.10")).empty());
}

TEST_CASE("the schema alone finds wrong shapes, words, units and keys", "[app][scenario]") {
  struct Row {
    const char* what;
    const char* by;
    const char* message;
  };
  const Row rows[] = {
      {"cpus: 2", "cpus: two",
       "file:5:50: error: machines.host.cpus: 'two' is of the wrong type here"},
      {"cpus: 2", "cpus: 65", "file:5:50: error: machines.host.cpus: '65' is out of range"},
      {"cpus: 2", "cpu: 2", "file:5:9: error: machines.host: an unknown key 'cpu'"},
      {"kernel: \"6.1\",", "kernel: 6.2,",
       "file:6:34: error: machines.guest.kernel: '6.2' is none of the words"},
      {"kind: tap", "kind: tapp",
       "file:8:21: error: devices.host.tap0.kind: 'tapp' is none of the words"},
      {"duration: 1ms", "duration: 1KiB",
       "file:11:60: error: workloads.udp.duration: '1KiB' is not written as"},
      {"duration: 1ms", "duration: 1",
       "file:11:60: error: workloads.udp.duration: '1' is of the wrong type here"},
      {", duration: 1ms", "", "file:11:8: error: workloads.udp: 'duration' is missing"},
      {"title: small\n", "", "file:1:1: error: the scenario: 'title' is missing"},
  };
  for (const Row& row : rows) {
    const std::vector<std::string> lines =
        schema_says(replaced(small_scenario(), row.what, row.by));
    INFO(row.by << " -> " << (lines.empty() ? "nothing" : lines.front()));
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().rfind(row.message, 0) == 0);
  }
}

TEST_CASE("a fault of the base that every variant covers up is still found", "[app][scenario]") {
  const std::string text =
      replaced(small_scenario(), "transport: tap", "depth: many, transport: tap") +
      "variants: {a: {devices: {guest.vec0: {depth: 64}}}}\n";
  CHECK(said(load(text)) ==
        std::vector<std::string>{
            "file:9:37: error: devices.guest.vec0.depth: 'many' is of the wrong type here"});
}

}  // namespace tapestry::tests::schema_test
