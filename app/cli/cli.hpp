// The command line: tapestry run | check | list | verify | reference | lesson.
//
// Results go to standard output, everything else to standard error. Exit codes:
//   0 good; 1 an expectation failed; 2 usage or scenario error; 3 host or internal error; 4 not
//   deterministic; 124 a time limit, or a run that makes no progress; 130 interrupted, with partial
//   results
#pragma once

namespace tapestry::app {

enum ExitCode : int {
  kGood = 0,
  kExpectationFailed = 1,
  kUsage = 2,
  kHostError = 3,
  kNotDeterministic = 4,
  kWatchdog = 124,
  kInterrupted = 130
};

int run_command_line(int argc, char** argv);

}  // namespace tapestry::app
