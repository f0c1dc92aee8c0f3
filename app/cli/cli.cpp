#include "app/cli/cli.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "app/cli/commands.hpp"
#include "app/version.hpp"

namespace tapestry::app {

namespace {

std::string version_text() {
  return fmt::format("tapestry {} ({})\n{}, Boost {}", version(), commit(), compiler(), boost());
}

std::chrono::milliseconds milliseconds_of(const std::string& text) {
  const auto parsed = core::parse_duration(text);
  if (!parsed) throw CLI::ValidationError("--timeout", parsed.error().message);
  return std::chrono::duration_cast<std::chrono::milliseconds>(*parsed);
}

CaptureRequest capture_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_scenario_options(CLI::App& command, ScenarioArguments& scenario) {
  command.add_option("FILE", scenario.file, "the scenario; - for standard input")->required();
  command.add_option("--set", scenario.overrides, "path=value: change the scenario")
      ->allow_extra_args(false);
  command.add_option("--seed", scenario.seed, "use this seed instead of the scenario's");
}

// "1ms..3ms"; either end may be left out.
void read_window(const std::string& text, TraceRequest& trace) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos)
    throw CLI::ValidationError("--trace-window", "a window reads FROM..TO, as in 1ms..3ms");
  const auto read = [](const std::string& part, core::Nanos& into) {
    if (part.empty()) return;
    const auto parsed = core::parse_duration(part);
    if (!parsed) throw CLI::ValidationError("--trace-window", parsed.error().message);
    into = *parsed;
  };
  read(text.substr(0, dots), trace.from);
  read(text.substr(dots + 2), trace.to);
  if (trace.from >= trace.to)
    throw CLI::ValidationError("--trace-window", "'" + text + "' ends before it begins");
}

struct Options {
  RunArguments run;
  std::string trace;
  std::string trace_window;
  std::vector<std::string> captures;
  std::string timeout;
  bool json = false;
  bool csv = false;
  bool quiet = false;
};

void add_run_options(CLI::App& command, Options& options) {
  add_scenario_options(command, options.run.scenario);
  command.add_option("--variant", options.run.runner.variants, "only this variant (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--workload", options.run.runner.workloads, "only this workload (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--timeout", options.timeout, "give up after this much wall time, as in 60s");
}

void finish(Options& options) {
  RunArguments& run = options.run;
  if (options.json) run.format = Format::json;
  if (options.csv) run.format = Format::csv;
  if (!options.timeout.empty()) run.runner.timeout = milliseconds_of(options.timeout);
  for (const std::string& capture : options.captures)
    run.runner.captures.push_back(capture_of(capture));
  if (!options.trace.empty()) {
    run.runner.trace = TraceRequest{.path = options.trace};
    if (!options.trace_window.empty()) read_window(options.trace_window, *run.runner.trace);
  }
  if (run.settle == "always") run.runner.settle_mode = sched::SettleMode::always;
  if (run.settle == "random") run.runner.settle_mode = sched::SettleMode::random;
  run.runner.progress = !options.quiet && isatty(STDERR_FILENO) == 1;
}

CLI::App* add_run_command(CLI::App& app, Options& options) {
  CLI::App* run = app.add_subcommand("run", "run a scenario and print its results");
  add_run_options(*run, options);
  run->add_option(
         "--pcap", options.captures,
         "[machine.device=]FILE: capture there, or all \"drops\"; pcap, or pcapng by its suffix, "
         "which takes several points (repeatable)")
      ->allow_extra_args(false);
  run->add_option("--settle", options.run.settle, "when charges are paid: always, seams, random")
      ->check(CLI::IsMember({"always", "seams", "random"}));
  CLI::Option* trace = run->add_option("--trace", options.trace,
                                       "FILE: what happens on every CPU, for ui.perfetto.dev");
  run->add_option("--trace-window", options.trace_window,
                  "FROM..TO: only this part of the world's time, as in 1ms..3ms")
      ->needs(trace);
  run->add_flag("--check-napi", options.run.runner.check_napi,
                "judge every driver by the NAPI contract; exit code 1 if one breaks it");
  run->add_flag("--profile", options.run.profile,
                "also print where CPU time went, as perf top does");
  run->add_option("--folded", options.run.folded,
                  "FILE: where CPU time went as folded stacks, for flame graphs");
  run->add_option("--report", options.run.report,
                  "FILE: everything as one HTML page that needs no network");
  run->add_flag("-q,--quiet", options.quiet, "no progress line");
  CLI::Option* json = run->add_flag("--json", options.json, "results as one JSON document");
  run->add_flag("--csv", options.csv, "results as CSV")->excludes(json);
  return run;
}

CLI::App* add_lesson_command(CLI::App& app, LessonArguments& arguments) {
  CLI::App* lesson = app.add_subcommand("lesson", "predict what a run will show, and see");
  lesson->add_option("NUMBER", arguments.number, "which one; without it, list them");
  lesson->add_option("--answer", arguments.answer, "the letter of your answer");
  lesson->add_flag("--json", arguments.json, "the grade as a JSON document");
  return lesson;
}

CLI::App* add_explain_command(CLI::App& app, Options& options, ExplainArguments& arguments) {
  CLI::App* explain =
      app.add_subcommand("explain", "the life of one packet, stage by stage, with what it paid");
  add_run_options(*explain, options);
  CLI::Option* packet = explain->add_option("--packet", arguments.packet, "the packet with this id")
                            ->check(CLI::PositiveNumber);
  CLI::Option* slowest =
      explain->add_flag("--slowest", arguments.slowest, "the slowest packet")->excludes(packet);
  explain->add_flag("--p99", arguments.p99, "which stages make the slowest percent slow")
      ->excludes(packet)
      ->excludes(slowest);
  explain->add_flag("--json", arguments.json, "as one JSON document");
  return explain;
}

int explain_one(const Options& options, ExplainArguments arguments) {
  arguments.scenario = options.run.scenario;
  arguments.runner = options.run.runner;
  arguments.runner.progress = false;
  return explain_command(arguments);
}

int dispatch(int argc, char** argv) {
  CLI::App app("Tapestry replays network datapaths in virtual time.", "tapestry");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);

  Options options;
  CLI::App* run = add_run_command(app, options);
  CLI::App* verify = app.add_subcommand(
      "verify", "run a scenario twice and in every settle mode, and compare the fingerprints");
  add_run_options(*verify, options);

  std::vector<std::string> files;
  std::vector<std::string> overrides;
  CLI::App* check =
      app.add_subcommand("check", "read scenarios and report what is wrong with them");
  check->add_option("FILE", files, "scenarios; - for standard input")->required();
  check->add_option("--set", overrides, "path=value: change them")->allow_extra_args(false);

  std::vector<std::string> references;
  CLI::App* reference = app.add_subcommand(
      "reference", "run the shipped scenarios and print published figures beside ours");
  reference->add_option("FILE", references, "only these scenarios");
  reference->add_option("--timeout", options.timeout, "give up after this much wall time");
  reference->add_flag("-q,--quiet", options.quiet, "no progress line");

  LessonArguments lesson_arguments;
  CLI::App* lesson = add_lesson_command(app, lesson_arguments);
  ExplainArguments explain_arguments;
  CLI::App* explain = add_explain_command(app, options, explain_arguments);

  std::string what = "scenarios";
  CLI::App* list = app.add_subcommand("list", "list what there is");
  list->add_option("WHAT", what, "scenarios, metrics, attributes, costs, kernels")
      ->check(CLI::IsMember({"scenarios", "metrics", "attributes", "costs", "kernels"}));

  try {
    app.parse(argc, argv);
    finish(options);
  } catch (const CLI::RequiredError& error) {
    // CLI11 says of a word that is no command only that there is no command.
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty()) {
      fmt::print(stderr, "error: there is no command '{}'; try tapestry --help\n", argv[1]);
      return kUsage;
    }
    app.exit(error);
    return kUsage;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kGood : kUsage;
  }
  if (*run) return run_scenario_command(options.run);
  if (*verify) return verify_command(options.run);
  if (*reference) return reference_command(references, options.run.runner);
  if (*check) return check_command(files, overrides);
  if (*explain) return explain_one(options, explain_arguments);
  if (*lesson) return lesson_command(lesson_arguments);
  return list_command(what);
}

// What an output that takes no more does to the code.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("error: the results could not be written\n", stderr);
  return kHostError;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    return flushed(dispatch(argc, argv));
  } catch (const std::exception& error) {  // of a stream that is closed, or of memory
    std::fprintf(stderr, "error: %s\n", error.what());
    return kHostError;
  }
}

}  // namespace tapestry::app
