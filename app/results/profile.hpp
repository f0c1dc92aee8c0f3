// Where CPU time went: cost names as a sampling profiler would show them, under the names of the
// kernel functions behind them, so that published profiles can stand beside ours.
#pragma once

#include <string>

#include "app/run/runner.hpp"

namespace tapestry::app {

// For each run and machine a table as perf top prints it. A sample stands for one millisecond of a
// busy CPU, as if CPUs were sampled 1,000 times a second; nothing is sampled, the times are exact.
std::string print_profile(const RunReport& report);

// One line for each place where time went: "run;machine;context;function nanoseconds", the input
// of flame-graph programs. Sorted by run, machine and context as they ran.
std::string folded_stacks(const RunReport& report);

}  // namespace tapestry::app
