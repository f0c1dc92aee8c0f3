// Chance, the same on every compiler and machine.
//
// One seed feeds any number of streams, and each stream is known by its name: a link's losses do
// not change when a workload draws one number more. The generator is xoshiro256** (Blackman and
// Vigna, 2018), its state filled by splitmix64 from a hash of seed and name. The distributions are
// our own and use integers only, because those of the standard library differ between libraries and
// logarithms differ in the last digit.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/time.hpp"

namespace tapestry::core {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  // 64 random bits.
  std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t carried = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= carried;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  // 0 to count - 1, each equally likely; count is at least 1.
  std::uint64_t uniform(std::uint64_t count);

  // low to high, both included.
  Nanos uniform(Nanos low, Nanos high);

  // True for this many in a billion. Draws nothing for 0 (never) and a billion (always).
  bool chance(std::uint64_t parts_per_billion);

  // Time to the next of events that come independently, `mean` apart on average. Rounded down to
  // whole nanoseconds, never more than kForever.
  Nanos exponential(Nanos mean);

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t value, int bits) {
    return (value << bits) | (value >> (64 - bits));
  }

  std::array<std::uint64_t, 4> state_;
};

}  // namespace tapestry::core
