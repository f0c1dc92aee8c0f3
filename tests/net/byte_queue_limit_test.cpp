// Byte queue limits, by the rules of lib/dynamic_queue_limits.c.
#include "net/byte_queue_limit.hpp"

#include <catch2/catch.hpp>

namespace tapestry::tests::byte_queue_limit_test {
namespace {

using net::ByteQueueLimit;

constexpr std::uint64_t kHold = 250;  // jiffies

TEST_CASE("A fresh limit lets one object through, whatever its size") {
  ByteQueueLimit limit(kHold);
  CHECK(limit.available() == 0);
  limit.queued(1514);
  CHECK(limit.available() == -1514);
  CHECK(limit.limit_bytes() == 0);
}

TEST_CASE("A queue that ran dry while the stack was held back gets a higher limit") {
  ByteQueueLimit limit(kHold);
  limit.queued(1514);
  limit.completed(1514, 0);
  CHECK(limit.limit_bytes() == 1514);
  CHECK(limit.available() == 1514);

  // Two frames cross it; both are done at once: what was sent and completed meanwhile is added.
  limit.queued(1514);
  limit.queued(1514);
  CHECK(limit.available() == -1514);
  limit.completed(3028, 0);
  CHECK(limit.limit_bytes() == 1514 + 3028);
}

TEST_CASE("A queue that was over its limit one interval before, and is done with that, grows too") {
  ByteQueueLimit limit(kHold);
  limit.queued(1000);
  limit.completed(1000, 0);  // limit 1000
  limit.queued(1000);
  limit.queued(1000);  // 1000 over
  limit.completed(500, 0);
  CHECK(limit.limit_bytes() == 1000);
  limit.queued(1000);
  limit.completed(2000, 0);  // everything queued before the last completion, and 500 beyond
  CHECK(limit.limit_bytes() == 1000 + 500 + 1000);
}

TEST_CASE("A limit that nobody reaches stays where it is while the queue empties in between") {
  ByteQueueLimit limit(kHold);
  limit.queued(4000);
  limit.completed(4000, 0);
  for (std::uint64_t jiffy = 1; jiffy < 1000; ++jiffy) {
    limit.queued(1000);
    limit.completed(1000, jiffy);
  }
  CHECK(limit.limit_bytes() == 4000);
}

TEST_CASE("Excess is taken off after one second of a queue that was busy all the time") {
  ByteQueueLimit limit(kHold);
  limit.queued(10'000);
  limit.completed(10'000, 0);
  REQUIRE(limit.limit_bytes() == 10'000);
  // 1,000 bytes an interval, never empty: 10,000 hold 8,000 more than twice that.
  limit.queued(3000);
  limit.completed(1000, 0);
  std::uint64_t jiffy = 1;
  for (; jiffy <= kHold; ++jiffy) {
    limit.queued(1000);
    limit.completed(1000, jiffy);
    REQUIRE(limit.limit_bytes() == 10'000);
  }
  limit.queued(1000);
  limit.completed(1000, jiffy);
  CHECK(limit.limit_bytes() == 2000);
}

TEST_CASE("Counters of a limit may run over") {
  ByteQueueLimit limit(kHold);
  for (int i = 0; i < 40; ++i) {
    limit.queued(200'000'000);  // 8 GB in all
    limit.completed(200'000'000, 0);
  }
  CHECK(limit.in_flight_bytes() == 0);
  CHECK(limit.available() == 200'000'000);
}

TEST_CASE("A reset limit starts from nothing") {
  ByteQueueLimit limit(kHold);
  limit.queued(3000);
  limit.completed(1000, 0);
  limit.reset(7);
  CHECK(limit.in_flight_bytes() == 0);
  CHECK(limit.limit_bytes() == 0);
  limit.queued(500);
  limit.completed(500, 7);
  CHECK(limit.in_flight_bytes() == 0);
}

}  // namespace
}  // namespace tapestry::tests::byte_queue_limit_test
