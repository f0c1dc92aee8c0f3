#include "observe/perfetto_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "irq/softirq.hpp"
#include "observe/perfetto_event.hpp"
#include "observe/perfetto_fields.hpp"

namespace tapestry::observe {

namespace {

constexpr std::size_t kChunkBytes = 1 << 18;
constexpr std::size_t kEventBytesMax = 128;
constexpr std::uint32_t kSequence = 1;
constexpr std::uint64_t kPacketName = 1;  // the one annotation that there is

// The others have one name for all, or one for each number (a softirq's vector).
bool names_by_subject(core::Happening kind) {
  return kind != core::Happening::call_begins && kind != core::Happening::hardirq_begins &&
         kind != core::Happening::softirqs_begin && kind != core::Happening::host_call_begins;
}

bool begins_slice(core::Happening kind) {
  return kind <= core::Happening::host_call_ends && static_cast<unsigned>(kind) % 2 == 0;
}

bool ends_slice(core::Happening kind) {
  return kind <= core::Happening::host_call_ends && static_cast<unsigned>(kind) % 2 == 1;
}

core::Happening begin_of(core::Happening end) {
  return static_cast<core::Happening>(static_cast<unsigned>(end) - 1);
}

bool is_count(TraceKind kind) {
  return kind == kind_of(core::Happening::queue_length) ||
         kind == kind_of(core::Happening::batch_sent) ||
         kind == kind_of(core::Happening::batch_received) ||
         kind == kind_of(core::Happening::window);
}

bool ends_life(core::Milestone milestone) {
  return milestone == core::Milestone::delivered || milestone == core::Milestone::dropped;
}

}  // namespace

core::Result<std::unique_ptr<PerfettoWriter>> PerfettoWriter::create(const std::string& path,
                                                                     const core::NameTable& names) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return core::Error{path + ": cannot be written: " + std::strerror(errno)};
  return std::unique_ptr<PerfettoWriter>(new PerfettoWriter(path, file, names));
}

PerfettoWriter::PerfettoWriter(std::string path, std::FILE* file, const core::NameTable& names)
    : path_(std::move(path)),
      file_(file),
      names_(names),
      chunk_(new char[kChunkBytes + kEventBytesMax]) {
  std::string packet;
  protozero::pbf_writer writer(packet);
  writer.add_uint32(perfetto::packet::kSequence, kSequence);
  writer.add_uint32(perfetto::packet::kSequenceFlags, perfetto::packet::kStateCleared);
  write_packet(packet);
  intern(perfetto::interned_data::kAnnotationNames, kPacketName, "packet");
}

PerfettoWriter::~PerfettoWriter() { (void)close(); }

// For the few packets that describe.
void PerfettoWriter::write_packet(const std::string& packet) {
  flush();
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(perfetto::kTracePacket, packet);
  failed_ |= std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size();
}

void PerfettoWriter::flush() {
  failed_ |= std::fwrite(chunk_.get(), 1, used_, file_) != used_;
  used_ = 0;
}

std::string PerfettoWriter::close() {
  if (file_ == nullptr) return {};
  flush();
  failed_ |= std::fclose(std::exchange(file_, nullptr)) != 0;
  return failed_ ? path_ + ": cannot be written" : std::string();
}

// --- tracks --------------------------------------------------------------------------------------

std::uint64_t PerfettoWriter::describe(std::uint64_t parent, const std::string& name,
                                       bool counter) {
  const std::uint64_t uuid = ++last_uuid_;
  std::string packet;
  protozero::pbf_writer writer(packet);
  writer.add_uint32(perfetto::packet::kSequence, kSequence);
  {
    protozero::pbf_writer track(writer, perfetto::packet::kTrackDescriptor);
    track.add_uint64(perfetto::descriptor::kUuid, uuid);
    track.add_string(perfetto::descriptor::kName, name);
    if (parent != 0) {
      track.add_uint64(perfetto::descriptor::kParent, parent);
    } else {
      protozero::pbf_writer process(track, perfetto::descriptor::kProcess);
      process.add_int32(perfetto::descriptor::kProcessPid, static_cast<std::int32_t>(uuid));
      process.add_string(perfetto::descriptor::kProcessName, name);
    }
    if (counter) track.add_message(perfetto::descriptor::kCounter, std::string());
  }
  write_packet(packet);
  return uuid;
}

std::uint64_t PerfettoWriter::process_of(const std::string& machine) {
  std::uint64_t& uuid = processes_[machine];
  if (uuid == 0) uuid = describe(0, machine.empty() ? "devices" : machine, false);
  return uuid;
}

PerfettoWriter::Track& PerfettoWriter::track_of(core::SubjectId cpu, TraceContext context) {
  const std::size_t index = cpu * kTraceContexts + static_cast<std::size_t>(context);
  if (index >= tracks_.size()) tracks_.resize(index + 1);
  Track& track = tracks_[index];
  if (track.uuid != 0) return track;
  const core::NameTable::Entry& entry = names_[cpu];
  const std::string name = cpu == 0 ? "events" : fmt::format("{} {}", entry.name, name_of(context));
  track.uuid = describe(process_of(entry.machine), name, false);
  return track;
}

// --- events --------------------------------------------------------------------------------------

// The number of a name; told in a packet of its own when it is used for the first time. Of a kind
// all that makes its names differ is whom it is about.
std::uint64_t PerfettoWriter::number_of(std::vector<std::uint32_t>& known, std::size_t whose,
                                        const std::function<std::string()>& name) {
  if (whose >= known.size()) known.resize(whose + 1);
  if (known[whose] != 0) return known[whose];
  known[whose] = ++last_name_;
  intern(perfetto::interned_data::kEventNames, last_name_, name());
  return last_name_;
}

void PerfettoWriter::intern(std::uint32_t table, std::uint64_t number, const std::string& name) {
  std::string packet;
  protozero::pbf_writer writer(packet);
  writer.add_uint32(perfetto::packet::kSequence, kSequence);
  writer.add_uint32(perfetto::packet::kSequenceFlags, perfetto::packet::kNeedsState);
  {
    protozero::pbf_writer data(writer, perfetto::packet::kInternedData);
    protozero::pbf_writer entry(data, table);
    entry.add_uint64(perfetto::interned_data::kNumber, number);
    entry.add_string(perfetto::interned_data::kName, name);
  }
  write_packet(packet);
}

void PerfettoWriter::write_event(std::int64_t at_ns, std::uint64_t track, int type,
                                 std::uint64_t name, const TraceRecord* record) {
  EventWriter writer(chunk_.get() + used_);
  char* const packet = writer.open(perfetto::kTracePacket);
  writer.add(perfetto::packet::kTimestamp, static_cast<std::uint64_t>(at_ns));
  writer.add(perfetto::packet::kSequence, kSequence);
  writer.add(perfetto::packet::kSequenceFlags, perfetto::packet::kNeedsState);
  char* const event = writer.open(perfetto::packet::kTrackEvent);
  writer.add(perfetto::event::kType, static_cast<std::uint64_t>(type));
  writer.add(perfetto::event::kTrack, track);
  if (name != 0) writer.add(perfetto::event::kNameNumber, name);
  if (type == perfetto::event::kCounter)
    writer.add(perfetto::event::kCounterValue, record->argument);
  if (type == perfetto::event::kInstant && record->packet != 0) {
    const bool last = ends_life(milestone_of(record->kind));
    writer.add_fixed64(last ? perfetto::event::kLastFlow : perfetto::event::kFlow, record->packet);
    char* const note = writer.open(perfetto::event::kAnnotation);
    writer.add(perfetto::event::kAnnotationNameNumber, kPacketName);
    writer.add(perfetto::event::kAnnotationValue, record->packet);
    writer.close(note);
  }
  writer.close(event);
  writer.close(packet);
  used_ = static_cast<std::size_t>(writer.end() - chunk_.get());
  if (used_ >= kChunkBytes) flush();
}

std::string PerfettoWriter::slice_name(core::Happening kind, core::SubjectId subject,
                                       std::uint64_t argument) const {
  switch (kind) {
    case core::Happening::call_begins:
      return "system call";
    case core::Happening::hardirq_begins:
      return "interrupt";
    case core::Happening::softirqs_begin:
      return "softirqs";
    case core::Happening::softirq_begins:
      return irq::vector_name(static_cast<irq::Vector>(argument));
    case core::Happening::poll_begins:
      return "poll " + names_[subject].name;
    case core::Happening::host_call_begins:
      return "host call";
    default:
      return names_[subject].name;
  }
}

void PerfettoWriter::begin(Track& track, std::int64_t at_ns, core::Happening kind,
                           core::SubjectId subject, std::uint64_t argument) {
  track.last_ns = std::max(track.last_ns, at_ns);
  track.open.push_back({kind, subject});
  const std::size_t whose = subject != 0 ? subject : argument;
  const std::uint64_t name =
      number_of(names_of_kind_[static_cast<std::size_t>(kind)], names_by_subject(kind) ? whose : 0,
                [&] { return slice_name(kind, subject, argument); });
  write_event(track.last_ns, track.uuid, perfetto::event::kBegin, name);
}

void PerfettoWriter::close_top(Track& track, std::int64_t at_ns) {
  track.last_ns = std::max(track.last_ns, at_ns);
  track.open.pop_back();
  write_event(track.last_ns, track.uuid, perfetto::event::kEnd, 0);
}

void PerfettoWriter::close_all(Track& track, std::int64_t at_ns) {
  while (!track.open.empty())
    close_top(track, at_ns);
}

// With what is still open inside of it: a call that was unwound never returns.
void PerfettoWriter::end(Track& track, std::int64_t at_ns, core::Happening begun) {
  const auto is_it = [begun](const Slice& slice) { return slice.begun == begun; };
  const auto found = std::find_if(track.open.rbegin(), track.open.rend(), is_it);
  if (found == track.open.rend()) return;
  for (auto left = (found - track.open.rbegin()) + 1; left > 0; --left)
    close_top(track, at_ns);
}

// A thread that left its CPU inside a system call is inside of it when it comes back.
void PerfettoWriter::thread_turn(const TraceRecord& record) {
  Track& track = track_of(record.cpu, TraceContext::task);
  if (record.subject >= in_call_.size()) in_call_.resize(record.subject + std::size_t{1});
  if (record.kind == kind_of(core::Happening::thread_begins)) {
    close_all(track, record.at_ns);
    begin(track, record.at_ns, core::Happening::thread_begins, record.subject, 0);
    if (in_call_[record.subject])
      begin(track, record.at_ns, core::Happening::call_begins, record.subject, 0);
    return;
  }
  in_call_[record.subject] = std::ranges::any_of(
      track.open, [](const Slice& slice) { return slice.begun == core::Happening::call_begins; });
  close_all(track, record.at_ns);
}

void PerfettoWriter::instant(const TraceRecord& record) {
  const auto name = [&] {
    if (is_milestone(record.kind)) return std::string(core::name_of(milestone_of(record.kind)));
    const std::string what(core::name_of(static_cast<core::Happening>(record.kind)));
    return record.subject == 0 ? what : what + " " + names_[record.subject].name;
  };
  const std::uint64_t number = number_of(names_of_kind_[record.kind], record.subject, name);
  const std::uint64_t track = track_of(record.cpu, record.context).uuid;
  write_event(record.at_ns, track, perfetto::event::kInstant, number, &record);
}

void PerfettoWriter::count(const TraceRecord& record) {
  const std::uint32_t whose = record.subject != 0 ? record.subject : record.cpu;
  std::uint64_t& uuid = counters_[{record.kind, whose}];
  if (uuid == 0) {
    const core::NameTable::Entry& entry = names_[static_cast<core::SubjectId>(whose)];
    uuid = describe(
        process_of(entry.machine),
        fmt::format("{} {}", entry.name, core::name_of(static_cast<core::Happening>(record.kind))),
        true);
  }
  write_event(record.at_ns, uuid, perfetto::event::kCounter, 0, &record);
}

void PerfettoWriter::record(const TraceRecord& record) {
  if (record.kind == kind_of(core::Milestone::consumed)) return;  // no place that it is at
  if (is_milestone(record.kind)) return instant(record);
  if (is_count(record.kind)) return count(record);
  const auto kind = static_cast<core::Happening>(record.kind);
  if (kind <= core::Happening::thread_ends) return thread_turn(record);
  Track& track = track_of(record.cpu, record.context);
  if (begins_slice(kind)) return begin(track, record.at_ns, kind, record.subject, record.argument);
  if (ends_slice(kind)) return end(track, record.at_ns, begin_of(kind));
  if (kind != core::Happening::idle_begins && kind != core::Happening::idle_ends) instant(record);
}

void PerfettoWriter::finish(std::int64_t end_ns) {
  for (Track& track : tracks_)
    close_all(track, end_ns);
}

}  // namespace tapestry::observe
