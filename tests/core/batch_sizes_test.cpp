// The histogram of batch sizes: a class for each power of two.
#include "core/batch_sizes.hpp"

#include <catch2/catch.hpp>

namespace tapestry::tests::batch_sizes_test {
namespace {

TEST_CASE("A batch is counted in the class of the power of two that it reaches") {
  struct Row {
    std::uint64_t items;
    std::uint64_t low;
  };
  const auto row = GENERATE(values<Row>({{0, 0},
                                         {1, 1},
                                         {2, 2},
                                         {3, 2},
                                         {4, 4},
                                         {63, 32},
                                         {64, 64},
                                         {127, 64},
                                         {128, 128},
                                         {1'000'000, 128}}));
  CAPTURE(row.items);
  core::BatchSizes sizes;
  sizes.add(row.items);
  for (std::size_t i = 0; i < core::BatchSizes::kClasses; ++i)
    CHECK(sizes.in_class(i) == (core::BatchSizes::low(i) == row.low ? 1 : 0));
  CHECK(sizes.batches() == 1);
  CHECK(sizes.items() == row.items);
}

TEST_CASE("What came since an earlier copy is the difference, and sums are the whole again") {
  core::BatchSizes sizes;
  sizes.add(1);
  const core::BatchSizes before = sizes;
  sizes.add(5);
  sizes.add(1);
  core::BatchSizes since = sizes.since(before);
  CHECK(since.batches() == 2);
  CHECK(since.items() == 6);
  CHECK(since.in_class(1) == 1);
  since += before;
  CHECK(since.in_class(1) == 2);
  CHECK(since.items() == sizes.items());
}

}  // namespace
}  // namespace tapestry::tests::batch_sizes_test
