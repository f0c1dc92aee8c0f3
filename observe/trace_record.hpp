// One thing that happened, as traces keep it: a happening of the world or a milestone of a packet,
// with where the running code stood. Numbers only; names are in the world's NameTable.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/happening.hpp"
#include "core/milestone.hpp"

namespace tapestry::observe {

// Happenings first, then milestones.
using TraceKind = std::uint8_t;

constexpr TraceKind kind_of(core::Happening happening) { return static_cast<TraceKind>(happening); }
constexpr TraceKind kind_of(core::Milestone milestone) {
  return static_cast<TraceKind>(core::kHappenings + static_cast<std::size_t>(milestone));
}
constexpr bool is_milestone(TraceKind kind) { return kind >= core::kHappenings; }
constexpr core::Milestone milestone_of(TraceKind kind) {
  return static_cast<core::Milestone>(kind - core::kHappenings);
}

// The names of all kinds, by number.
std::vector<std::string_view> happening_names();

enum class TraceContext : std::uint8_t { device, task, softirq, hardirq };
inline constexpr std::size_t kTraceContexts = 4;
std::string_view name_of(TraceContext context);

struct TraceRecord {
  std::int64_t at_ns = 0;       // since the world's start
  std::uint64_t packet = 0;     // 0: of no packet
  std::uint64_t argument = 0;   // core/happening.def, core/milestone.hpp
  core::SubjectId subject = 0;  // whom it is about
  core::SubjectId cpu = 0;      // 0: a device's event
  TraceKind kind = 0;
  TraceContext context = TraceContext::device;

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(sizeof(TraceRecord) <= 32, "ten million of them are to be handled");

// Who takes the records as they come.
class TraceConsumer {
 public:
  virtual ~TraceConsumer() = default;
  virtual void record(const TraceRecord& record) = 0;
  // Nothing comes after `end_ns`.
  virtual void finish(std::int64_t end_ns) { static_cast<void>(end_ns); }
};

}  // namespace tapestry::observe
