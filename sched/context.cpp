#include "sched/context.hpp"

namespace tapestry::sched {

const char* context_name(ContextKind kind) {
  switch (kind) {
    case ContextKind::user:
      return "user";
    case ContextKind::system:
      return "system";
    case ContextKind::softirq:
      return "softirq";
    case ContextKind::hardirq:
      return "hardirq";
    case ContextKind::idle:
      return "idle";
    case ContextKind::count_:
      break;
  }
  return "?";
}

core::Nanos Usage::of(ContextKind kind) const {
  std::int64_t sum = 0;
  for (const std::int64_t spent : by_work_[static_cast<std::size_t>(kind)])
    sum += spent;
  return core::Nanos{sum};
}

core::Nanos Usage::of(Work work) const {
  std::int64_t sum = 0;
  for (const auto& kind : by_work_)
    sum += kind[static_cast<std::size_t>(work)];
  return core::Nanos{sum};
}

core::Nanos Usage::busy() const {
  core::Nanos sum = guest_;
  for (std::size_t kind = 0; kind < kContextKinds; ++kind)
    sum += of(static_cast<ContextKind>(kind));
  return sum;
}

Usage& Usage::operator+=(const Usage& other) {
  for (std::size_t kind = 0; kind < kContextKinds; ++kind)
    for (std::size_t work = 0; work < kWorkCount; ++work)
      by_work_[kind][work] += other.by_work_[kind][work];
  idle_ += other.idle_;
  guest_ += other.guest_;
  stolen_ += other.stolen_;
  return *this;
}

Usage operator-(const Usage& later, const Usage& earlier) {
  Usage difference = later;
  for (std::size_t kind = 0; kind < kContextKinds; ++kind)
    for (std::size_t work = 0; work < kWorkCount; ++work)
      difference.by_work_[kind][work] -= earlier.by_work_[kind][work];
  difference.idle_ -= earlier.idle_;
  difference.guest_ -= earlier.guest_;
  difference.stolen_ -= earlier.stolen_;
  return difference;
}

}  // namespace tapestry::sched
