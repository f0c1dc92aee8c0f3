#include "app/report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/report/chart.hpp"
#include "app/report/cpu_sections.hpp"
#include "app/report/markup.hpp"
#include "app/results/layout.hpp"

namespace tapestry::app {

namespace {

std::optional<double> metric_of(const RunResult& result, const std::string& metric) {
  const auto found = result.metrics.find(metric);
  if (found == result.metrics.end()) return std::nullopt;
  return std::visit([](auto plain) { return static_cast<double>(plain); }, found->second);
}

std::vector<std::string> workload_names(const RunReport& report) {
  std::vector<std::string> names;
  for (const RunResult& result : report.results)
    if (std::find(names.begin(), names.end(), result.workload) == names.end())
      names.push_back(result.workload);
  return names;
}

template <typename Visit>
void for_runs_of(const RunReport& report, const std::string& workload, Visit visit) {
  for (const RunResult& result : report.results)
    if (result.workload == workload) visit(result);
}

// ---- Results: one table for each workload -----------------------------------------------------

struct ResultColumn {
  const char* head;
  const char* title;  // what it is, for who points at it
  std::optional<double> (*value)(const RunResult&);
  std::string (*print)(std::optional<double>);
};

template <const char* kMetric>
std::optional<double> plain(const RunResult& result) {
  return metric_of(result, kMetric);
}

std::optional<double> packets_per_interrupt(const RunResult& result) {
  const auto packets = metric_of(result, "packets");
  const auto interrupts = metric_of(result, "interrupts");
  if (!packets || !interrupts || *interrupts == 0) return std::nullopt;
  return *packets / *interrupts;
}

constexpr char kThroughput[] = "throughput_bps";
constexpr char kTransactions[] = "transactions_per_second";
constexpr char kCall[] = "call_mean_ns";
constexpr char kPacketsPerCall[] = "packets_per_syscall";
constexpr char kBytesPerCall[] = "bytes_per_syscall";
constexpr char kInterrupts[] = "interrupts";
constexpr char kBatch[] = "batch_mean";
constexpr char kMedian[] = "latency_p50_ns";
constexpr char kTail[] = "latency_p99_ns";
constexpr char kDrops[] = "drops";

constexpr ResultColumn kColumnsOfResults[] = {
    {"bit/s", "payload delivered per second", plain<kThroughput>, layout::scaled},
    {"tr/s", "requests answered per second", plain<kTransactions>, layout::scaled},
    {"per call", "mean time of one read or write", plain<kCall>, layout::nanoseconds},
    {"packets/call", "frames that one system call of the guest's device moved",
     plain<kPacketsPerCall>, layout::ratio},
    {"bytes/call", "bytes that one such call moved", plain<kBytesPerCall>, layout::scaled},
    {"interrupts", "taken by all machines", plain<kInterrupts>, layout::scaled},
    {"packets/irq", "packets delivered for one interrupt", packets_per_interrupt, layout::scaled},
    {"batch", "packets of one poll or call that moved any", plain<kBatch>, layout::tenths},
    {"p50", "the latency that half stay within", plain<kMedian>, layout::duration},
    {"p99", "the latency that 99% stay within", plain<kTail>, layout::duration},
    {"drops", "packets dropped, for whatever reason", plain<kDrops>, layout::scaled},
};

std::string results_table(const RunReport& report, const std::string& workload) {
  std::vector<const ResultColumn*> columns;
  for (const ResultColumn& column : kColumnsOfResults) {
    bool any = false;
    for_runs_of(report, workload,
                [&](const RunResult& run) { any |= column.value(run).has_value(); });
    if (any) columns.push_back(&column);
  }
  Markup html;
  html.element("h3", workload).open("div", "class=\"wide\"").open("table").open("thead").open("tr");
  html.element("th", "variant");
  for (const ResultColumn* column : columns)
    html.element("th", column->head, fmt::format("title=\"{}\"", escaped(column->title)));
  html.close().close().open("tbody");
  for_runs_of(report, workload, [&](const RunResult& run) {
    html.open("tr").element("th", run.variant, "scope=\"row\"");
    for (const ResultColumn* column : columns)
      html.element("td", column->print(column->value(run)));
    html.close();
  });
  html.close().close().close();
  return html.take();
}

ReportSection results_section(const RunReport& report) {
  ReportSection section{"results", "Results", "", ""};
  section.lead =
      "One row for each variant of the scenario. A call is a system call that a guest's device "
      "makes on its host; batch is how many packets share one call or one poll.";
  for (const std::string& workload : workload_names(report))
    section.body += results_table(report, workload);
  return section;
}

// ---- Published figures ------------------------------------------------------------------------

std::string in_units(const std::string& metric, double value) {
  if (metric.size() > 3 && metric.compare(metric.size() - 3, 3, "_ns") == 0)
    return layout::duration(value);
  return layout::scaled(value);
}

ReportSection published_section(const ScenarioFile& file, const RunReport& report) {
  ReportSection section{"published", "Published figures beside ours", "", ""};
  std::vector<std::string> metrics;
  std::vector<std::vector<chart::Bar>> bars;
  std::vector<std::string> sources;
  for (const Published& figure : file.published) {
    for (const RunResult& run : report.results) {
      const auto ours = figure.name.variant == run.variant && figure.name.workload == run.workload
                            ? metric_of(run, figure.name.metric)
                            : std::nullopt;
      if (!ours) continue;
      const std::string group = figure.name.workload + ": " + figure.name.metric;
      const auto found = std::find(metrics.begin(), metrics.end(), group);
      const auto index = static_cast<std::size_t>(found - metrics.begin());
      if (found == metrics.end()) {
        metrics.push_back(group);
        bars.emplace_back();
      }
      bars[index].push_back(
          {run.variant, *ours, in_units(figure.name.metric, *ours), figure.value,
           fmt::format("{} (ours is {:.2f} of it{})", in_units(figure.name.metric, figure.value),
                       *ours / figure.value, figure.fitted ? ", fitted" : "")});
      std::string source = figure.source;
      if (!figure.disclaimer.empty()) source += " (" + figure.disclaimer + ")";
      if (std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
    }
  }
  if (metrics.empty()) return section;
  section.lead =
      "The bar is ours, the mark is what others measured. Nothing is fitted to a figure "
      "unless it says so.";
  for (std::size_t i = 0; i < metrics.size(); ++i)
    section.body += chart::bars(metrics[i], bars[i]);
  Markup html;
  html.open("ul", "class=\"faint\"");
  for (const std::string& source : sources)
    html.element("li", "Source: " + source);
  section.body += html.close().take();
  return section;
}

// ---- Throughput and latency --------------------------------------------------------------------

ReportSection throughput_section(const RunReport& report) {
  ReportSection section{"throughput", "Throughput", "", ""};
  for (const std::string& workload : workload_names(report)) {
    std::vector<chart::Bar> rates;
    for (const auto& [metric, unit] :
         {std::pair{"transactions_per_second", " tr/s"}, std::pair{"throughput_bps", "bit/s"}}) {
      if (!rates.empty()) break;
      for_runs_of(report, workload, [&, metric = metric, unit = unit](const RunResult& run) {
        if (const auto rate = metric_of(run, metric))
          rates.push_back({run.variant, *rate, layout::scaled(*rate) + unit, std::nullopt, ""});
      });
    }
    section.body += chart::bars(workload, rates);
  }
  return section;
}

struct Rung {
  std::uint32_t share;  // parts per 100,000
  double x;
  const char* label;
};
constexpr Rung kLadder[] = {
    {1'000, 0.0, "1%"},    {25'000, 0.17, "25%"},   {50'000, 0.34, "50%"},
    {75'000, 0.43, ""},    {90'000, 0.52, "90%"},   {95'000, 0.6, ""},
    {99'000, 0.68, "99%"}, {99'900, 0.84, "99.9%"}, {99'990, 1.0, "99.99%"}};

ReportSection latency_section(const RunReport& report) {
  ReportSection section{"latency", "Latency", "", ""};
  std::vector<chart::Tick> axis;
  for (const Rung& rung : kLadder)
    if (*rung.label != '\0') axis.push_back({rung.x, rung.label});
  for (const std::string& workload : workload_names(report)) {
    std::vector<chart::Curve> all;
    for_runs_of(report, workload, [&](const RunResult& run) {
      if (!run.outcome.latency || run.outcome.latency->count() == 0) return;
      chart::Curve curve{run.variant, {}};
      for (const Rung& rung : kLadder)
        curve.points.push_back(
            {rung.x, static_cast<double>(run.outcome.latency->percentile(rung.share).count())});
      all.push_back(std::move(curve));
    });
    section.body += chart::curves(workload + ": latency by percentile", axis, all);
  }
  if (!section.body.empty())
    section.lead =
        "How many packets stay within how long. A curve that climbs at its right end has "
        "a tail: a few packets wait much longer than the others.";
  return section;
}

ReportSection drops_section(const RunReport& report) {
  ReportSection section{"drops", "Drops by reason", "", ""};
  Markup html;
  html.open("div", "class=\"wide\"").open("table").open("thead").open("tr");
  html.element("th", "run").element("th", "reason").element("th", "packets").close().close();
  html.open("tbody");
  bool any = false;
  for (const RunResult& run : report.results) {
    for (const auto& [reason, packets] : run.drops) {
      any = true;
      html.open("tr").element("th", run.variant + "." + run.workload, "scope=\"row\"");
      html.element("td", reason, "class=\"words\"").element("td", std::to_string(packets)).close();
    }
  }
  html.close().close().close();
  if (!any) return section;
  section.lead =
      "Some drops are a system's nature, not loss: frames that a host's stack sees and "
      "nobody asked for (OTHERHOST), or a queue that has no reader (FULL_RING).";
  section.body = html.take();
  return section;
}

}  // namespace

std::vector<ReportSection> report_sections(const ScenarioFile& file, const RunReport& report) {
  std::vector<ReportSection> sections = {
      results_section(report),    published_section(file, report),
      throughput_section(report), latency_section(report),
      context_section(report),    cost_section(report),
      drops_section(report),      flame_section(report)};
  std::erase_if(sections, [](const ReportSection& section) { return section.body.empty(); });
  return sections;
}

}  // namespace tapestry::app
