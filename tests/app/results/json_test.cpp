// The JSON document and its schema: what is printed is valid, and the schema knows every metric.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "app/results/output.hpp"
#include "app/scenario/loader.hpp"
#include "tests/support/program.hpp"

namespace tapestry::tests::json_test {

using namespace app;

namespace {

const std::string kRoot = TAPESTRY_SOURCE_ROOT;

nlohmann::json schema() {
  return nlohmann::json::parse(read_text(kRoot + "/scenarios/schema/results.json"));
}

// What the schema says against a document.
std::vector<std::string> faults_of(const nlohmann::json& document) {
  const nlohmann::json schema_document = schema();
  valijson::Schema parsed;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_document), parsed);
  valijson::Validator validator;
  valijson::ValidationResults results;
  validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(document), &results);
  std::vector<std::string> faults;
  for (const auto& fault : results) {
    std::string text;
    for (const std::string& step : fault.context)
      text += step;
    faults.push_back(text + ": " + fault.description);
  }
  return faults;
}

nlohmann::json printed(const ScenarioFile& file, const RunnerOptions& options) {
  const RunReport report = run_scenario(file, options);
  return nlohmann::json::parse(
      print_json(file, report, judge_all(file, report), {"s.yaml", {"seed=1"}, "seams"}));
}

ScenarioFile shipped(const std::string& name) {
  LoadOptions shorter;  // 20 ms of a stream have every metric of the whole
  if (name == "uml-on-this-host.yaml")
    shorter.overrides = {"workloads.stream.duration=20ms", "workloads.maerts.duration=20ms"};
  LoadedScenario loaded = load_scenario(kRoot + "/scenarios/" + name, shorter);
  REQUIRE(loaded.scenario);
  return std::move(*loaded.scenario);
}

}  // namespace

TEST_CASE("the JSON of every shipped scenario is valid by the schema that ships", "[app][schema]") {
  const std::string name = GENERATE(as<std::string>{}, "packets-per-syscall.yaml",
                                    "uml-on-this-host.yaml", "pktgen-burst.yaml");
  const nlohmann::json document = printed(shipped(name), {});
  CHECK(faults_of(document) == std::vector<std::string>{});
  CHECK_FALSE(document["results"].empty());
  CHECK_FALSE(document.contains("error"));
}

TEST_CASE("the JSON of a run that was cut short is valid, and says why", "[app][schema]") {
  RunnerOptions options;
  options.timeout = std::chrono::milliseconds(0);
  const nlohmann::json document = printed(shipped("packets-per-syscall.yaml"), options);
  CHECK(faults_of(document) == std::vector<std::string>{});
  CHECK(document.contains("error"));
  CHECK(document["results"][0]["finished"] == false);
}

TEST_CASE("the schema refuses what is no result", "[app][schema]") {
  RunnerOptions options;
  options.variants = {"legacy"};
  options.workloads = {"ping"};
  const nlohmann::json good = printed(shipped("packets-per-syscall.yaml"), options);
  REQUIRE(faults_of(good).empty());
  struct Row {
    const char* pointer;
    nlohmann::json value;
  };
  const Row rows[] = {{"/schema_version", 2},
                      {"/fingerprint", "xyz"},
                      {"/provenance/seed", -1},
                      {"/provenance/settle", "never"},
                      {"/results/0/variant", 7},
                      {"/results/0/finished", "yes"},
                      {"/results/0/metrics/drops", -1},
                      {"/results/0/metrics/drops", 1.5},
                      {"/results/0/metrics/throughput_bps", "fast"},
                      {"/results/0/metrics/host_cpu_percent", -1},
                      {"/results/0/drops_by_reason/lower", 1},
                      {"/expectations", 3}};
  for (const Row& row : rows) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(row.pointer)] = row.value;
    INFO(row.pointer << " = " << row.value);
    CHECK_FALSE(faults_of(bad).empty());
  }
  for (const char* key : {"schema_version", "provenance", "fingerprint", "results"}) {
    nlohmann::json bad = good;
    bad.erase(key);
    INFO("without " << key);
    CHECK_FALSE(faults_of(bad).empty());
  }
}

TEST_CASE("the schema, the list of metrics and what runs report are the same metrics",
          "[app][schema]") {
  const nlohmann::json metrics = schema()["definitions"]["metrics"];
  std::vector<std::string> in_schema;
  for (const auto& [name, definition] : metrics["properties"].items())
    in_schema.push_back(name);
  std::vector<std::string> listed;
  for (const MetricHelp& metric : metric_table())
    listed.emplace_back(metric.name);
  std::sort(listed.begin(), listed.end());
  CHECK(in_schema == listed);

  std::vector<std::regex> of_machines;
  for (const auto& [pattern, definition] : metrics["patternProperties"].items())
    of_machines.emplace_back(pattern);
  const auto is_of_machine = [&](const std::string& metric) {
    return std::any_of(of_machines.begin(), of_machines.end(), [&](const std::regex& pattern) {
      return std::regex_match(metric, pattern);
    });
  };
  std::set<std::string> reported;
  for (const char* name :
       {"packets-per-syscall.yaml", "uml-on-this-host.yaml", "pktgen-burst.yaml"})
    for (const RunResult& result : run_scenario(shipped(name), {}).results)
      for (const auto& [metric, value] : result.metrics)
        if (!is_of_machine(metric)) reported.insert(metric);
  CHECK(std::vector<std::string>(reported.begin(), reported.end()) == listed);
}

}  // namespace tapestry::tests::json_test
