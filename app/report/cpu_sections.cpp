#include "app/report/cpu_sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/report/chart.hpp"
#include "app/report/markup.hpp"
#include "app/results/layout.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::app {

namespace {

using sched::ContextKind;
using sched::Work;

std::vector<std::string> machine_names(const RunReport& report) {
  std::vector<std::string> names;
  for (const RunResult& result : report.results)
    for (const MachineUsage& machine : result.usage)
      if (std::find(names.begin(), names.end(), machine.machine) == names.end())
        names.push_back(machine.machine);
  return names;
}

template <typename Visit>
void for_usage_of(const RunReport& report, const std::string& name, Visit visit) {
  for (const RunResult& result : report.results)
    for (const MachineUsage& machine : result.usage)
      if (machine.machine == name && result.elapsed > core::Nanos{0}) visit(result, machine);
}

double percent_of_one(core::Nanos spent, const RunResult& result) {
  return static_cast<double>(spent.count()) * 100.0 / static_cast<double>(result.elapsed.count());
}

chart::Part part_of(core::Nanos spent, const RunResult& result) {
  const double percent = percent_of_one(spent, result);
  return {percent, fmt::format("{:.1f}%", percent)};
}

std::string percent_text(core::Nanos spent, const RunResult& result) {
  return fmt::format("{:.1f}%", percent_of_one(spent, result));
}

// What took most of a machine's time, over all runs: as many as there are colours, less one.
std::vector<Work> dearest(const RunReport& report, const std::string& name) {
  std::vector<std::pair<double, Work>> totals;
  for (std::size_t work = 0; work < sched::kWorkCount; ++work) {
    double total = 0;
    for_usage_of(report, name, [&](const RunResult& run, const MachineUsage& machine) {
      total += percent_of_one(machine.usage.of(static_cast<Work>(work)), run);
    });
    if (total > 0) totals.emplace_back(total, static_cast<Work>(work));
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const auto& one, const auto& other) { return one.first > other.first; });
  if (totals.size() > chart::kColours - 1) totals.resize(chart::kColours - 1);
  std::vector<Work> works;
  for (const auto& [total, work] : totals)
    works.push_back(work);
  return works;
}

std::vector<std::pair<std::string, core::Nanos>> contexts_of(const sched::Usage& usage) {
  return {{"user", usage.of(ContextKind::user)},
          {"system", usage.of(ContextKind::system)},
          {"softirq", usage.of(ContextKind::softirq)},
          {"hardirq", usage.of(ContextKind::hardirq)},
          {"to and from idle", usage.of(ContextKind::idle)},
          {"guests in user mode", usage.guest()}};
}

chart::Flame flame_of(const RunResult& result) {
  chart::Flame root{result.variant + "." + result.workload, 0, {}};
  for (const MachineUsage& machine : result.usage) {
    chart::Flame whole{machine.machine, machine.usage.busy().count(), {}};
    for (const auto& [name, spent] : contexts_of(machine.usage)) {
      if (spent <= core::Nanos{0}) continue;
      chart::Flame context{name, spent.count(), {}};
      for (std::size_t kind = 0; kind < sched::kContextKinds; ++kind) {
        if (contexts_of(machine.usage)[kind].first != name) continue;
        for (std::size_t work = 0; work < sched::kWorkCount; ++work) {
          const auto cost = static_cast<Work>(work);
          const core::Nanos of_cost = machine.usage.of(static_cast<ContextKind>(kind), cost);
          if (of_cost > core::Nanos{0})
            context.children.push_back({std::string(sched::work_name(cost)), of_cost.count(), {}});
        }
      }
      std::stable_sort(context.children.begin(), context.children.end(),
                       [](const auto& one, const auto& other) { return one.value > other.value; });
      whole.children.push_back(std::move(context));
    }
    root.value += whole.value;
    if (whole.value > 0) root.children.push_back(std::move(whole));
  }
  return root;
}

// Who had no time left for more.
std::string binding_table(const RunReport& report) {
  Markup table;
  table.open("table").open("thead").open("tr");
  for (const char* head : {"run", "what binds", "busy"})
    table.element("th", head, "scope=\"col\"");
  table.close().close().open("tbody");
  for (const RunResult& result : report.results) {
    if (!result.busiest) continue;
    const BusyResource& most = *result.busiest;
    table.open("tr").element("th", result.variant + "." + result.workload, "scope=\"row\"");
    table.element("td", most.binds() ? most.name : "none; busiest is " + most.name);
    table.element("td", fmt::format("{:.1f}%", most.percent)).close();
  }
  return table.close().close().take();
}

}  // namespace

ReportSection context_section(const RunReport& report) {
  ReportSection section{"contexts", "CPU by context", "", ""};
  section.lead =
      "Percent of one CPU. Softirq is where packets go through the stack; hardirq is the "
      "interrupt itself; a guest's time in its own kernel stands under the guest. A CPU or a "
      "link that is busy for 90 percent of a run or more binds it.";
  section.body = binding_table(report);
  for (const std::string& name : machine_names(report)) {
    std::vector<std::string> series;
    std::vector<chart::StackedRow> rows;
    for_usage_of(report, name, [&](const RunResult& run, const MachineUsage& machine) {
      chart::StackedRow row{run.variant + "." + run.workload, {}, ""};
      series.clear();
      for (const auto& [context, spent] : contexts_of(machine.usage)) {
        series.push_back(context);
        row.parts.push_back(part_of(spent, run));
      }
      row.total = percent_text(machine.usage.busy(), run);
      rows.push_back(std::move(row));
    });
    section.body += chart::stacked(name, series, rows);
  }
  return section;
}

ReportSection cost_section(const RunReport& report) {
  ReportSection section{"costs", "CPU by cost", "", ""};
  section.lead = "The same time by what it was spent on, under the names of the cost table.";
  for (const std::string& name : machine_names(report)) {
    const std::vector<Work> works = dearest(report, name);
    std::vector<std::string> series;
    for (const Work work : works)
      series.emplace_back(sched::work_name(work));
    series.emplace_back("all other");
    std::vector<chart::StackedRow> rows;
    for_usage_of(report, name, [&](const RunResult& run, const MachineUsage& machine) {
      chart::StackedRow row{run.variant + "." + run.workload, {}, ""};
      const core::Nanos all = machine.usage.busy() - machine.usage.guest();
      core::Nanos rest = all;
      for (const Work work : works) {
        row.parts.push_back(part_of(machine.usage.of(work), run));
        rest -= machine.usage.of(work);
      }
      row.parts.push_back(part_of(rest, run));
      row.total = percent_text(all, run);
      rows.push_back(std::move(row));
    });
    section.body += chart::stacked(name, series, rows);
  }
  return section;
}

ReportSection flame_section(const RunReport& report) {
  ReportSection section{"flames", "Flame graphs", "", ""};
  section.lead =
      "Each run from the top: machines, contexts, costs. A box is as wide as the CPU time "
      "it took; point at one for its figures.";
  for (const RunResult& result : report.results) {
    const std::string picture = chart::flame(flame_of(result));
    if (picture.empty()) continue;
    section.body += fmt::format("<details{}><summary>{}</summary>\n{}</details>\n",
                                &result == &report.results.front() ? " open" : "",
                                escaped(result.variant + "." + result.workload), picture);
  }
  return section;
}

}  // namespace tapestry::app
