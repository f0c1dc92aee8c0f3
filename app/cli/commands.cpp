#include "app/cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>

#include "app/cli/cli.hpp"
#include "app/cli/shipped.hpp"
#include "app/report/report.hpp"
#include "app/results/output.hpp"
#include "app/results/profile.hpp"
#include "app/run/capture_requests.hpp"
#include "app/scenario/loader.hpp"

namespace tapestry::app {

namespace {

LoadedScenario load(const std::string& file, const std::vector<std::string>& overrides) {
  LoadOptions options;
  options.overrides = overrides;
  options.costs_folders = {shipped_folder() + "/costs"};
  if (file != "-") return load_scenario(file, options);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  return parse_scenario(text, "-", options);
}

void print(const std::vector<Diagnostic>& diagnostics, const std::string& file) {
  for (const Diagnostic& diagnostic : diagnostics)
    fmt::print(stderr, "{}\n", diagnostic.format(file == "-" ? "<stdin>" : file));
}

Provenance provenance_of(const RunArguments& arguments) {
  return {arguments.scenario.file, arguments.scenario.overrides, arguments.settle};
}

// A scenario is as good as the tables that it counts with.
bool costs_are_good(const ScenarioFile& file) {
  std::vector<std::string> seen;
  for (const Scenario& scenario : file.variants) {
    if (std::find(seen.begin(), seen.end(), scenario.costs_path) != seen.end()) continue;
    seen.push_back(scenario.costs_path);
    if (const auto table = sched::load_cost_table(scenario.costs_path); !table) {
      fmt::print(stderr, "{}\n", table.error().message);
      return false;
    }
  }
  return true;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "error: cannot write {}\n", path);
  return false;
}

bool is_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, seed);
  return error == std::errc() && stopped == end;
}

// On standard error: which run wrote which file, since several runs number them; and warnings.
void print_notes(const RunReport& report) {
  for (const RunResult& result : report.results) {
    if (report.results.size() > 1)
      for (const std::string& path : result.captures)
        fmt::print(stderr, "{}: {}.{}\n", path, result.variant, result.workload);
    if (!result.warning.empty()) fmt::print(stderr, "warning: {}\n", result.warning);
  }
  for (const std::string& warning : report.warnings)
    fmt::print(stderr, "warning: {}\n", warning);
}

std::string first_difference(const RunResult& one, const RunResult& other) {
  for (std::size_t i = 0; i < std::min(one.counters.size(), other.counters.size()); ++i)
    if (one.counters[i] != other.counters[i])
      return fmt::format(": {} = {}, {} = {}", one.counters[i].name, one.counters[i].value,
                         other.counters[i].name, other.counters[i].value);
  return ": one has more counters";
}

bool keeps_contract(const RunReport& report) {
  for (const RunResult& result : report.results)
    for (const NapiBreach& breach : result.napi_violations)
      if (!breach.known) return false;
  return true;
}

}  // namespace

bool names_exist(const ScenarioFile& file, const RunnerOptions& options) {
  bool good = true;
  const auto look = [&](const char* what, const std::vector<std::string>& wanted, auto has) {
    for (const std::string& name : wanted) {
      if (has(name)) continue;
      fmt::print(stderr, "error: the scenario has no {} called {}\n", what, name);
      good = false;
    }
  };
  look("variant", options.variants, [&](const std::string& name) {
    return std::any_of(file.variants.begin(), file.variants.end(),
                       [&](const Scenario& scenario) { return scenario.variant == name; });
  });
  look("workload", options.workloads, [&](const std::string& name) {
    return std::any_of(file.variants.begin(), file.variants.end(), [&](const Scenario& scenario) {
      return std::any_of(scenario.workloads.begin(), scenario.workloads.end(),
                         [&](const Workload& workload) { return workload.name == name; });
    });
  });
  return good;
}

int exit_code_of(const RunReport& report) {
  switch (report.ending) {
    case Ending::complete:
      return kGood;
    case Ending::interrupted:
      return kInterrupted;
    case Ending::timed_out:
    case Ending::stuck:
      return kWatchdog;
    case Ending::failed:
      break;
  }
  return kHostError;
}

std::optional<ScenarioFile> load_or_explain(const ScenarioArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.seed.empty()) {
    if (!is_seed(arguments.seed)) {
      fmt::print(stderr, "error: --seed: '{}' is no whole number from 0 to {}\n", arguments.seed,
                 std::numeric_limits<std::uint64_t>::max());
      return std::nullopt;
    }
    overrides.push_back("seed=" + arguments.seed);
  }
  LoadedScenario loaded = load(arguments.file, overrides);
  print(loaded.diagnostics, arguments.file);
  if (loaded.scenario && !costs_are_good(*loaded.scenario)) return std::nullopt;
  return std::move(loaded.scenario);
}

int run_scenario_command(const RunArguments& arguments) {
  const auto file = load_or_explain(arguments.scenario);
  if (!file || !names_exist(*file, arguments.runner)) return kUsage;
  const auto faults = capture_faults(*file, arguments.scenario.file, arguments.runner.captures);
  for (const std::string& fault : faults)
    fmt::print(stderr, "error: {}\n", fault);
  if (!faults.empty()) return kUsage;
  const RunReport report = run_scenario(*file, arguments.runner);
  const auto judged = judge_all(*file, report);
  const Provenance provenance = provenance_of(arguments);
  std::string text;
  switch (arguments.format) {
    case Format::table:
      text = print_table(*file, report, judged, provenance);
      break;
    case Format::json:
      text = print_json(*file, report, judged, provenance);
      break;
    case Format::csv:
      text = print_csv(*file, report, provenance);
      break;
  }
  if (arguments.profile && arguments.format == Format::table) text += print_profile(report);
  std::fwrite(text.data(), 1, text.size(), stdout);  // whoever calls looks whether that was good
  print_notes(report);
  if (!report.error.empty()) fmt::print(stderr, "error: {}\n", report.error);
  if (report.ending == Ending::interrupted)
    fmt::print(stderr, "interrupted: results are partial\n");
  const bool written =
      (arguments.folded.empty() || write_file(arguments.folded, folded_stacks(report))) &&
      (arguments.report.empty() ||
       write_file(arguments.report, print_report(*file, report, judged, provenance)));
  if (!written) return kHostError;
  if (const int code = exit_code_of(report); code != kGood) return code;
  const bool all_hold = std::all_of(judged.begin(), judged.end(), [](const JudgedExpectation& one) {
    return one.verdict.passed;
  });
  return all_hold && keeps_contract(report) ? kGood : kExpectationFailed;
}

int check_command(const std::vector<std::string>& files,
                  const std::vector<std::string>& overrides) {
  int code = kGood;
  for (const std::string& file : files) {
    const LoadedScenario loaded = load(file, overrides);
    print(loaded.diagnostics, file);
    if (!loaded.scenario || !costs_are_good(*loaded.scenario)) {
      code = kUsage;
      continue;
    }
    std::size_t runs = 0;
    for (const Scenario& scenario : loaded.scenario->variants)
      runs += scenario.workloads.size();
    fmt::print("{}: good: {} variants, {} runs\n", file, loaded.scenario->variants.size(), runs);
  }
  return code;
}

int verify_command(const RunArguments& arguments) {
  const auto file = load_or_explain(arguments.scenario);
  if (!file || !names_exist(*file, arguments.runner)) return kUsage;
  struct Attempt {
    const char* name;
    sched::SettleMode mode;
  };
  static constexpr Attempt kAttempts[] = {{"seams", sched::SettleMode::seams},
                                          {"seams, again", sched::SettleMode::seams},
                                          {"always", sched::SettleMode::always},
                                          {"random", sched::SettleMode::random}};
  std::optional<RunReport> first;
  for (const Attempt& attempt : kAttempts) {
    RunnerOptions options = arguments.runner;
    options.settle_mode = attempt.mode;
    RunReport report = run_scenario(*file, options);
    if (report.ending != Ending::complete) {
      fmt::print(stderr, "error: {}\n", report.error.empty() ? "interrupted" : report.error);
      return exit_code_of(report);
    }
    fmt::print("{:<14} {}\n", attempt.name, report.fingerprint);
    if (!first) {
      first = std::move(report);
      continue;
    }
    for (std::size_t i = 0; i < report.results.size(); ++i) {
      if (report.results[i].fingerprint == first->results[i].fingerprint) continue;
      fmt::print(stderr, "error: {}.{} differs between \"{}\" and \"{}\"{}\n",
                 report.results[i].variant, report.results[i].workload, kAttempts[0].name,
                 attempt.name, first_difference(first->results[i], report.results[i]));
      return kNotDeterministic;
    }
  }
  return kGood;
}

}  // namespace tapestry::app
