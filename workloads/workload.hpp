// A workload: the processes that make traffic, and what they saw.
//
// Its threads are made before the run and end by themselves: a sender stops, a receiver gives up
// when nothing has come for a while. Everything they report is read at settled instants of their
// own, so that it does not depend on how charges are paid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "kernel/machine.hpp"
#include "net/address.hpp"
#include "workloads/latency.hpp"

namespace tapestry::workloads {

// One direction of one session, whole run; bytes are payload.
struct FlowResult {
  std::string name;
  std::uint64_t sent_packets = 0, sent_bytes = 0;
  std::uint64_t received_packets = 0, received_bytes = 0;
  std::uint64_t out_of_order = 0;  // arrived behind a later one
};

// What pktgen reports; its times are disjoint, the rest of `total` is its own loop.
struct PktgenFigures {
  std::size_t frame_bytes = 0;
  std::uint64_t packets = 0;  // that the device took
  std::uint64_t errors = 0;   // that it, or its queueing discipline, dropped
  core::Nanos total{0};       // to the end of the last buffer's last reference
  core::Nanos idle{0};      // waiting: for a place in the ring, for a delay, for the last reference
  core::Nanos alloc{0};     // making and filling buffers, and whatever interrupted that
  core::Nanos transmit{0};  // in the device's transmit path, likewise
};

struct Outcome {
  std::vector<FlowResult> flows;
  // The measured span: after the warm-up, and of a workload that was cut short only as far as it
  // came. Throughput is what was received in it, over it.
  core::Nanos window{0};
  std::uint64_t window_packets = 0, window_bytes = 0;
  std::optional<Latency> latency;             // absent if the workload measures none
  std::optional<std::uint64_t> transactions;  // completed requests in the window
  std::optional<std::uint64_t> calls;         // system calls made by a syscall workload
  core::Nanos call_time{0};                   // ... and the time they took together
  std::optional<std::uint64_t> connections;   // TCP connections that opened, in the whole run
  std::optional<PktgenFigures> pktgen;        // of that workload
  std::optional<core::Nanos>
      longest_silence;          // between two deliveries, ends of the window included
  core::Instant finished_at{};  // when its last thread ended; if they have not, the first instant
};

class Workload {
 public:
  virtual ~Workload() = default;
  // Creates its threads, which begin at `origin`, now or later; once, while nothing runs.
  virtual void start(core::Instant origin) = 0;
  virtual bool finished() const = 0;
  virtual Outcome outcome() const = 0;
};

// A process's place: a machine, and the CPU it is pinned to, if any.
struct Place {
  kernel::Machine& machine;
  net::Ipv4Address address;
  std::optional<std::size_t> cpu;

  sched::CpuMask affinity() const { return cpu ? sched::CpuMask{1} << *cpu : sched::kAnyCpu; }
};

// The span in which a workload is measured: it starts at `origin`, and the warm-up comes first.
struct Window {
  core::Nanos warmup{0};
  core::Nanos duration{0};
  core::Instant origin = core::kStart;
  core::Instant begin() const { return origin + warmup; }
  core::Instant end() const { return core::after(origin, warmup + duration); }
  bool contains(core::Instant at) const { return at >= begin() && at < end(); }
  // How much of it has passed.
  core::Nanos passed(core::Instant now) const {
    return std::clamp(now - begin(), core::Nanos{0}, duration);
  }
};

// Settled present of the running thread of `machine`.
inline core::Instant present(kernel::Machine& machine) {
  sched::Cpu& cpu = machine.cpu();
  return cpu.now(cpu.settle());
}

inline void wait_until(kernel::Machine& machine, core::Instant at) {
  if (present(machine) >= at) return;
  machine.system_call([&] { machine.scheduler().sleep_until(at); });
}

// Counts the threads of a workload that have not ended.
class Attendance {
 public:
  void enter() { ++present_; }
  void leave(core::Instant at) {
    --present_;
    if (at > last_) last_ = at;
  }
  bool nobody() const { return present_ == 0; }
  core::Instant last() const { return last_; }

 private:
  int present_ = 0;
  core::Instant last_ = core::kStart;
};

}  // namespace tapestry::workloads
