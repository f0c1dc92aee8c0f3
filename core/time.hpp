// Virtual time: an instant and a span are different types, and only spans add.
//
// Everything is a whole number of nanoseconds in 64 bits (292 years). The clock has no `now`: the
// only source of the present instant is the Timeline, so that nothing can read a wall clock by
// accident.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace tapestry::core {

using Nanos = std::chrono::duration<std::int64_t, std::nano>;

struct VirtualClock {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<VirtualClock, Nanos>;
  static constexpr bool is_steady = true;
};

using Instant = VirtualClock::time_point;

inline constexpr Instant kStart{};                 // every world begins here
inline constexpr Instant kNever = Instant::max();  // later than any event
inline constexpr Nanos kForever = Nanos::max();

constexpr std::int64_t nanos_since_start(Instant at) { return at.time_since_epoch().count(); }

// Saturating: an unbounded wait stays unbounded.
constexpr Instant after(Instant at, Nanos span) { return span >= kNever - at ? kNever : at + span; }

}  // namespace tapestry::core
