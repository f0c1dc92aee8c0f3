// Reads scenarios/costs/closures.yaml: aggregates, and the operation that a simulated machine runs
// for each of them, or where there is none the charges that it would consist of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sched/cost_table.hpp"

namespace tapestry::testing {

struct Charge {
  sched::Work work;
  std::int64_t items = 1;
  std::int64_t bytes = 0;
};

struct ClosurePoint {
  std::int64_t count;    // how often `each` runs
  std::int64_t time_ps;  // of the whole operation, or of one message
};

struct Closure {
  std::string name;
  std::string table;
  std::string source;             // file: row; {} stands for the count
  std::vector<std::string> path;  // a micro-scenario and its arguments
  std::string no_path;            // or why there is none, and then
  std::vector<Charge> once;
  std::vector<Charge> each;
  bool per_each = false;
  std::vector<ClosurePoint> points;
  std::optional<std::int64_t> low_ps;

  // Without a path: the same quantity as the time of `point`, as such a path would take it.
  std::int64_t sum_ps(const sched::CostTable& costs, const ClosurePoint& point) const;
};

// `list` is "closures" or "predictions".
std::vector<Closure> load_closures(const std::string& list);

sched::CostTable shipped_cost_table(const std::string& name);

// The time that a row of a file in scenarios/published gives, in picoseconds; `source` is "FILE:
// ROW", "FILE: ROW ERA" for cost_table.csv; more rows, of the same file unless they name one, may
// follow behind " + " and " - ".
std::int64_t published_time_ps(const std::string& source);

}  // namespace tapestry::testing
