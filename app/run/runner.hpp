// Runs a scenario: every chosen variant with every chosen workload, each in a world of its own.
//
// The simulation advances in slices of virtual time; in between, signals, the progress line and the
// time limit get their turn on an io_context. Slices change no result.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/builder/run_world.hpp"
#include "app/results/metrics.hpp"
#include "app/scenario/scenario.hpp"
#include "observe/trace_record.hpp"

namespace tapestry::app {

struct CaptureRequest {
  std::string
      device;  // "host.tap0"; empty: the scenario's first capture point, else its first device
  std::string path;
};

// A trace for Perfetto of what happens in a window of the world's time.
struct TraceRequest {
  std::string path;
  core::Nanos from{0};
  core::Nanos to = core::kForever;
};

// Another watcher of each run: made when its world stands, finished when the run is over.
using MakeTraceConsumer = std::function<std::unique_ptr<observe::TraceConsumer>(RunWorld&)>;

struct RunnerOptions {
  sched::SettleMode settle_mode = sched::SettleMode::seams;
  std::vector<std::string> variants;   // empty: all
  std::vector<std::string> workloads;  // empty: all
  std::vector<CaptureRequest> captures;
  std::optional<TraceRequest> trace;
  MakeTraceConsumer watch;                           // with all charges; empty: nobody
  std::optional<std::chrono::milliseconds> timeout;  // of wall time, for all runs together
  bool check_napi = false;                           // also judge drivers by the NAPI contract
  bool progress = false;                             // a line on standard error
};

enum class Ending : std::uint8_t {
  complete,
  interrupted,  // SIGINT or SIGTERM: results hold what was finished, and the run it cut short
  timed_out,    // the time limit
  stuck,        // a loop without progress, or a workload that never ends: `error` says which
  failed        // the host refused something, or the ledger does not balance: `error` says what
};

struct RunReport {
  Ending ending = Ending::complete;
  std::string error;
  std::vector<std::string> warnings;  // what was asked for and is there in part
  std::vector<RunResult> results;
  std::string fingerprint;  // over all of them; empty if there are none
};

RunReport run_scenario(const ScenarioFile& file, const RunnerOptions& options);

}  // namespace tapestry::app
