// What each subcommand does, with its options filled in.
#pragma once

#include <string>
#include <vector>

#include "app/run/runner.hpp"

namespace tapestry::app {

enum class Format : std::uint8_t { table, json, csv };

struct ScenarioArguments {
  std::string file;                    // "-": standard input
  std::vector<std::string> overrides;  // --set
  std::string seed;                    // --seed; empty: the scenario's
};

struct RunArguments {
  ScenarioArguments scenario;
  Format format = Format::table;
  RunnerOptions runner;
  std::string settle = "seams";
  bool profile = false;  // print where CPU time went
  std::string folded;    // write it there as folded stacks; empty: nowhere
  std::string report;    // write an HTML report there; empty: nowhere
};

struct LessonArguments {
  std::string number;  // empty: list them
  std::string answer;  // a letter; empty: ask the question
  bool json = false;
  RunnerOptions runner;
};

struct ExplainArguments {
  ScenarioArguments scenario;
  std::uint64_t packet = 0;  // 0: a typical one
  bool slowest = false;
  bool p99 = false;  // what makes slow ones slow
  bool json = false;
  RunnerOptions runner;
};

int explain_command(const ExplainArguments& arguments);
int run_scenario_command(const RunArguments& arguments);
int check_command(const std::vector<std::string>& files, const std::vector<std::string>& overrides);
int list_command(const std::string& what);
int verify_command(const RunArguments& arguments);
// Every shipped scenario that has published figures, or those named: ours beside them.
int reference_command(const std::vector<std::string>& files, const RunnerOptions& options);

// 0 if the answer is right, 1 if it is wrong.
int lesson_command(const LessonArguments& arguments);

// By how the runs ended; expectations are the caller's.
// A name that was asked for and does not exist is an error, and told.
bool names_exist(const ScenarioFile& file, const RunnerOptions& options);
int exit_code_of(const RunReport& report);

// Prints every diagnostic on standard error; nothing if there are any.
std::optional<ScenarioFile> load_or_explain(const ScenarioArguments& arguments);

}  // namespace tapestry::app
