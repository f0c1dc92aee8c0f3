// The figures of one run: what a scenario's metrics are computed from, and the metrics
// (docs/output.md).
//
// Counters and CPU time are of the whole run, from the workload's start to its end: at both
// instants nothing is owed, so that they don't depend on how charges are paid. Rates and latencies
// are of the measured window.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/builder/run_world.hpp"
#include "app/results/binding.hpp"
#include "app/scenario/expectation.hpp"
#include "core/batch_sizes.hpp"
#include "core/ledger.hpp"
#include "sched/context.hpp"

namespace tapestry::app {

// One place where packets are handled in batches: how large they were, and why each ended.
struct Batches {
  std::string where;  // "server.eth0 poll"
  core::BatchSizes sizes;
  std::vector<std::pair<std::string, std::uint64_t>> ends;  // all of its reasons
};

// Counters of a world at one instant.
struct Counters {
  core::Instant at{};
  std::vector<sched::Usage> usage;          // by machine, in the scenario's order
  std::vector<std::uint64_t> system_calls;  // likewise: by processes of the machine
  std::vector<std::uint64_t> interrupts;    // likewise: device interrupts handled
  std::uint64_t context_switches = 0;
  std::uint64_t time_squeeze = 0;
  std::uint64_t squeezed_by_budget = 0, squeezed_by_time = 0;     // what it consists of
  std::vector<std::uint64_t> softnet_processed, softnet_dropped;  // by machine
  std::vector<core::Nanos> ksoftirqd;                             // likewise: CPU time
  std::uint64_t wire_packets = 0;                       // frames received by devices that interrupt
  std::uint64_t tcp_timeouts = 0, tcp_retransmits = 0;  // TCPTimeouts, RetransSegs
  std::uint64_t polls = 0, poll_packets = 0;  // NAPI polls of device drivers that did work
  std::uint64_t doorbells = 0;                // that cards were told of packets to send by
  host::charged::PortFigures port;            // of all guest ports together
  core::Balance ledger;
  BusyTimes busy;
  std::vector<Batches> batches;  // in a fixed order

  static Counters read(RunWorld& run);
};

struct NamedCounter {
  std::string name;
  std::int64_t value = 0;
  friend bool operator==(const NamedCounter&, const NamedCounter&) = default;
};

// What one machine did with its CPUs, in percent of one CPU.
struct CpuShares {
  std::string machine;
  double user = 0, system = 0, softirq = 0, hardirq = 0;
  double idling = 0;  // the ways into and out of idle
  double guest = 0;   // in the user mode of nested machines
  double steal = 0;   // wanted by a nested machine, and used by its host otherwise
  double all() const { return user + system + softirq + hardirq + idling + guest; }
};

// All of a machine's CPU time, from the workload's start to its end.
struct MachineUsage {
  std::string machine;
  std::size_t cpus = 0;
  // Under which name the time of nested machines stands in a profile of this one.
  std::string guest_symbol;
  sched::Usage usage;
};

// A step that broke the NAPI contract; known: of a device whose `behaviour` is to break it.
struct NapiBreach {
  irq::NapiViolation violation;
  bool known = false;
};

// One row of the results.
struct RunResult {
  std::string variant;
  std::string workload;
  workloads::Outcome outcome;
  bool finished = false;             // the workload came to its end
  std::vector<std::string> waiting;  // if not: who waits for what
  std::map<std::string, MetricValue> metrics;
  core::Nanos elapsed{};                                     // what CPU times are in percent of
  std::vector<CpuShares> cpu;                                // by machine, in the scenario's order
  std::vector<MachineUsage> usage;                           // likewise
  std::vector<std::pair<std::string, std::uint64_t>> drops;  // by reason, only those that occurred
  std::vector<Batches> batches;                              // of devices and softirqs that had any
  std::vector<NamedCounter>
      counters;  // whatever two equal runs agree on; the fingerprint hashes them
  std::vector<NapiBreach> napi_violations;  // with RunnerOptions::check_napi
  std::string fingerprint;
  std::string warning;
  std::optional<BusyResource> busiest;  // over the whole run
  std::vector<std::string> captures;    // the files that this run alone has written
};

// `before` at the workload's start, `after` when all is quiet again.
RunResult summarise(RunWorld& run, const Counters& before, const Counters& after,
                    const std::vector<std::string>& machine_names);

// Where batches are handled, and why they ended, up to now.
std::vector<Batches> batches_of(RunWorld& run, const host::charged::PortFigures& port);
// Likewise, of what happened between two such lists; without those that had none.
std::vector<Batches> batches_between(const std::vector<Batches>& before,
                                     const std::vector<Batches>& after);

// Integers only, in a fixed order: results, flows, drops, the counters of every machine and device.
std::vector<NamedCounter> collect(RunWorld& run, const RunResult& result, const Counters& after);
std::string fingerprint_of(const std::vector<NamedCounter>& counters);

}  // namespace tapestry::app
