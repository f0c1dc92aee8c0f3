// Makes records of what a world tells its watchers, and hands them to a consumer. Changes nothing
// in the world.
//
// Records come in the order in which things happen to the code that runs. Their instants count what
// the running context still owes as spent, so that they are exact in settle mode `always`; in other
// modes an interrupt in between may be told later than what it delays. What is known ahead of its
// time (the instant that a frame leaves, or lies in a card's ring) carries that instant.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/ledger.hpp"
#include "core/probe.hpp"
#include "core/timeline.hpp"
#include "observe/trace_record.hpp"

namespace tapestry::kernel {
class World;
}

namespace tapestry::observe {

struct TraceOptions {
  // Only what happens from `from_ns` until before `to_ns` of the world's time.
  std::int64_t from_ns = 0;
  std::int64_t to_ns = std::numeric_limits<std::int64_t>::max();
  std::uint64_t records_max = 20'000'000;  // then no more are taken, and `cut` says so
  bool charges = false;                    // a record for each charge, too
};

class TraceSink {
 public:
  // World and consumer outlive it. Watches from now on.
  TraceSink(kernel::World& world, TraceConsumer& consumer, TraceOptions options);
  ~TraceSink();
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;

  // Stops watching and tells the consumer. Nothing happens the second time.
  void finish();

  std::uint64_t records() const { return records_; }
  bool cut() const { return cut_; }  // more happened in the window than was to be kept

 private:
  void happened(const core::HappeningNote& note);
  void reached(const core::Packet& packet, core::Milestone milestone, std::uint64_t argument);
  TraceContext follow(const core::HappeningNote& note);
  std::vector<TraceContext>& contexts_of(core::SubjectId cpu);
  TraceContext context_of(core::SubjectId cpu);
  void keep(const TraceRecord& record);
  void tell_charges(bool wanted);

  kernel::World& world_;
  TraceConsumer& consumer_;
  TraceOptions options_;
  const core::Timeline& timeline_;
  std::vector<std::vector<TraceContext>> contexts_;  // by CPU: what interrupted what
  std::uint64_t records_ = 0;
  bool cut_ = false;
  bool finished_ = false;
  core::ProbeHandle happenings_;
  core::ProbeHandle milestones_;
};

// Keeps the records; for small worlds and windows.
class TraceBuffer final : public TraceConsumer {
 public:
  void record(const TraceRecord& record) override { records_.push_back(record); }
  const std::vector<TraceRecord>& records() const { return records_; }
  // By instant; at one instant as they came.
  std::vector<TraceRecord> ordered() const;

 private:
  std::vector<TraceRecord> records_;
};

}  // namespace tapestry::observe
