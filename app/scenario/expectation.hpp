// What a scenario expects of its results, and whether that came true.
//
//   expectation = value relation value
//   relation    = "<" | "<=" | ">" | ">=" | "==" | "within" number "x" "of" | "within" number "%"
//   "of" value       = term { ("+" | "-") term } term        = factor { ("*" | "/") factor } factor
//   = number | "-" factor | "(" value ")" | metric | "published" "(" metric ")" metric      =
//   variant "." workload "." metric-name
//
// Names may contain "-", so a minus between names needs spaces around it. `A within 1.5x of B`
// means that neither is more than 1.5 times the other; `A within 10% of B` that A differs from B by
// at most 10% of B. These are judgements about finished results: here, and only here, floating
// point may decide something.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/scenario/diagnostic.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::app {

// Names one number of the results: metric `metric` of workload `workload` in variant `variant`.
struct MetricName {
  std::string variant;
  std::string workload;
  std::string metric;

  std::string to_string() const { return variant + "." + workload + "." + metric; }

  friend auto operator<=>(const MetricName&, const MetricName&) = default;
};

using MetricValue = std::variant<std::int64_t, double>;

// Variant -> workload -> metric -> value. A metric that a workload does not have is absent.
using Metrics = std::map<std::string, std::map<std::string, std::map<std::string, MetricValue>>>;

// A figure that somebody published or measured on the real thing.
struct Published {
  MetricName name;
  double value = 0;
  std::optional<double> low;  // the smallest and largest of several runs
  std::optional<double> high;
  std::string source;
  std::string disclaimer;  // the author's own; may be empty
  bool fitted = false;     // a cost was chosen so that this figure comes out
  Position at;
};

struct Expression;  // the parsed text; immutable

struct Expectation {
  std::string that;     // the text as written
  std::string because;  // may be empty
  Position at;          // of the text's first character
  std::shared_ptr<const Expression> expression;
  std::vector<MetricName> metrics;  // results it needs, without repetition, in order of appearance
  std::vector<MetricName> published;  // published figures it needs, likewise
};

struct ParsedExpectation {
  std::optional<Expectation> expectation;
  std::string error;       // if there is none: why
  std::size_t offset = 0;  // and the byte of the text at fault
};

// Parses only; whether the names mean anything is for the caller to check, by `metrics` and
// `published`. A text is at most 1000 bytes long and nests at most 50 deep.
ParsedExpectation parse_expectation(std::string_view that);

struct Verdict {
  bool passed = false;
  // One line with both sides' numbers: "tap.udp.throughput_bps = 120 > legacy.udp.throughput_bps =
  // 100", or what could not be evaluated and why.
  std::string text;
};

// A result that is absent, a division by zero or a value that is not finite fails the expectation,
// with a text that says so.
Verdict judge(const Expectation& expectation, const Metrics& results,
              const std::vector<Published>& published);

// The metrics that a run can report, for checking names before anything runs. CPU metrics exist for
// each machine: `<machine>_cpu_percent` and, by context, `<machine>_cpu_hardirq_percent`,
// `_softirq_`, `_task_`.
struct MetricHelp {
  std::string_view name;
  std::string_view help;
};
const std::vector<MetricHelp>& metric_table();
std::vector<std::string> metric_names(const std::vector<std::string>& machine_names);
// Of a machine's busy time, what one cost took: host_share_copy_percent.
std::string share_metric(const std::string& machine, sched::Work work);

}  // namespace tapestry::app
