#include "core/random.hpp"

#include <limits>

#include "core/assert.hpp"
#include "core/wide.hpp"

namespace tapestry::core {

namespace {

constexpr std::uint64_t kBillion = 1'000'000'000;

// FNV-1a, 64 bits: names are short, and the state filling below mixes well.
std::uint64_t hash(std::string_view name) {
  std::uint64_t result = 0xcbf2'9ce4'8422'2325;
  for (const char letter : name) {
    result = (result ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
  }
  return result;
}

// splitmix64 (Steele, Lea and Flood, 2014), which xoshiro's authors recommend for filling its
// state.
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e37'79b9'7f4a'7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) {
  std::uint64_t mixer = split_mix(seed) ^ hash(name);
  for (std::uint64_t& word : state_)
    word = split_mix(mixer);
}

// Lemire's method (2019): the upper half of a product, with the few draws refused that would make
// some numbers more likely.
std::uint64_t RandomStream::uniform(std::uint64_t count) {
  TAPESTRY_ASSERT(count != 0, "there is a number to draw");
  Wide product = Wide{next()} * count;
  if (static_cast<std::uint64_t>(product) < count) {
    const std::uint64_t refused = (0 - count) % count;
    while (static_cast<std::uint64_t>(product) < refused)
      product = Wide{next()} * count;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

Nanos RandomStream::uniform(Nanos low, Nanos high) {
  TAPESTRY_ASSERT(low <= high, "a range is not upside down");
  const std::uint64_t width =
      static_cast<std::uint64_t>(high.count()) - static_cast<std::uint64_t>(low.count());
  const std::uint64_t drawn =
      width == std::numeric_limits<std::uint64_t>::max() ? next() : uniform(width + 1);
  return Nanos{static_cast<std::int64_t>(static_cast<std::uint64_t>(low.count()) + drawn)};
}

bool RandomStream::chance(std::uint64_t parts_per_billion) {
  if (parts_per_billion == 0) return false;
  if (parts_per_billion >= kBillion) return true;
  return uniform(kBillion) < parts_per_billion;
}

// Von Neumann's method (1951), which needs nothing but comparisons: draw numbers for as long as
// they fall. If the run's length is odd, its first number is the fraction of an exponential deviate
// whose whole part is the number of runs that were even.
Nanos RandomStream::exponential(Nanos mean) {
  TAPESTRY_ASSERT(mean >= Nanos::zero(), "a mean time is not negative");
  for (std::uint64_t whole = 0;; ++whole) {
    const std::uint64_t fraction = next();
    std::uint64_t lowest = fraction;
    bool odd = true;
    for (std::uint64_t drawn = next(); drawn < lowest; drawn = next()) {
      lowest = drawn;
      odd = !odd;
    }
    if (!odd) continue;
    const Wide unit = static_cast<std::uint64_t>(mean.count());
    const Wide scaled = whole * unit + (fraction * unit >> 64);
    if (scaled >= static_cast<Wide>(kForever.count())) return kForever;
    return Nanos{static_cast<std::int64_t>(scaled)};
  }
}

}  // namespace tapestry::core
