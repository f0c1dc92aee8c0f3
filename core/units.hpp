// Bytes and bit rates as types of their own, and the quantities that people write in scenario
// files.
//
// One rule for the whole program, so that no two parts can disagree about a factor of 1000 or 8:
//   sizes   B; k M G T are decimal (64k = 64kB = 64,000 B); Ki Mi Gi Ti are binary (64KiB = 65,536
//   B) rates   always say bit or byte: bit, bps, b/s are bits (10Gbit = 10Gbps = 10Gb/s); B/s are
//   bytes
//           (1.25GB/s = 10Gbit); prefixes as for sizes
//   spans   ns, us, ms, s, min, h
//   shares  % of a whole, down to one part in a billion (0.0000001%)
// The prefixes k, m, g, t may be written in either case; b (bit) and B (byte) may not be exchanged.
// A quantity is digits, at most one decimal point, and the unit, with no sign, space or exponent.
// A missing unit is an error. Nothing is rounded: what is no whole number of the smallest unit
// (1.5B) or does not fit is an error too. No floating point is involved.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/assert.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/wide.hpp"

namespace tapestry::core {

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}
  constexpr std::uint64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return count_ += other.count_, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count_ -= other.count_, *this; }
  friend constexpr Bytes operator+(Bytes left, Bytes right) { return left += right; }
  friend constexpr Bytes operator-(Bytes left, Bytes right) { return left -= right; }

 private:
  std::uint64_t count_ = 0;
};

class BitRate {
 public:
  constexpr BitRate() = default;
  constexpr explicit BitRate(std::uint64_t bits_per_second) : bits_per_second_(bits_per_second) {}
  constexpr std::uint64_t bits_per_second() const { return bits_per_second_; }
  constexpr auto operator<=>(const BitRate&) const = default;

  // How long `size` occupies a wire of this rate, in whole nanoseconds. What is left of a
  // nanosecond is carried to the next call in `remainder`, a count of 1/rate nanoseconds that
  // starts as 0 and belongs to one wire: 64 B at 100 Gbit last 5.12 ns, a hundred of them exactly
  // 512 ns.
  Nanos time_for(Bytes size, std::uint64_t& remainder) const;

 private:
  std::uint64_t bits_per_second_ = 0;
};

Result<Nanos> parse_duration(std::string_view text);
Result<Bytes> parse_size(std::string_view text);
Result<BitRate> parse_rate(std::string_view text);           // zero is refused
Result<std::uint64_t> parse_percent(std::string_view text);  // parts per billion, 0 to 100%

// Written so that parsing gives the same number back.
std::string format_duration(Nanos span);
std::string format_size(Bytes size);
std::string format_rate(BitRate rate);
std::string format_percent(std::uint64_t parts_per_billion);

inline Nanos BitRate::time_for(Bytes size, std::uint64_t& remainder) const {
  TAPESTRY_ASSERT(bits_per_second_ > 0, "a wire has a rate");
  constexpr std::uint64_t kBitNanos =
      8ull * 1'000'000'000ull;  // bits in a byte, nanoseconds in a second
  std::uint64_t work = 0;
  if (__builtin_mul_overflow(size.count(), kBitNanos, &work) ||
      __builtin_add_overflow(work, remainder, &work)) [[unlikely]] {
    const Wide wide = Wide{size.count()} * kBitNanos + remainder;
    const Wide whole = wide / bits_per_second_;
    TAPESTRY_ASSERT(whole <= static_cast<std::uint64_t>(kForever.count()), "fits virtual time");
    remainder = static_cast<std::uint64_t>(wide % bits_per_second_);
    return Nanos{static_cast<std::int64_t>(whole)};
  }
  remainder = work % bits_per_second_;
  const std::uint64_t whole = work / bits_per_second_;
  TAPESTRY_ASSERT(whole <= static_cast<std::uint64_t>(kForever.count()), "fits virtual time");
  return Nanos{static_cast<std::int64_t>(whole)};
}

}  // namespace tapestry::core
