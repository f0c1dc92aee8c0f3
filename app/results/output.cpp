#include "app/results/output.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "app/version.hpp"

namespace tapestry::app {

namespace {

using Json = nlohmann::ordered_json;

Json number(const MetricValue& value) {
  return std::visit([](auto plain) { return Json(plain); }, value);
}

Json provenance_json(const ScenarioFile& file, const Provenance& provenance) {
  Json costs = Json::array();
  Json seeds = Json::array();
  for (const Scenario& scenario : file.variants) {
    if (std::find(costs.begin(), costs.end(), scenario.costs) == costs.end())
      costs.push_back(scenario.costs);
    if (std::find(seeds.begin(), seeds.end(), scenario.seed) == seeds.end())
      seeds.push_back(scenario.seed);
  }
  return Json{{"version", std::string(version())},
              {"commit", std::string(commit())},
              {"compiler", std::string(compiler())},
              {"boost", std::string(boost())},
              {"scenario", provenance.scenario},
              {"title", file.title},
              {"seed", seeds.size() == 1 ? seeds[0] : seeds},
              {"overrides", provenance.overrides},
              {"cost_table", costs.size() == 1 ? costs[0] : costs},
              {"settle", provenance.settle}};
}

Json batches_json(const std::vector<Batches>& all) {
  Json rows = Json::array();
  for (const Batches& batches : all) {
    Json ends = Json::object();
    for (const auto& [why, count] : batches.ends)
      if (count != 0) ends[why] = count;
    Json sizes = Json::object();
    for (std::size_t i = 0; i < core::BatchSizes::kClasses; ++i)
      if (const std::uint64_t count = batches.sizes.in_class(i); count != 0)
        sizes[std::to_string(core::BatchSizes::low(i))] = count;
    rows.push_back(Json{{"where", batches.where},
                        {"count", batches.sizes.batches()},
                        {"items", batches.sizes.items()},
                        {"ends", ends},
                        {"sizes", sizes}});
  }
  return rows;
}

}  // namespace

Metrics metrics_of(const RunReport& report) {
  Metrics metrics;
  for (const RunResult& result : report.results)
    metrics[result.variant][result.workload] = result.metrics;
  return metrics;
}

std::vector<JudgedExpectation> judge_all(const ScenarioFile& file, const RunReport& report) {
  const Metrics metrics = metrics_of(report);
  std::vector<JudgedExpectation> judged;
  for (const Expectation& expectation : file.expectations) {
    // What was left out on purpose is not judged.
    const bool ran = std::all_of(
        expectation.metrics.begin(), expectation.metrics.end(), [&](const MetricName& name) {
          const auto variant = metrics.find(name.variant);
          return variant != metrics.end() && variant->second.contains(name.workload);
        });
    if (ran) judged.push_back({expectation, judge(expectation, metrics, file.published)});
  }
  return judged;
}

std::string print_json(const ScenarioFile& file, const RunReport& report,
                       const std::vector<JudgedExpectation>& judged, const Provenance& provenance) {
  Json document;
  document["schema_version"] = 1;
  document["provenance"] = provenance_json(file, provenance);
  if (!report.fingerprint.empty()) document["fingerprint"] = report.fingerprint;
  document["results"] = Json::array();
  for (const RunResult& result : report.results) {
    Json row{{"variant", result.variant}, {"workload", result.workload}};
    row["finished"] = result.finished;
    row["fingerprint"] = result.fingerprint;
    Json metrics = Json::object();
    for (const auto& [name, value] : result.metrics)
      metrics[name] = number(value);
    row["metrics"] = metrics;
    Json drops = Json::object();
    for (const auto& [reason, packets] : result.drops)
      drops[reason] = packets;
    row["drops_by_reason"] = drops;
    if (result.busiest)
      row["busiest"] = Json{{"name", result.busiest->name},
                            {"percent", result.busiest->percent},
                            {"binds", result.busiest->binds()}};
    for (const auto& [violation, known] : result.napi_violations)
      row["napi_contract"].push_back(Json{{"instance", violation.instance},
                                          {"rule", std::string(irq::rule_text(violation.rule))},
                                          {"step", std::string(violation.step)},
                                          {"first_ns", core::nanos_since_start(violation.first)},
                                          {"times", violation.times},
                                          {"known", known}});
    row["batches"] = batches_json(result.batches);
    Json published = Json::object();
    for (const Published& figure : file.published)
      if (figure.name.variant == result.variant && figure.name.workload == result.workload)
        published[figure.name.metric] = figure.value;
    if (!published.empty()) row["published"] = published;
    if (!result.captures.empty()) row["captures"] = result.captures;
    if (!result.warning.empty()) row["warning"] = result.warning;
    document["results"].push_back(std::move(row));
  }
  document["expectations"] = Json::array();
  for (const JudgedExpectation& one : judged)
    document["expectations"].push_back(Json{{"text", one.expectation.that},
                                            {"passed", one.verdict.passed},
                                            {"detail", one.verdict.text}});
  if (report.ending != Ending::complete)
    document["error"] = report.error.empty() ? "interrupted" : report.error;
  return document.dump(2) + "\n";
}

std::string print_csv(const ScenarioFile& file, const RunReport& report,
                      const Provenance& provenance) {
  std::string text = "run,scenario,commit,fingerprint,variant,workload,metric,value,published\n";
  std::size_t run = 0;
  for (const RunResult& result : report.results) {
    ++run;
    for (const auto& [name, value] : result.metrics) {
      std::string published;
      for (const Published& figure : file.published)
        if (figure.name == MetricName{result.variant, result.workload, name})
          published = Json(figure.value).dump();
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", run, provenance.scenario, commit(),
                          result.fingerprint, result.variant, result.workload, name,
                          number(value).dump(), published);
    }
  }
  return text;
}

}  // namespace tapestry::app
