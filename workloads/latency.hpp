// Latency as a histogram of fixed size: exact count, minimum, maximum and sum, percentiles within
// 0.1 %.
//
// Log-linear, as HdrHistogram with three significant digits: each power of two is cut into 1024
// equal parts, so a value is known to one part in 1024, and values below 2048 ns exactly. Integers
// only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/time.hpp"
#include "core/wide.hpp"

namespace tapestry::workloads {

class Latency {
 public:
  enum class Kind : std::uint8_t { one_way, round_trip };

  explicit Latency(Kind kind) : kind_(kind) {}

  void record(core::Nanos value);  // negative counts as 0
  void add(const Latency& other);

  Kind kind() const { return kind_; }
  std::uint64_t count() const { return count_; }
  core::Nanos min() const { return core::Nanos{count_ == 0 ? 0 : min_}; }
  core::Nanos max() const { return core::Nanos{max_}; }
  core::Nanos mean() const;  // rounded down; 0 of none

  // The smallest recorded bucket's highest value that at least `share` of all values do not exceed,
  // at most the maximum. `share` in parts per 100,000: 50,000 is the median, 99,900 is p99.9. 0 of
  // none.
  core::Nanos percentile(std::uint32_t share) const;

  // Calls visit(highest value of the bucket, count) for each bucket in use, upwards.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t index = 0; index < counts_.size(); ++index)
      if (counts_[index] != 0) visit(highest(index), counts_[index]);
  }

 private:
  static constexpr int kPartsLog2 = 10;

  static std::size_t index_of(std::uint64_t value);
  static std::uint64_t highest(std::size_t index);

  Kind kind_;
  std::vector<std::uint64_t> counts_;  // grows to the largest value seen: at most 54 * 1024 buckets
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  core::Wide sum_ = 0;
};

}  // namespace tapestry::workloads
