// A trace for ui.perfetto.dev: Perfetto's protobuf, written as records come and never held.
//
// A machine is a process; each of its CPUs has one track for tasks, one for softirqs and one for
// interrupt handlers. Slices on a track nest: one that ends closes what it contains, an end without
// a begin (in front of the window) is left out, and what is open when the trace ends is closed.
// Milestones of packets are instants that a flow with the packet's id joins. Queue lengths, batches
// and congestion windows are counters.
#pragma once

#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/happening.hpp"
#include "core/result.hpp"
#include "observe/trace_record.hpp"

namespace tapestry::observe {

class PerfettoWriter final : public TraceConsumer {
 public:
  // `names` outlives it.
  static core::Result<std::unique_ptr<PerfettoWriter>> create(const std::string& path,
                                                              const core::NameTable& names);
  ~PerfettoWriter() override;
  PerfettoWriter(const PerfettoWriter&) = delete;
  PerfettoWriter& operator=(const PerfettoWriter&) = delete;

  void record(const TraceRecord& record) override;
  void finish(std::int64_t end_ns) override;
  // Writes what is left. What went wrong; empty: nothing.
  std::string close();

 private:
  struct Slice {
    core::Happening begun;
    core::SubjectId subject;
  };
  // Of one context of one CPU.
  struct Track {
    std::uint64_t uuid = 0;
    std::int64_t last_ns = 0;  // slices never go back
    std::vector<Slice> open;
  };

  PerfettoWriter(std::string path, std::FILE* file, const core::NameTable& names);
  Track& track_of(core::SubjectId cpu, TraceContext context);
  std::uint64_t process_of(const std::string& machine);
  std::uint64_t describe(std::uint64_t parent, const std::string& name, bool counter);
  std::uint64_t number_of(std::vector<std::uint32_t>& known, std::size_t whose,
                          const std::function<std::string()>& name);
  void intern(std::uint32_t table, std::uint64_t number, const std::string& name);
  void begin(Track& track, std::int64_t at_ns, core::Happening kind, core::SubjectId subject,
             std::uint64_t argument);
  void end(Track& track, std::int64_t at_ns, core::Happening begun);
  void close_all(Track& track, std::int64_t at_ns);
  void close_top(Track& track, std::int64_t at_ns);
  void instant(const TraceRecord& record);
  void count(const TraceRecord& record);
  void thread_turn(const TraceRecord& record);
  void write_event(std::int64_t at_ns, std::uint64_t track, int type, std::uint64_t name,
                   const TraceRecord* record = nullptr);
  void write_packet(const std::string& packet);
  void flush();
  std::string slice_name(core::Happening kind, core::SubjectId subject,
                         std::uint64_t argument) const;

  std::string path_;
  std::FILE* file_;
  const core::NameTable& names_;
  std::unique_ptr<char[]> chunk_;
  std::size_t used_ = 0;
  bool failed_ = false;
  std::uint64_t last_uuid_ = 0;
  std::map<std::string, std::uint64_t> processes_;
  std::vector<Track> tracks_;                                              // by CPU and context
  std::map<std::pair<TraceKind, std::uint32_t>, std::uint64_t> counters_;  // subject and CPU
  std::array<std::vector<std::uint32_t>, core::kHappenings + core::kMilestones> names_of_kind_;
  std::uint32_t last_name_ = 0;
  std::vector<bool> in_call_;  // by thread: blocked inside a system call
};

}  // namespace tapestry::observe
