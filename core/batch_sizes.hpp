// How large batches are: a histogram with one class for each power of two, small enough to be
// always on. Classes: 0, 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64-127, 128 and more.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tapestry::core {

class BatchSizes {
 public:
  static constexpr std::size_t kClasses = 9;

  void add(std::uint64_t items) {
    ++counts_[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(items)), kClasses - 1)];
    ++batches_;
    items_ += items;
  }
  BatchSizes& operator+=(const BatchSizes& other) {
    for (std::size_t i = 0; i < kClasses; ++i)
      counts_[i] += other.counts_[i];
    batches_ += other.batches_;
    items_ += other.items_;
    return *this;
  }
  std::uint64_t batches() const { return batches_; }
  std::uint64_t items() const { return items_; }
  std::uint64_t in_class(std::size_t index) const { return counts_[index]; }
  // The smallest size of a class.
  static std::uint64_t low(std::size_t index) {
    return index == 0 ? 0 : std::uint64_t{1} << (index - 1);
  }

  // What was added since `before`, a copy of this histogram at an earlier instant.
  BatchSizes since(const BatchSizes& before) const {
    BatchSizes made = *this;
    for (std::size_t i = 0; i < kClasses; ++i)
      made.counts_[i] -= before.counts_[i];
    made.batches_ -= before.batches_;
    made.items_ -= before.items_;
    return made;
  }

 private:
  std::array<std::uint64_t, kClasses> counts_{};
  std::uint64_t batches_ = 0;
  std::uint64_t items_ = 0;
};

}  // namespace tapestry::core
