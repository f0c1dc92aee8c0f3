// Results for people: 80 columns, one block per workload, one row per variant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/results/output.hpp"
#include "app/version.hpp"

namespace tapestry::app {

std::string with_prefix(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = prefix == 0 && value == std::floor(value) ? 0
                       : value < 9.995                           ? 2
                       : value < 99.95                           ? 1
                                                                 : 0;
  return fmt::format("{:.{}f}{}", value, decimals, kPrefixes[prefix]);
}

namespace {

std::optional<double> value_of(const RunResult& result, const std::string& metric) {
  const auto found = result.metrics.find(metric);
  if (found == result.metrics.end()) return std::nullopt;
  return std::visit([](auto plain) { return static_cast<double>(plain); }, found->second);
}

std::string scaled(std::optional<double> value) { return value ? with_prefix(*value) : "-"; }

std::string duration(std::optional<double> ns) {
  if (!ns) return "-";
  if (*ns < 9.995e5) return fmt::format("{:.1f}us", *ns / 1e3);
  return fmt::format("{:.2f}ms", *ns / 1e6);
}

std::string fixed(std::optional<double> value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::vector<std::string> workloads_of(const RunReport& report) {
  std::vector<std::string> names;
  for (const RunResult& result : report.results)
    if (std::find(names.begin(), names.end(), result.workload) == names.end())
      names.push_back(result.workload);
  return names;
}

std::string traffic_block(const RunReport& report, const std::string& workload) {
  std::string text =
      fmt::format("\n{:<11}{:>8} {:>8} {:>6} {:>7} {:>6} {:>9} {:>9} {:>6}\n", workload, "bit/s",
                  "pkt/call", "B/call", "irqs", "batch", "p50", "p99", "drops");
  for (const RunResult& result : report.results) {
    if (result.workload != workload) continue;
    text += fmt::format(
        "{:<11.11}{:>8} {:>8} {:>6} {:>7} {:>6} {:>9} {:>9} {:>6}\n", "  " + result.variant,
        scaled(value_of(result, "throughput_bps")),
        fixed(value_of(result, "packets_per_syscall"), 2),
        scaled(value_of(result, "bytes_per_syscall")), scaled(value_of(result, "interrupts")),
        fixed(value_of(result, "batch_mean"), 1), duration(value_of(result, "latency_p50_ns")),
        duration(value_of(result, "latency_p99_ns")), scaled(value_of(result, "drops")));
  }
  return text;
}

std::string call_block(const RunReport& report, const std::string& workload) {
  std::string text = fmt::format("\n{:<20}{:>12}\n", workload, "per call");
  for (const RunResult& result : report.results)
    if (result.workload == workload)
      text += fmt::format("{:<20.20}{:>12}\n", "  " + result.variant,
                          fmt::format("{:.0f}ns", value_of(result, "call_mean_ns").value_or(0)));
  return text;
}

std::string cpu_block(const RunReport& report) {
  std::string text =
      "\nCPU, percent of one, by context\n"
      "                        user  system softirq     irq   guest   steal     all\n";
  for (const RunResult& result : report.results) {
    std::string machine;
    std::string row;
    double all = 0;
    const auto end_row = [&] {
      if (machine.empty()) return;
      text += fmt::format("  {:<17.17} {}{:>8.1f}\n",
                          result.variant + "." + result.workload + " " + machine, row, all);
    };
    for (const auto& [name, share] : result.cpu) {
      const std::size_t space = name.rfind(' ');
      if (name.substr(0, space) != machine) {
        end_row();
        machine = name.substr(0, space);
        row.clear();
        all = 0;
      }
      row += fmt::format("{:>8.1f}", share);
      if (name.substr(space + 1) != "steal") all += share;
    }
    end_row();
  }
  return text;
}

std::string drops_block(const RunReport& report) {
  std::string text;
  for (const RunResult& result : report.results)
    for (const auto& [reason, packets] : result.drops)
      text += fmt::format("  {:<24} {:<42} {:>9}\n", result.variant + "." + result.workload, reason,
                          packets);
  return text.empty() ? text : "\nDrops by reason\n" + text;
}

std::string published_block(const ScenarioFile& file, const RunReport& report) {
  std::string text;
  std::vector<std::string> notes;
  const auto note = [&](const Published& figure) {
    std::string words = figure.source;
    if (!figure.disclaimer.empty()) words += " Author's note: " + figure.disclaimer + ".";
    if (std::find(notes.begin(), notes.end(), words) == notes.end()) notes.push_back(words);
  };
  for (const Published& figure : file.published) {
    for (const RunResult& result : report.results) {
      if (figure.name.variant != result.variant || figure.name.workload != result.workload)
        continue;
      const auto ours = value_of(result, figure.name.metric);
      if (!ours) continue;
      text += fmt::format("  {:<44.44} {:>9} {:>9} {:>6.2f}\n", figure.name.to_string(),
                          with_prefix(figure.value), with_prefix(*ours), *ours / figure.value);
      note(figure);
    }
  }
  if (text.empty()) return text;
  text = fmt::format("\n  {:<44} {:>9} {:>9} {:>6}\n", "published figures beside ours", "published",
                     "ours", "ratio") +
         text;
  for (const std::string& words : notes)
    text += "  Source: " + words + "\n";
  return text;
}

}  // namespace

std::string print_table(const ScenarioFile& file, const RunReport& report,
                        const std::vector<JudgedExpectation>& judged,
                        const Provenance& provenance) {
  std::string text = file.title + "\n";
  for (const std::string& workload : workloads_of(report)) {
    const bool calls =
        std::any_of(report.results.begin(), report.results.end(), [&](const RunResult& r) {
          return r.workload == workload && r.metrics.contains("call_mean_ns");
        });
    text += calls ? call_block(report, workload) : traffic_block(report, workload);
  }
  text += cpu_block(report) + drops_block(report) + published_block(file, report);
  std::size_t passed = 0;
  std::string failures;
  for (const JudgedExpectation& one : judged) {
    passed += one.verdict.passed ? 1 : 0;
    if (!one.verdict.passed) failures += "  failed: " + one.verdict.text + "\n";
  }
  if (!judged.empty())
    text += fmt::format("\nExpectations: {} of {} hold\n{}", passed, judged.size(), failures);
  text += fmt::format("\n{} {} ({}), seed {}, costs {}, fingerprint {}\n", provenance.scenario,
                      version(), commit(), file.variants.front().seed, file.variants.front().costs,
                      report.fingerprint);
  return text;
}

}  // namespace tapestry::app
