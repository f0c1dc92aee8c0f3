// Sequence numbers: 32 bits that wrap. Of two numbers less than 2^31 apart one is earlier; the
// comparison holds across the wrap (RFC 9293, section 3.4).
//
// Two numbers exactly 2^31 apart are each before the other, as in the kernel: no window is as large
// (RFC 7323 bounds them to 2^30), so that the question does not arise between numbers in use.
#pragma once

#include <cstdint>

namespace tapestry::net::tcp {

struct Sequence {
  std::uint32_t value = 0;

  friend constexpr bool operator==(Sequence, Sequence) = default;
  friend constexpr bool operator<(Sequence a, Sequence b) {
    return static_cast<std::int32_t>(a.value - b.value) < 0;
  }
  friend constexpr bool operator>(Sequence a, Sequence b) { return b < a; }
  friend constexpr bool operator<=(Sequence a, Sequence b) { return !(b < a); }
  friend constexpr bool operator>=(Sequence a, Sequence b) { return !(a < b); }

  // How many bytes from `b` on to `a`, modulo 2^32.
  friend constexpr std::uint32_t operator-(Sequence a, Sequence b) { return a.value - b.value; }
  friend constexpr Sequence operator+(Sequence a, std::uint32_t n) { return {a.value + n}; }
  friend constexpr Sequence operator-(Sequence a, std::uint32_t n) { return {a.value - n}; }
  constexpr Sequence& operator+=(std::uint32_t n) {
    value += n;
    return *this;
  }
};

constexpr Sequence later(Sequence a, Sequence b) { return a < b ? b : a; }
constexpr Sequence earlier(Sequence a, Sequence b) { return b < a ? b : a; }

// [first, end)
struct Range {
  Sequence first;
  Sequence end;
  friend constexpr bool operator==(Range, Range) = default;
};

}  // namespace tapestry::net::tcp
