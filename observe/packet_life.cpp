#include "observe/packet_life.hpp"

#include <algorithm>

namespace tapestry::observe {

std::int64_t Stage::work_ns() const {
  std::int64_t sum = 0;
  for (const auto& [kind, ns] : work)
    sum += ns;
  return sum;
}

void LifeTracker::record(const TraceRecord& record) {
  if (is_milestone(record.kind)) return reach(record);
  switch (static_cast<core::Happening>(record.kind)) {
    case core::Happening::charge:
      charge(record);
      break;
    case core::Happening::thread_begins:  // what another thread has charged leads to nothing here
    case core::Happening::hardirq_begins:
    case core::Happening::softirqs_begin:
      charged_[{record.cpu, record.context}].clear();
      break;
    default:
      break;
  }
}

void LifeTracker::charge(const TraceRecord& record) {
  if (record.argument == 0) return;
  auto& charged = charged_[{record.cpu, record.context}];
  const auto kind = static_cast<sched::Work>(record.subject);
  const auto found = std::ranges::find(charged, kind, &std::pair<sched::Work, std::int64_t>::first);
  const auto ns = static_cast<std::int64_t>(record.argument);
  if (found != charged.end())
    found->second += ns;
  else
    charged.emplace_back(kind, ns);
}

void LifeTracker::reach(const TraceRecord& record) {
  const core::Milestone milestone = milestone_of(record.kind);
  Stage stage{milestone, record.at_ns, record.cpu, record.context, {}};
  if (record.cpu != 0) stage.work = std::exchange(charged_[{record.cpu, record.context}], {});
  if (milestone == core::Milestone::consumed) return;  // the copy that a sender is done with
  if (milestone == core::Milestone::socket_sent) {
    Life& life = lives_[record.packet];
    life = {};
    life.packet.id = record.packet;
    if (lives_.size() > kLivesMax) lives_.erase(lives_.begin());
  }
  if (milestone == core::Milestone::segmented || milestone == core::Milestone::cloned) {
    const auto parent = lives_.find(record.argument);
    if (parent == lives_.end()) return;
    Life part;
    part.packet = parent->second.packet;
    part.packet.id = record.packet;
    lives_[record.packet] = std::move(part);
  }
  const auto found = lives_.find(record.packet);
  if (found == lives_.end()) return;
  Life& life = found->second;
  life.packet.stages.push_back(stage);
  for (PacketLife& part : life.parts)
    part.stages.push_back(stage);
  if (milestone == core::Milestone::merged) {
    const auto whole = lives_.find(record.argument);
    if (whole != lives_.end()) {
      whole->second.parts.push_back(std::move(life.packet));
      for (PacketLife& part : life.parts)
        whole->second.parts.push_back(std::move(part));
    }
    lives_.erase(found);
  } else if (milestone == core::Milestone::delivered) {
    deliver(std::move(life.packet));
    for (PacketLife& part : life.parts)
      deliver(std::move(part));
    lives_.erase(found);
  }
}

// A card and a wire tell of instants that are still to come.
void LifeTracker::sort(PacketLife& life) {
  std::ranges::stable_sort(life.stages, {}, &Stage::at_ns);
}

void LifeTracker::deliver(PacketLife life) {
  sort(life);
  LifeFigures figures;
  figures.id = life.id;
  figures.duration_ns = life.duration_ns();
  for (std::size_t i = 1; i < life.stages.size(); ++i)
    figures.stage_ns[static_cast<std::size_t>(life.stages[i].reached)] +=
        life.stages[i].at_ns - life.stages[i - 1].at_ns;
  delivered_.push_back(figures);
  if (life.id == wanted_) kept_ = std::move(life);
}

void LifeTracker::finish(std::int64_t) { names_ = world_names_; }

}  // namespace tapestry::observe
