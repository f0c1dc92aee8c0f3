// `tapestry reference`: what people published, beside what the same scenario gives here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/cli/cli.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/shipped.hpp"
#include "app/results/layout.hpp"
#include "app/results/output.hpp"

namespace tapestry::app {

namespace {

struct Tally {
  int figures = 0;
  int far = 0;
};

// How far apart two figures may lie and still be called the same, close, or alike.
constexpr double kSame = 1.1;
constexpr double kAlike = 1.5;

std::string verdict_of(const Published& figure, double ours) {
  if (figure.low && figure.high && ours >= *figure.low && ours <= *figure.high)
    return "in its range";
  const double ratio = ours / figure.value;
  if (!(ratio > 0)) return "beyond 1.5x";
  const double apart = std::max(ratio, 1 / ratio);
  if (apart <= kSame) return "within 1.1x";
  return apart <= kAlike ? "within 1.5x" : "beyond 1.5x";
}

std::optional<double> metric_of(const RunReport& report, const MetricName& name) {
  for (const RunResult& result : report.results) {
    if (result.variant != name.variant || result.workload != name.workload) continue;
    const auto found = result.metrics.find(name.metric);
    if (found == result.metrics.end()) return std::nullopt;
    return std::visit([](auto plain) { return static_cast<double>(plain); }, found->second);
  }
  return std::nullopt;
}

// One metric after the other, each in the order of the file.
std::vector<Published> by_metric(std::vector<Published> figures) {
  std::vector<std::string> order;
  for (const Published& figure : figures)
    if (std::find(order.begin(), order.end(), figure.name.metric) == order.end())
      order.push_back(figure.name.metric);
  const auto place = [&order](const Published& figure) {
    return std::find(order.begin(), order.end(), figure.name.metric) - order.begin();
  };
  std::stable_sort(figures.begin(), figures.end(),
                   [&](const Published& a, const Published& b) { return place(a) < place(b); });
  return figures;
}

Tally print_figures(const ScenarioFile& file, const RunReport& report) {
  Tally tally;
  std::string metric;
  for (const Published& figure : by_metric(file.published)) {
    if (figure.name.metric != metric) {
      metric = figure.name.metric;
      fmt::print("  {:<26} {:>9} {:>9} {:>5}\n", metric, "published", "ours", "ratio");
    }
    const auto ours = metric_of(report, figure.name);
    ++tally.figures;
    const std::string verdict = ours ? verdict_of(figure, *ours) : "not measured";
    if (verdict == "beyond 1.5x" || !ours) ++tally.far;
    const std::string ratio =
        ours && figure.value != 0 ? fmt::format("{:.2f}", *ours / figure.value) : "-";
    fmt::print("    {:<24} {:>9} {:>9} {:>5}  {:<9}  {}\n",
               figure.name.variant + "." + figure.name.workload, layout::scaled(figure.value),
               ours ? layout::scaled(*ours) : "-", ratio, figure.fitted ? "fitted" : "predicted",
               verdict);
  }
  return tally;
}

}  // namespace

int reference_command(const std::vector<std::string>& files, const RunnerOptions& options) {
  int code = kGood;
  Tally all;
  for (const std::string& path : files.empty() ? shipped_scenarios() : files) {
    const auto file = load_or_explain({path, {}, {}});
    if (!file) return kUsage;
    if (file->published.empty()) {
      if (!files.empty()) fmt::print("{}: nothing is published for it\n", path);
      continue;
    }
    const RunReport report = run_scenario(*file, options);
    if (report.ending != Ending::complete) {
      fmt::print(stderr, "error: {}\n", report.error.empty() ? "interrupted" : report.error);
      return exit_code_of(report);
    }
    fmt::print("{}: {}\n", path, file->title);
    const Tally tally = print_figures(*file, report);
    all.figures += tally.figures;
    all.far += tally.far;
    const auto judged = judge_all(*file, report);
    const auto held = std::count_if(judged.begin(), judged.end(), [](const JudgedExpectation& one) {
      return one.verdict.passed;
    });
    fmt::print("  expectations: {} of {} hold\n\n", held, judged.size());
    if (static_cast<std::size_t>(held) != judged.size()) code = kExpectationFailed;
    std::fflush(stdout);
  }
  fmt::print("{} published figures, {} of them more than 1.5x off (docs/fidelity.md)\n",
             all.figures, all.far);
  return code;
}

}  // namespace tapestry::app
