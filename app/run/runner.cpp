#include "app/run/runner.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "app/run/captures.hpp"
#include "app/run/progress.hpp"
#include "app/run/traces.hpp"
#include "core/fingerprint.hpp"

namespace tapestry::app {

namespace {

constexpr core::Nanos kSlice{2'000'000};

// A workload that is not over this long after it should be never will be.
constexpr core::Nanos kLongestRun{std::int64_t{3600} * 1'000'000'000};

using WallClock = std::chrono::steady_clock;

class Runner {
 public:
  Runner(const ScenarioFile& file, const RunnerOptions& options)
      : file_(file),
        options_(options),
        progress_(options.progress),
        signals_(io_, SIGINT, SIGTERM) {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) report_.ending = Ending::interrupted;
    });
    if (options.timeout) deadline_ = WallClock::now() + *options.timeout;
  }

  RunReport run() {
    core::Fingerprint all;
    for (const Scenario& scenario : file_.variants) {
      if (!chosen(options_.variants, scenario.variant)) continue;
      for (const Workload& workload : scenario.workloads) {
        if (!chosen(options_.workloads, workload.name)) continue;
        if (!run_one(scenario, workload)) return finish(all);
        all.add(report_.results.back().fingerprint);
      }
    }
    return finish(all);
  }

 private:
  static bool chosen(const std::vector<std::string>& names, const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  }

  RunReport finish(const core::Fingerprint& all) {
    progress_.clear();
    if (!report_.results.empty()) report_.fingerprint = all.hex();
    return std::move(report_);
  }

  bool fail(Ending ending, std::string error) {
    report_.ending = ending;
    report_.error = std::move(error);
    return false;
  }

  const sched::CostTable* costs(const std::string& path) {
    auto found = tables_.find(path);
    if (found == tables_.end()) {
      auto loaded = sched::load_cost_table(path);
      if (!loaded) {
        fail(Ending::failed, loaded.error().message);
        return nullptr;
      }
      found = tables_.emplace(path, std::move(*loaded)).first;
    }
    return &found->second;
  }

  // A machine's own, or its host's, or the scenario's. Nothing if one cannot be read.
  std::optional<CostTables> costs_of_machines(const Scenario& scenario) {
    CostTables tables;
    for (const Machine& machine : scenario.machines) {
      const Machine* whose = &machine;
      while (whose->costs_path.empty() && whose->host)
        whose = &scenario.machines[whose->host->index];
      const bool own = !whose->costs_path.empty();
      tables.push_back(costs(own ? whose->costs_path : scenario.costs_path));
      if (tables.back() == nullptr) return std::nullopt;
    }
    return tables;
  }

  // False if nothing more should run.
  bool run_one(const Scenario& scenario, const Workload& workload) {
    const std::string name = scenario.variant + "." + workload.name;
    const auto tables = costs_of_machines(scenario);
    if (!tables) return false;
    auto built =
        RunWorld::build(scenario, workload, *tables,
                        {.settle_mode = options_.settle_mode, .check_napi = options_.check_napi});
    if (!built) return fail(Ending::failed, built.error().message);
    RunWorld& run = **built;
    Captures captures(scenario, workload, run);
    if (!open_captures(captures)) return false;
    Traces traces(run);
    if (!open_traces(traces)) return false;
    try {
      run.bring_up();
    } catch (const core::NoProgress& stuck) {
      return fail(Ending::stuck, name + ": " + stuck.what());
    }
    const Counters before = Counters::read(run);
    run.start_workload();
    const bool over = advance(run, scenario, name);
    const std::string lost = traces.close(report_.warnings);
    if (!report(run, scenario, workload, before, captures)) return false;
    if (!lost.empty()) return fail(Ending::failed, lost);
    return over;
  }

  // What was done, also by a run that did not come to its end. False if it cannot be told.
  bool report(RunWorld& run, const Scenario& scenario, const Workload& workload,
              const Counters& before, Captures& captures) {
    const Counters after = Counters::read(run);
    std::vector<std::string> machines;
    for (const Machine& machine : scenario.machines)
      machines.push_back(machine.name);
    RunResult result = summarise(run, before, after, machines);
    result.variant = scenario.variant;
    result.workload = workload.name;
    result.captures = captures_of_run_;
    result.napi_violations = violations_of(scenario, run.napi_check());
    const std::string name = result.variant + "." + result.workload;
    report_.results.push_back(std::move(result));
    if (!after.ledger.balanced)
      return fail(Ending::failed,
                  name + ": packets are missing from the ledger\n" + after.ledger.text);
    if (std::string lost = captures.close(); !lost.empty()) return fail(Ending::failed, lost);
    return true;
  }

  // A device that is to have the oddities of UML's driver is expected to show them.
  static std::vector<NapiBreach> violations_of(const Scenario& scenario,
                                               const irq::NapiCheck& check) {
    std::vector<NapiBreach> breaches;
    for (const irq::NapiViolation& violation : check.violations()) {
      const auto odd = [&violation](const Device& device) {
        const auto* const vector = std::get_if<VectorDevice>(&device.kind);
        return vector != nullptr && vector->behaviour == Behaviour::uml_6_1 &&
               violation.rule == irq::NapiRule::full_budget_completes &&
               device.name == violation.instance;
      };
      breaches.push_back(
          {violation, std::any_of(scenario.devices.begin(), scenario.devices.end(), odd)});
    }
    return breaches;
  }

  // Runs until the workload is over and all is quiet. False if something ended it before.
  bool advance(RunWorld& run, const Scenario& scenario, const std::string& name) {
    try {
      return advance_in_slices(run, scenario, name);
    } catch (const core::NoProgress& stuck) {
      return fail(Ending::stuck, name + ": " + stuck.what());
    }
  }

  bool advance_in_slices(RunWorld& run, const Scenario& scenario, const std::string& name) {
    const core::Instant stop = scenario.stop ? core::after(run.origin(), *scenario.stop)
                                             : core::after(run.origin(), kLongestRun);
    for (core::Instant until = run.origin();;) {
      until = std::min(core::after(until, kSlice), stop);
      const sched::Hub::Stop why = run.world().run_until(until);
      io_.poll();
      if (report_.ending == Ending::interrupted) return false;
      if (WallClock::now() >= deadline_)
        return fail(Ending::timed_out, name + ": the time limit is over");
      progress_.show(name, run.world().timeline());
      if (why == sched::Hub::Stop::quiet) {
        for (kernel::Machine* machine : run.machines())
          machine->napi().check_quiet();
        if (run.workload().finished()) return true;
        return fail(
            Ending::stuck,
            name + ": nothing is left to happen, but the workload is not over" + who_waits(run));
      }
      if (until == stop) {
        if (scenario.stop || run.workload().finished()) return true;
        return fail(Ending::stuck,
                    name + ": the workload is not over after an hour" + who_waits(run));
      }
    }
  }

  static std::string who_waits(RunWorld& run) {
    std::string lines;
    for (const std::string& line : run.world().blocked_threads())
      lines += "\n  " + line;
    return lines;
  }

  // What can be known to be wrong with the requests has been looked for (capture_requests.hpp).
  bool open_captures(Captures& captures) {
    std::map<std::string, std::string> paths;  // points of one file stay together
    captures_of_run_.clear();
    for (const CaptureRequest& request : options_.captures) {
      auto [path, is_new] = paths.try_emplace(request.path);
      if (is_new) {
        path->second = path_for(request.path);
        captures_of_run_.push_back(path->second);
      }
      if (std::string wrong = captures.add(request.device, path->second); !wrong.empty())
        return fail(Ending::failed, wrong);
    }
    return true;
  }

  bool open_traces(Traces& traces) {
    if (options_.watch) traces.watch(options_.watch);
    if (!options_.trace) return true;
    TraceRequest request = *options_.trace;
    request.path = path_for(request.path);
    const std::string wrong = traces.add(request);
    return wrong.empty() || fail(Ending::failed, wrong);
  }

  // One run writes the file that was asked for; several add their number before the suffix, and
  // none takes a name that another has. What is no file (/dev/null, a pipe) has one name only.
  std::string path_for(const std::string& path) {
    std::error_code none;
    const auto status = std::filesystem::status(path, none);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return path;
    std::string name = path;
    for (int number = 2; !captured_.insert(name).second || is_asked_for(name, path); ++number)
      name = numbered(path, number);
    return name;
  }

  bool is_asked_for(const std::string& name, const std::string& path) const {
    return name != path && std::any_of(options_.captures.begin(), options_.captures.end(),
                                       [&](const auto& other) { return other.path == name; });
  }

  static std::string numbered(const std::string& path, int number) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos || path.find('/', dot) != std::string::npos)
      return path + "-" + std::to_string(number);
    return path.substr(0, dot) + "-" + std::to_string(number) + path.substr(dot);
  }

  const ScenarioFile& file_;
  const RunnerOptions& options_;
  Progress progress_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  WallClock::time_point deadline_ = WallClock::time_point::max();
  std::map<std::string, sched::CostTable> tables_;
  std::set<std::string> captured_;
  std::vector<std::string> captures_of_run_;
  RunReport report_;
};

}  // namespace

RunReport run_scenario(const ScenarioFile& file, const RunnerOptions& options) {
  return Runner(file, options).run();
}

}  // namespace tapestry::app
