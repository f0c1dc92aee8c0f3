#include "observe/trace_sink.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernel/world.hpp"

namespace tapestry::observe {

std::vector<std::string_view> happening_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < core::kHappenings; ++i)
    names.push_back(core::name_of(static_cast<core::Happening>(i)));
  for (std::size_t i = 0; i < core::kMilestones; ++i)
    names.push_back(core::name_of(static_cast<core::Milestone>(i)));
  return names;
}

std::string_view name_of(TraceContext context) {
  static constexpr std::array<std::string_view, kTraceContexts> kNames{"device", "task", "softirq",
                                                                       "hardirq"};
  return kNames[static_cast<std::size_t>(context)];
}

TraceSink::TraceSink(kernel::World& world, TraceConsumer& consumer, TraceOptions options)
    : world_(world),
      consumer_(consumer),
      options_(options),
      timeline_(world.timeline()),
      happenings_(world.timeline().on_happening.watch(
          [this](const core::HappeningNote& note) { happened(note); })),
      milestones_(world.packets().ledger().on_milestone.watch(
          [this](const core::Packet& packet, core::Milestone milestone, std::uint64_t argument) {
            reached(packet, milestone, argument);
          })) {
  if (options_.charges) tell_charges(true);
}

TraceSink::~TraceSink() { finish(); }

void TraceSink::finish() {
  if (std::exchange(finished_, true)) return;
  if (options_.charges) tell_charges(false);
  happenings_.detach();
  milestones_.detach();
  consumer_.finish(core::nanos_since_start(timeline_.now()));
}

void TraceSink::tell_charges(bool wanted) {
  for (const auto& machine : world_.machines())
    for (std::size_t i = 0; i < machine->scheduler().cpus(); ++i)
      machine->scheduler().cpu(i).tell_charges(wanted);
}

void TraceSink::keep(const TraceRecord& record) {
  if (record.at_ns < options_.from_ns || record.at_ns >= options_.to_ns) return;
  if (records_ == options_.records_max) {
    cut_ = true;
    return;
  }
  ++records_;
  consumer_.record(record);
}

std::vector<TraceContext>& TraceSink::contexts_of(core::SubjectId cpu) {
  if (cpu >= contexts_.size()) contexts_.resize(cpu + std::size_t{1});
  return contexts_[cpu];
}

TraceContext TraceSink::context_of(core::SubjectId cpu) {
  if (cpu == 0) return TraceContext::device;
  const std::vector<TraceContext>& stack = contexts_of(cpu);
  return stack.empty() ? TraceContext::task : stack.back();
}

// The context that the note belongs to; that of a context's end is the one that ends.
TraceContext TraceSink::follow(const core::HappeningNote& note) {
  const auto enter = [&](TraceContext context) {
    contexts_of(note.cpu).push_back(context);
    return context;
  };
  const auto leave = [&] {
    const TraceContext left = context_of(note.cpu);
    std::vector<TraceContext>& stack = contexts_of(note.cpu);
    if (!stack.empty()) stack.pop_back();
    return left;
  };
  switch (note.kind) {
    case core::Happening::hardirq_begins:
      return enter(TraceContext::hardirq);
    case core::Happening::softirqs_begin:
      return enter(TraceContext::softirq);
    case core::Happening::hardirq_ends:
    case core::Happening::softirqs_end:
      return leave();
    default:
      return context_of(note.cpu);
  }
}

void TraceSink::happened(const core::HappeningNote& note) {
  if (note.kind == core::Happening::charge && !options_.charges) return;  // another one asked
  keep({.at_ns = note.at_ns,
        .packet = 0,
        .argument = note.argument,
        .subject = note.subject,
        .cpu = note.cpu,
        .kind = kind_of(note.kind),
        .context = follow(note)});
}

void TraceSink::reached(const core::Packet& packet, core::Milestone milestone,
                        std::uint64_t argument) {
  TraceRecord record{.at_ns = timeline_.worked_up_to_ns(),
                     .packet = packet.id,
                     .argument = argument,
                     .subject = 0,
                     .cpu = timeline_.running_cpu(),
                     .kind = kind_of(milestone),
                     .context = context_of(timeline_.running_cpu())};
  if (milestone == core::Milestone::wire_out || milestone == core::Milestone::ring_filled) {
    record.at_ns = static_cast<std::int64_t>(argument);
    record.cpu = 0;
    record.context = TraceContext::device;
  }
  keep(record);
}

std::vector<TraceRecord> TraceBuffer::ordered() const {
  std::vector<TraceRecord> records = records_;
  std::ranges::stable_sort(records, {}, &TraceRecord::at_ns);
  return records;
}

}  // namespace tapestry::observe
