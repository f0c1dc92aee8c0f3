// The lives of packets, from a socket that builds them to the one that delivers them, put together
// from records as they come.
//
// A stage is the way from one milestone to the next. Its work is what the same context of the same
// CPU has charged since the last milestone of any packet there: what led to this one. The rest of
// its time is waiting, or the time of others. Segments and clones begin with the life of what they
// were cut from, and a merged packet goes on in the one that it is a part of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/happening.hpp"
#include "observe/trace_record.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::observe {

struct Stage {
  core::Milestone reached{};
  std::int64_t at_ns = 0;
  core::SubjectId cpu = 0;
  TraceContext context = TraceContext::device;
  std::vector<std::pair<sched::Work, std::int64_t>> work;  // nanoseconds by kind, as first charged

  std::int64_t work_ns() const;
};

struct PacketLife {
  std::uint64_t id = 0;
  std::vector<Stage> stages;

  std::int64_t duration_ns() const { return stages.back().at_ns - stages.front().at_ns; }
};

// What is kept of every delivered packet.
struct LifeFigures {
  std::uint64_t id = 0;
  std::int64_t duration_ns = 0;
  std::array<std::int64_t, core::kMilestones> stage_ns{};  // by what was reached
};

class LifeTracker final : public TraceConsumer {
 public:
  // Keeps the whole life of the packet `wanted`; 0: of none.
  LifeTracker(const core::NameTable& names, std::uint64_t wanted)
      : world_names_(names), wanted_(wanted) {}

  void record(const TraceRecord& record) override;
  void finish(std::int64_t end_ns) override;

  const std::vector<LifeFigures>& delivered() const { return delivered_; }
  const PacketLife& wanted() const { return kept_; }  // without stages if it was never delivered
  const core::NameTable& names() const { return names_; }  // of the world that has ended

 private:
  using Place = std::pair<core::SubjectId, TraceContext>;
  struct Life {
    PacketLife packet;
    std::vector<PacketLife> parts;  // merged into it
  };

  void charge(const TraceRecord& record);
  void reach(const TraceRecord& record);
  void deliver(PacketLife life);
  static void sort(PacketLife& life);

  // Acknowledgements are never delivered: the oldest lives make room for new ones.
  static constexpr std::size_t kLivesMax = 100'000;

  const core::NameTable& world_names_;
  core::NameTable names_;
  std::uint64_t wanted_;
  std::map<Place, std::vector<std::pair<sched::Work, std::int64_t>>> charged_;
  std::map<std::uint64_t, Life> lives_;
  std::vector<LifeFigures> delivered_;
  PacketLife kept_;
};

}  // namespace tapestry::observe
