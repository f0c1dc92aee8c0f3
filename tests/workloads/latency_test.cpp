// The histogram against the samples themselves, sorted.
#include "workloads/latency.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "core/random.hpp"

namespace tapestry::tests::latency_test {

using workloads::Latency;

namespace {

constexpr std::uint32_t kShares[] = {0, 1, 1'000, 50'000, 90'000, 99'000, 99'900, 99'999, 100'000};

// The smallest sample that at least `share` of all do not exceed.
std::int64_t exact(const std::vector<std::int64_t>& sorted, std::uint32_t share) {
  const std::uint64_t rank = (sorted.size() * std::uint64_t{share} + 99'999) / 100'000;
  return sorted[std::max<std::uint64_t>(rank, 1) - 1];
}

void check_against(std::vector<std::int64_t> samples) {
  Latency latency(Latency::Kind::one_way);
  std::int64_t sum = 0;
  for (const std::int64_t sample : samples) {
    latency.record(core::Nanos{sample});
    sum += sample;
  }
  std::sort(samples.begin(), samples.end());
  CHECK(latency.count() == samples.size());
  CHECK(latency.min().count() == samples.front());
  CHECK(latency.max().count() == samples.back());
  CHECK(latency.mean().count() == sum / static_cast<std::int64_t>(samples.size()));
  for (const std::uint32_t share : kShares) {
    const std::int64_t right = exact(samples, share);
    const std::int64_t told = latency.percentile(share).count();
    INFO("share " << share << ", " << samples.size() << " samples");
    CHECK(told >= right);
    CHECK(told - right <= right / 1024);  // below 2048 ns that is nothing
  }
}

}  // namespace

TEST_CASE("percentiles are those of the sorted samples, to one part in 1024", "[workloads]") {
  core::RandomStream random(1, "samples");
  for (const std::size_t count : {1u, 2u, 3u, 10u, 999u, 5'000u}) {
    for (const int bits : {4, 11, 12, 20, 33, 50}) {
      CAPTURE(count, bits);
      std::vector<std::int64_t> samples;
      for (std::size_t i = 0; i < count; ++i)
        samples.push_back(static_cast<std::int64_t>(random.uniform(std::uint64_t{1} << bits)));
      check_against(samples);
    }
  }
}

TEST_CASE("samples at the borders of every power of two are told exactly or a part above",
          "[workloads]") {
  for (int bits = 1; bits < 53; ++bits) {
    const std::int64_t power = std::int64_t{1} << bits;
    CAPTURE(bits);
    check_against({power - 1, power, power + 1});
  }
}

TEST_CASE("no samples are no latency, and a negative one counts as none at all", "[workloads]") {
  Latency latency(Latency::Kind::round_trip);
  CHECK(latency.count() == 0);
  CHECK(latency.percentile(50'000) == core::Nanos{0});
  CHECK(latency.mean() == core::Nanos{0});
  latency.record(core::Nanos{-5});
  CHECK(latency.count() == 1);
  CHECK(latency.max() == core::Nanos{0});
}

TEST_CASE("two histograms together are the histogram of both", "[workloads]") {
  core::RandomStream random(2, "samples");
  Latency one(Latency::Kind::one_way), other(Latency::Kind::one_way), both(Latency::Kind::one_way);
  for (int i = 0; i < 1000; ++i) {
    const core::Nanos sample{static_cast<std::int64_t>(random.uniform(1u << (1 + i % 30)))};
    (i % 3 == 0 ? one : other).record(sample);
    both.record(sample);
  }
  one.add(other);
  one.add(Latency(Latency::Kind::one_way));
  CHECK(one.count() == both.count());
  CHECK(one.min() == both.min());
  CHECK(one.max() == both.max());
  CHECK(one.mean() == both.mean());
  for (const std::uint32_t share : kShares)
    CHECK(one.percentile(share) == both.percentile(share));
}

}  // namespace tapestry::tests::latency_test
