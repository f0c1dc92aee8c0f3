// Results for people: one block per workload, one row per variant, then the blocks behind them.
//
// No line is longer than 80 columns and no name is cut: one that is too long for its column stands
// on a line of its own, above its figures.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/results/layout.hpp"
#include "app/results/output.hpp"
#include "app/version.hpp"
#include "workloads/pktgen.hpp"

namespace tapestry::app {

namespace {

using layout::Column;
using layout::kColumns;

std::optional<double> value_of(const RunResult& result, const std::string& metric) {
  const auto found = result.metrics.find(metric);
  if (found == result.metrics.end()) return std::nullopt;
  return std::visit([](auto plain) { return static_cast<double>(plain); }, found->second);
}

std::string name_of(const RunResult& result) { return result.variant + "." + result.workload; }

std::vector<std::string> workloads_of(const RunReport& report) {
  std::vector<std::string> names;
  for (const RunResult& result : report.results)
    if (std::find(names.begin(), names.end(), result.workload) == names.end())
      names.push_back(result.workload);
  return names;
}

// The results of one workload, and what its rows have in common.
struct Block {
  std::string workload;
  std::vector<const RunResult*> rows;

  Block(const RunReport& report, std::string name) : workload(std::move(name)) {
    for (const RunResult& result : report.results)
      if (result.workload == workload) rows.push_back(&result);
  }
  bool has(const std::string& metric) const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const RunResult* row) { return row->metrics.contains(metric); });
  }
  // Machines in the order of their first appearance.
  std::vector<std::string> machines() const {
    std::vector<std::string> names;
    for (const RunResult* row : rows)
      for (const CpuShares& cpu : row->cpu)
        if (std::find(names.begin(), names.end(), cpu.machine) == names.end())
          names.push_back(cpu.machine);
    return names;
  }
};

using Figure = std::function<std::string(const RunResult&)>;

struct FigureColumn {
  Column column;
  Figure figure;
};

Figure metric(std::string name, std::string (*print)(std::optional<double>)) {
  return
      [name = std::move(name), print](const RunResult& row) { return print(value_of(row, name)); };
}

FigureColumn column(std::string head, std::size_t width, Figure figure) {
  FigureColumn made;
  made.column.head = std::move(head);
  made.column.width = width;
  made.figure = std::move(figure);
  return made;
}

std::vector<FigureColumn> columns_of(const Block& block) {
  std::vector<FigureColumn> columns;
  if (block.has("call_mean_ns")) {
    columns.push_back(column("per call", 10, metric("call_mean_ns", layout::nanoseconds)));
    columns.push_back(column("irqs", 5, metric("interrupts", layout::scaled)));
    return columns;
  }
  if (block.has("ns_per_packet")) {
    columns.push_back(column("pkt/s", 6, metric("packets_per_second", layout::scaled)));
    columns.push_back(column("per pkt", 8, metric("ns_per_packet", layout::nanoseconds)));
    columns.push_back(column("alloc%", 6, metric("alloc_percent", layout::tenths)));
    columns.push_back(column("pkt/bell", 8, metric("packets_per_doorbell", layout::tenths)));
    columns.push_back(column("irqs", 5, metric("interrupts", layout::scaled)));
    return columns;
  }
  if (block.has("transactions_per_second"))
    columns.push_back(column("tr/s", 6, metric("transactions_per_second", layout::scaled)));
  else
    columns.push_back(column("bit/s", 6, metric("throughput_bps", layout::scaled)));
  columns.push_back(column("pkt/call", 8, metric("packets_per_syscall", layout::ratio)));
  columns.push_back(column("B/call", 6, metric("bytes_per_syscall", layout::scaled)));
  columns.push_back(column("irqs", 5, metric("interrupts", layout::scaled)));
  columns.push_back(column("batch", 5, metric("batch_mean", layout::tenths)));
  columns.push_back(column("p50", 7, metric("latency_p50_ns", layout::duration)));
  columns.push_back(column("p99", 7, metric("latency_p99_ns", layout::duration)));
  return columns;
}

// Machines get columns as long as there is room; the block below has all of them.
void add_machines(const Block& block, std::vector<FigureColumn>& columns, std::size_t room) {
  for (const std::string& machine : block.machines()) {
    const std::size_t width = std::max<std::size_t>(machine.size() + 1, 5);
    if (width + 1 > room) return;
    room -= width + 1;
    columns.push_back(
        column(machine + "%", width, metric(machine + "_cpu_percent", layout::tenths)));
  }
}

std::string workload_block(const Block& block) {
  constexpr std::size_t kShortestLabel = 10;
  constexpr std::size_t kDropsWidth = 5;
  std::vector<FigureColumn> columns = columns_of(block);
  std::size_t used = kShortestLabel + 1 + kDropsWidth;
  for (const FigureColumn& figures : columns)
    used += 1 + figures.column.width;
  add_machines(block, columns, kColumns - used);
  columns.push_back(column("drops", kDropsWidth, metric("drops", layout::scaled)));

  std::vector<Column> heads;
  for (const FigureColumn& figures : columns)
    heads.push_back(figures.column);
  layout::Grid grid(block.workload, std::move(heads));
  for (const RunResult* row : block.rows) {
    std::vector<std::string> cells;
    for (const FigureColumn& figures : columns)
      cells.push_back(figures.figure(*row));
    grid.add("  " + row->variant, std::move(cells));
  }
  return "\n" + grid.text();
}

std::string cpu_block(const RunReport& report) {
  std::vector<Column> heads;
  for (const char* head : {"user", "system", "sirq", "irq", "idling", "guest", "steal", "all"})
    heads.push_back({head, std::max<std::size_t>(std::string_view(head).size(), 5)});
  layout::Grid grid("CPU, percent of one", std::move(heads));
  for (const RunResult& result : report.results) {
    for (const CpuShares& cpu : result.cpu) {
      std::vector<std::string> cells;
      for (const double share : {cpu.user, cpu.system, cpu.softirq, cpu.hardirq, cpu.idling,
                                 cpu.guest, cpu.steal, cpu.all()})
        cells.push_back(layout::tenths(share));
      grid.add("  " + name_of(result) + " " + cpu.machine, std::move(cells));
    }
  }
  return grid.empty() ? "" : "\n" + grid.text();
}

// Who had no time left for more, or that nobody was that busy: then the run waited.
std::string binding_block(const RunReport& report) {
  layout::Grid grid("What binds", {{"busy", 6}, {"", 40, true}});
  for (const RunResult& result : report.results) {
    if (!result.busiest) continue;
    const BusyResource& most = *result.busiest;
    grid.add("  " + name_of(result), {layout::tenths(most.percent) + "%",
                                      most.binds() ? most.name : "none; busiest is " + most.name});
  }
  return grid.empty() ? "" : "\n" + grid.text();
}

std::string drops_block(const RunReport& report) {
  layout::Grid grid("Drops by reason", {{"", 34, true}, {"packets", 9}});
  for (const RunResult& result : report.results) {
    for (const auto& [reason, packets] : result.drops)
      grid.add("  " + name_of(result), {reason, std::to_string(packets)});
    const double lost = value_of(result, "lost").value_or(0);
    if (lost > 0) grid.add("  " + name_of(result), {"lost", fmt::format("{:.0f}", lost)});
  }
  return grid.empty() ? "" : "\n" + grid.text();
}

std::string published_block(const ScenarioFile& file, const RunReport& report) {
  layout::Grid grid("Published figures beside ours", {{"published", 9}, {"ours", 9}, {"ratio", 6}});
  std::vector<std::string> notes;
  const auto note = [&](const Published& figure) {
    std::string words = "Source: " + figure.source + ".";
    if (!figure.disclaimer.empty()) words += " Note: " + figure.disclaimer + ".";
    if (std::find(notes.begin(), notes.end(), words) == notes.end()) notes.push_back(words);
  };
  for (const Published& figure : file.published) {
    for (const RunResult& result : report.results) {
      if (figure.name.variant != result.variant || figure.name.workload != result.workload)
        continue;
      const auto ours = value_of(result, figure.name.metric);
      if (!ours) continue;
      grid.add("  " + figure.name.to_string(), {layout::scaled(figure.value), layout::scaled(*ours),
                                                fmt::format("{:.2f}", *ours / figure.value)});
      note(figure);
    }
  }
  if (grid.empty()) return "";
  std::string text = "\n" + grid.text();
  for (const std::string& words : notes)
    text += layout::wrapped(words, "  ");
  return text;
}

// As pktgen shows it.
std::string pktgen_block(const RunReport& report) {
  std::string text;
  for (const RunResult& result : report.results) {
    if (!result.outcome.pktgen) continue;
    text += layout::wrapped(name_of(result), "  ");
    text += workloads::pktgen_result(*result.outcome.pktgen);
  }
  return text.empty() ? text : "\npktgen\n" + text;
}

// What the figures above are not: whole.
std::string endings_block(const RunReport& report) {
  std::string text;
  for (const RunResult& result : report.results) {
    if (result.finished) continue;
    text +=
        layout::wrapped(name_of(result) + " was cut short: its figures are of what was done", "  ");
  }
  if (report.ending == Ending::interrupted) text += "  interrupted: nothing after this was run\n";
  if (report.ending == Ending::timed_out) text += "  out of time: nothing after this was run\n";
  return text.empty() ? text : "\nPartial results\n" + text;
}

std::string expectations_block(const std::vector<JudgedExpectation>& judged) {
  if (judged.empty()) return "";
  std::size_t passed = 0;
  std::string failures;
  for (const JudgedExpectation& one : judged) {
    passed += one.verdict.passed ? 1 : 0;
    if (!one.verdict.passed) failures += layout::wrapped("failed: " + one.verdict.text, "  ");
  }
  return fmt::format("\nExpectations: {} of {} hold\n{}", passed, judged.size(), failures);
}

}  // namespace

std::string print_table(const ScenarioFile& file, const RunReport& report,
                        const std::vector<JudgedExpectation>& judged,
                        const Provenance& provenance) {
  std::string text = layout::wrapped(file.title, "");
  for (const std::string& workload : workloads_of(report))
    text += workload_block(Block(report, workload));
  text += pktgen_block(report) + batches_block(report) + cpu_block(report);
  text += binding_block(report) + drops_block(report) + published_block(file, report);
  text += napi_block(report) + endings_block(report) + expectations_block(judged);
  const Scenario& scenario = file.variants.front();
  text += "\n" + layout::wrapped(provenance.scenario, "");
  text += layout::wrapped(fmt::format("version {} ({}), seed {}, costs {}", version(), commit(),
                                      scenario.seed, scenario.costs),
                          "");
  for (const std::string& set : provenance.overrides)
    text += layout::wrapped("changed by --set " + set, "");
  if (!report.fingerprint.empty()) text += "fingerprint " + report.fingerprint + "\n";
  return text;
}

}  // namespace tapestry::app
