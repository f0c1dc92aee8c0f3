#include "host/sim/link.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/frames.hpp"

namespace tapestry::tests::link_test {

using host::sim::Link;
using host::sim::LinkOptions;

namespace {

class Listener final : public host::sim::Station {
 public:
  void frame_will_arrive(const core::Packet& frame, core::Instant arrival) override {
    numbers.push_back(number_of(frame));
    arrivals_ns.push_back(core::nanos_since_start(arrival));
  }
  std::vector<std::uint32_t> numbers;
  std::vector<std::int64_t> arrivals_ns;
};

struct Bench {
  explicit Bench(LinkOptions options) : link(timeline, packets, "link", options) {
    link.attach(Link::End::b, right);
    link.attach(Link::End::a, left);
  }
  std::int64_t send(std::uint32_t number, std::size_t length, Link::End from = Link::End::a) {
    core::PacketPtr frame = make_frame(packets, number, length);
    const core::Instant departure = link.send(from, *frame);
    core::consume(std::move(frame));
    return core::nanos_since_start(departure);
  }

  core::PacketPool packets;
  core::Timeline timeline;
  Listener left;
  Listener right;
  Link link;
};

constexpr std::uint64_t kGigabit = 1'000'000'000;

}  // namespace

TEST_CASE("a frame takes its whole slot of the wire, and then the propagation delay") {
  struct Row {
    std::size_t frame_bytes;
    std::uint64_t rate_bps;
    std::int64_t departs_ns;  // instants between two nanoseconds show as the later one
  };
  // 1,514 + 24 = 1,538 bytes; 60 + 24 = 84, also for what is padded to 60.
  for (const Row row :
       {Row{1514, 10 * kGigabit, 1'231}, Row{1514, kGigabit, 12'304}, Row{60, 10 * kGigabit, 68},
        Row{42, 10 * kGigabit, 68}, Row{60, 100 * kGigabit, 7}, Row{1514, 100 * kGigabit, 124}}) {
    CAPTURE(row.frame_bytes, row.rate_bps);
    Bench bench({.rate_bps = row.rate_bps, .delay = core::Nanos{500}});
    CHECK(bench.send(1, row.frame_bytes) == row.departs_ns);
    CHECK(bench.right.arrivals_ns == std::vector<std::int64_t>{row.departs_ns + 500});
    CHECK(bench.left.arrivals_ns.empty());
  }
}

TEST_CASE("a back-to-back train ends exactly when it should, whatever one slot's fraction is") {
  Bench bench({.rate_bps = 100 * kGigabit, .delay = core::Nanos{0}, .queue_packets = 4096});
  // 84 bytes take 6.72 ns: 100 of them 672 ns, and no frame departs before its last bit has.
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    const std::int64_t exact_hundredths = 672 * static_cast<std::int64_t>(i);
    CHECK(bench.send(i, 60) == (exact_hundredths + 99) / 100);
  }
}

TEST_CASE("an idle wire carries no fraction over") {
  Bench bench({.rate_bps = 100 * kGigabit, .delay = core::Nanos{0}});
  CHECK(bench.send(1, 60) == 7);
  bench.timeline.advance_to(core::kStart + core::Nanos{100});
  CHECK(bench.send(2, 60) == 107);
  CHECK(bench.send(3, 60) == 114);  // 113.44
}

TEST_CASE("the two directions do not disturb each other") {
  Bench bench({.rate_bps = 10 * kGigabit, .delay = core::Nanos{0}});
  for (std::uint32_t i = 0; i < 10; ++i)
    bench.send(i, 1514);
  CHECK(bench.send(99, 1514, Link::End::b) == 1'231);
  CHECK(bench.left.numbers == std::vector<std::uint32_t>{99});
}

TEST_CASE("a full queue loses the frame, and departures make room") {
  Bench bench({.rate_bps = 10 * kGigabit, .delay = core::Nanos{0}, .queue_packets = 2});
  bench.send(1, 1514);
  bench.send(2, 1514);
  CHECK(bench.send(3, 1514) == 0);
  bench.timeline.advance_to(core::kStart + core::Nanos{1'231});
  bench.send(4, 1514);
  CHECK(bench.right.numbers == std::vector<std::uint32_t>{1, 2, 4});
  CHECK(bench.link.figures(Link::End::a).queue_dropped == 1);
  const core::Balance balance = bench.packets.close();
  CHECK(balance.balanced);
  CHECK(balance.dropped_for(core::DropReason::link_queue) == core::Tally{1, 1500});
}

TEST_CASE("losses are the same for the same seed, and others for another one") {
  const auto survivors = [](std::uint64_t seed) {
    Bench bench({.queue_packets = 1000, .loss_per_billion = 100'000'000, .seed = seed});
    for (std::uint32_t i = 0; i < 1000; ++i)
      bench.send(i, 60);
    const auto lost = bench.link.figures(Link::End::a).lost;
    CHECK(lost + bench.right.numbers.size() == 1000);
    CHECK(lost > 50);
    CHECK(lost < 150);
    CHECK(bench.packets.close().balanced);
    CHECK(bench.packets.close().dropped_for(core::DropReason::link_loss).packets == lost);
    return bench.right.numbers;
  };
  CHECK(survivors(7) == survivors(7));
  CHECK(survivors(7) != survivors(8));
}

TEST_CASE("a lost frame takes its slot of the wire all the same") {
  Bench bench({.delay = core::Nanos{0}, .loss_per_billion = 1'000'000'000});
  bench.send(1, 1514);
  CHECK(bench.send(2, 1514) == 2'461);
  CHECK(bench.right.numbers.empty());
}

TEST_CASE("a frame to nobody is lost with a reason") {
  core::PacketPool packets;
  core::Timeline timeline;
  Link link(timeline, packets, "link", {});
  core::PacketPtr frame = make_frame(packets, 1);
  link.send(Link::End::a, *frame);
  core::consume(std::move(frame));
  CHECK(packets.close().dropped_for(core::DropReason::link_down).packets == 1);
}

}  // namespace tapestry::tests::link_test
