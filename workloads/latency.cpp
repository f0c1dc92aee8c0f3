#include "workloads/latency.hpp"

#include <algorithm>
#include <bit>

namespace tapestry::workloads {

// Values below 2^(k+1) are their own index; above, an index is the power of two and the next k
// bits.
std::size_t Latency::index_of(std::uint64_t value) {
  const int magnitude = static_cast<int>(std::bit_width(value)) - (kPartsLog2 + 1);
  if (magnitude <= 0) return static_cast<std::size_t>(value);
  return (static_cast<std::size_t>(magnitude) << kPartsLog2) +
         static_cast<std::size_t>(value >> magnitude);
}

std::uint64_t Latency::highest(std::size_t index) {
  if (index < (std::size_t{2} << kPartsLog2)) return index;
  const std::size_t magnitude = (index >> kPartsLog2) - 1;
  const std::uint64_t part = index - (magnitude << kPartsLog2);
  return ((part + 1) << magnitude) - 1;
}

void Latency::record(core::Nanos value) {
  const std::int64_t ns = std::max<std::int64_t>(value.count(), 0);
  const std::size_t index = index_of(static_cast<std::uint64_t>(ns));
  if (index >= counts_.size()) counts_.resize(index + 1);
  ++counts_[index];
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += static_cast<std::uint64_t>(ns);
  ++count_;
}

void Latency::add(const Latency& other) {
  if (other.count_ == 0) return;
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t index = 0; index < other.counts_.size(); ++index)
    counts_[index] += other.counts_[index];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

core::Nanos Latency::mean() const {
  return core::Nanos{count_ == 0 ? 0 : static_cast<std::int64_t>(sum_ / count_)};
}

core::Nanos Latency::percentile(std::uint32_t share) const {
  if (count_ == 0) return core::Nanos{0};
  const auto rank = static_cast<std::uint64_t>((core::Wide{count_} * share + 99'999) / 100'000);
  std::uint64_t seen = 0;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    seen += counts_[index];
    if (seen >= std::max<std::uint64_t>(rank, 1))
      return core::Nanos{std::min(static_cast<std::int64_t>(highest(index)), max_)};
  }
  return max();
}

}  // namespace tapestry::workloads
