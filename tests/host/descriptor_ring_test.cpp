#include "host/descriptor_ring.hpp"

#include <catch2/catch.hpp>

#include "tests/support/abort.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests::descriptor_ring_test {

namespace {

struct Bench {
  core::PacketPool packets;
  core::Timeline timeline;
  host::DescriptorRing ring{timeline, 8};
};

}  // namespace

TEST_CASE("a ring gives descriptors back in the order in which they were filled") {
  Bench bench;
  std::uint32_t next = 0;
  for (std::uint32_t number = 0; number < 100; ++number) {
    bench.ring.fill(make_frame(bench.packets, number));
    bench.ring.at(number).done = bench.timeline.now();
    if (!bench.ring.full()) continue;
    while (bench.ring.oldest_is_done()) {
      core::PacketPtr packet = bench.ring.take_done();
      CHECK(number_of(*packet) == next++);
      core::consume(std::move(packet));
    }
  }
  CHECK(bench.ring.head() == 100);
  CHECK(bench.ring.used() == 100 - next);
}

TEST_CASE("a full ring and an empty one differ") {
  Bench bench;
  CHECK(bench.ring.unused() == 8);
  for (std::uint32_t number = 0; number < 8; ++number) {
    CHECK_FALSE(bench.ring.full());
    bench.ring.fill(make_frame(bench.packets, number));
  }
  CHECK(bench.ring.full());
  CHECK(bench.ring.unused() == 0);
  CHECK_FALSE(bench.ring.oldest_is_done());
}

TEST_CASE("a descriptor is done from its instant on, and the oldest hides the younger ones") {
  Bench bench;
  for (std::uint32_t number = 0; number < 3; ++number)
    bench.ring.fill(make_frame(bench.packets, number));
  bench.ring.at(0).done = core::kStart + core::Nanos{100};
  bench.ring.at(1).done = core::kStart + core::Nanos{200};

  struct Look {
    std::int64_t at_ns;
    std::size_t done;
  };
  for (const Look look : {Look{99, 0}, Look{100, 1}, Look{199, 1}, Look{200, 2}, Look{900, 2}}) {
    bench.timeline.advance_to(core::kStart + core::Nanos{look.at_ns});
    CAPTURE(look.at_ns);
    CHECK(bench.ring.done_now(8) == look.done);
    CHECK(bench.ring.oldest_is_done() == (look.done != 0));
  }
  CHECK(bench.ring.done_now(1) == 1);
}

TEST_CASE("a driver that closes empties its ring, and the packets are accounted for") {
  Bench bench;
  bench.ring.fill(make_frame(bench.packets, 1));
  bench.ring.fill(make_frame(bench.packets, 2));
  bench.ring.drop_all(core::DropReason::queue_purge);
  CHECK(bench.ring.used() == 0);
  const core::Balance balance = bench.packets.close();
  CHECK(balance.balanced);
  CHECK(balance.dropped_for(core::DropReason::queue_purge).packets == 2);
}

TEST_CASE("who owes time must not look at a ring") {
  Bench bench;
  const std::int64_t owed = 5;
  bench.timeline.set_debt_cell(&owed);
  CHECK_THAT(abort_message([&] { bench.ring.oldest_is_done(); }),
             Catch::Contains("a ring of descriptors"));
  bench.timeline.set_debt_cell(nullptr);
}

}  // namespace tapestry::tests::descriptor_ring_test
