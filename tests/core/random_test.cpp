// Named streams of chance, and distributions that no compiler or library may change.

#include "core/random.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

namespace tapestry::tests::random_test {

namespace {

using core::Nanos;
using core::RandomStream;

std::vector<std::uint64_t> first_numbers(RandomStream stream) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 8; ++i)
    numbers.push_back(stream.next());
  return numbers;
}

}  // namespace

TEST_CASE("a stream is its seed and its name, and nothing else", "[core][random]") {
  CHECK(first_numbers({1, "loss"}) == first_numbers({1, "loss"}));
  CHECK(first_numbers({1, "loss"}) != first_numbers({2, "loss"}));
  CHECK(first_numbers({1, "loss"}) != first_numbers({1, "delay"}));
  CHECK(first_numbers({0, ""}) != first_numbers({0, "a"}));
}

TEST_CASE("the numbers of a stream are these for ever", "[core][random]") {
  RandomStream stream(42, "link");
  CHECK(stream.next() == 0xfc6abbf960bcf3ab);
  CHECK(stream.next() == 0x1c95da085492fd8e);
  CHECK(stream.uniform(1000) == 860);
  CHECK(stream.exponential(Nanos{1'000'000}) == Nanos{1237675});
  CHECK(stream.uniform(Nanos{-50}, Nanos{50}) == Nanos{-3});
}

TEST_CASE("uniform numbers stay below their count and use all of it", "[core][random]") {
  RandomStream stream(1, "uniform");
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i)
    ++seen.at(stream.uniform(seen.size()));
  for (const int times : seen)
    CHECK(std::abs(times - 10'000) < 400);  // 4.3 standard deviations
  CHECK(stream.uniform(1) == 0);
}

TEST_CASE("a count just above half of all numbers does not favour the lower ones",
          "[core][random]") {
  RandomStream stream(1, "bias");
  const std::uint64_t count = (std::uint64_t{1} << 63) + 1;
  int lower = 0;
  for (int i = 0; i < 10'000; ++i)
    lower += stream.uniform(count) < count / 2 ? 1 : 0;
  CHECK(std::abs(lower - 5'000) < 250);
}

TEST_CASE("a range of times includes both ends", "[core][random]") {
  RandomStream stream(1, "range");
  std::array<int, 3> seen{};
  for (int i = 0; i < 300; ++i) {
    ++seen.at(static_cast<std::size_t>(stream.uniform(Nanos{4}, Nanos{6}).count() - 4));
  }
  for (const int times : seen)
    CHECK(times > 50);
  CHECK(stream.uniform(Nanos{9}, Nanos{9}) == Nanos{9});
  stream.uniform(Nanos::min(), Nanos::max());  // the widest range there is
}

TEST_CASE("chance comes as often as it says", "[core][random]") {
  RandomStream stream(1, "chance");
  int lost = 0;
  for (int i = 0; i < 100'000; ++i)
    lost += stream.chance(10'000'000) ? 1 : 0;  // 1%
  CHECK(std::abs(lost - 1'000) < 140);
}

TEST_CASE("never and always draw nothing from the stream", "[core][random]") {
  RandomStream stream(1, "edges");
  CHECK_FALSE(stream.chance(0));
  CHECK(stream.chance(1'000'000'000));
  CHECK(first_numbers(stream) == first_numbers({1, "edges"}));
}

TEST_CASE("exponential gaps have the mean, the spread and the tail of independent events",
          "[core][random]") {
  RandomStream stream(1, "gaps");
  constexpr std::int64_t draws = 200'000;
  constexpr std::int64_t mean = 10'000;
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  std::int64_t over_one = 0;
  std::int64_t over_three = 0;
  for (int i = 0; i < draws; ++i) {
    const std::int64_t gap = stream.exponential(Nanos{mean}).count();
    sum += gap;
    squares += gap * gap / mean;
    over_one += gap > mean ? 1 : 0;
    over_three += gap > 3 * mean ? 1 : 0;
  }
  CHECK(std::abs(sum / draws - mean) < 100);
  CHECK(std::abs(squares / draws - 2 * mean) < 500);            // E[x^2] = 2 mean^2
  CHECK(std::abs(over_one - draws * 36'788 / 100'000) < 900);   // e^-1
  CHECK(std::abs(over_three - draws * 4'979 / 100'000) < 400);  // e^-3
  CHECK(stream.exponential(Nanos{0}) == Nanos{0});
}

TEST_CASE("an exponential gap of a huge mean does not overflow", "[core][random]") {
  RandomStream stream(1, "huge");
  int longest = 0;
  for (int i = 0; i < 100; ++i) {
    const Nanos gap = stream.exponential(core::kForever);
    CHECK(gap >= Nanos{0});
    longest += gap == core::kForever ? 1 : 0;
  }
  CHECK(longest > 15);
}

}  // namespace tapestry::tests::random_test
