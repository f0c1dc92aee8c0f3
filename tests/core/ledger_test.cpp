// The account of packets and bytes: it closes for every ending, and a leak shows.

#include "core/ledger.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "core/packet.hpp"
#include "tests/core/property.hpp"

namespace tapestry::tests::ledger_test {

namespace {

using Catch::Matchers::Contains;
using core::Balance;
using core::DropReason;
using core::Origin;
using core::Outcome;
using core::PacketPool;
using core::PacketPtr;
using core::Tally;

PacketPtr packet_of(PacketPool& pool, Origin origin, std::size_t bytes) {
  PacketPtr packet = pool.allocate(origin);
  packet->append_payload(pool.allocate_payload(bytes));
  packet->account(bytes);
  return packet;
}

using Step = std::tuple<int, std::size_t, std::uint8_t>;  // what, how much, with which packet

// Some packets, to which things happen.
struct Crowd {
  PacketPool pool{256};
  std::vector<PacketPtr> alive;

  void take(const Step& step) {
    const auto& [what, size, which] = step;
    if (alive.empty() || (what == 0 && alive.size() < 30)) {
      alive.push_back(packet_of(pool, which % 2 == 0 ? Origin::stack : Origin::replay, size));
      return;
    }
    PacketPtr packet = leave(which);
    switch (what) {
      case 1:
        deliver(std::move(packet));
        break;
      case 2:
        consume(std::move(packet));
        break;
      case 3:
        drop(std::move(packet), static_cast<DropReason>(which % core::kDropReasons));
        break;
      case 4:
        packet->truncate_to(std::min(size, packet->length()));
        break;
      case 5:
        alive.push_back(packet->clone());
        break;
      case 6:
        if (!alive.empty()) packet->absorb_weight(leave(which));
        break;
      case 7:
        cut_in_two(std::move(packet));
        break;
      case 8:
        packet->pull(packet->length() / 2);
        break;
    }
    if (packet) alive.push_back(std::move(packet));
  }

  void cut_in_two(PacketPtr packet) {
    const std::uint64_t weight = packet->weight();
    for (const std::uint64_t part : {weight / 2, weight - weight / 2}) {
      alive.push_back(pool.allocate(Origin::segmentation));
      alive.back()->account(part);
    }
    consume(std::move(packet), Outcome::segmented);
  }

  PacketPtr leave(std::size_t index) {
    const auto place = alive.begin() + static_cast<std::ptrdiff_t>(index % alive.size());
    PacketPtr packet = std::move(*place);
    alive.erase(place);
    return packet;
  }
};

}  // namespace

TEST_CASE("each way to end a packet has its own line", "[core][ledger]") {
  PacketPool pool;
  deliver(packet_of(pool, Origin::stack, 100));
  consume(packet_of(pool, Origin::replay, 28));
  drop(packet_of(pool, Origin::stack, 60), DropReason::full_ring);
  PacketPtr alive = packet_of(pool, Origin::stack, 7);
  const Balance balance = pool.close();
  CHECK(balance.created_by(Origin::stack) == Tally{3, 167});
  CHECK(balance.created_by(Origin::replay) == Tally{1, 28});
  CHECK(balance.ended_as(Outcome::delivered) == Tally{1, 100});
  CHECK(balance.ended_as(Outcome::consumed) == Tally{1, 28});
  CHECK(balance.ended_as(Outcome::dropped) == Tally{1, 60});
  CHECK(balance.dropped_for(DropReason::full_ring) == Tally{1, 60});
  CHECK(balance.in_flight == Tally{1, 7});
  CHECK(balance.balanced);
  CHECK_THAT(balance.text, Contains("dropped: SKB_DROP_REASON_FULL_RING"));
  CHECK_THAT(balance.text, Contains("\nbalanced\n"));
  deliver(std::move(alive));
}

TEST_CASE("letting go of a packet without a verdict shows", "[core][ledger]") {
  PacketPool pool;
  {
    const PacketPtr forgotten = packet_of(pool, Origin::stack, 10);
    PacketPtr overwritten = packet_of(pool, Origin::stack, 20);
    overwritten = PacketPtr();
  }
  const Balance balance = pool.close();
  CHECK(balance.dropped_for(DropReason::not_specified) == Tally{2, 30});
  CHECK(balance.balanced);
}

TEST_CASE("what truncation cuts off has left the world", "[core][ledger]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, Origin::stack, 1000);
  packet->push(42);  // headers, which nobody accounts for
  packet->truncate_to(542);
  CHECK(packet->weight() == 500);
  CHECK(pool.close().balanced);
  packet->truncate_to(542);  // nothing to cut
  packet->truncate_to(20);   // cuts 500 of payload, and 22 of header that weigh nothing
  CHECK(packet->weight() == 0);
  deliver(std::move(packet));
  const Balance balance = pool.close();
  CHECK(balance.truncated == Tally{2, 1000});
  CHECK(balance.balanced);
}

TEST_CASE("padding that is trimmed away weighs nothing", "[core][ledger]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, Origin::stack, 18);
  packet->append_payload(pool.allocate_payload(28));
  packet->trim_to(18);
  CHECK(packet->weight() == 18);
  deliver(std::move(packet));
  CHECK(pool.close().balanced);
}

TEST_CASE("segments take over the bytes of what they were cut from", "[core][ledger]") {
  PacketPool pool;
  PacketPtr large = packet_of(pool, Origin::stack, 3000);
  for (std::size_t offset = 0; offset < 3000; offset += 1448) {
    PacketPtr segment = pool.allocate(Origin::segmentation);
    const std::size_t length = std::min<std::size_t>(1448, 3000 - offset);
    REQUIRE(segment->append_range(*large, offset, length));
    segment->account(length);
    deliver(std::move(segment));
  }
  consume(std::move(large), Outcome::segmented);
  const Balance balance = pool.close();
  CHECK(balance.ended_as(Outcome::segmented) == Tally{1, 3000});
  CHECK(balance.created_by(Origin::segmentation) == Tally{3, 3000});
  CHECK(balance.balanced);
}

TEST_CASE("a merged packet's bytes live on in the other one", "[core][ledger]") {
  PacketPool pool;
  PacketPtr first = packet_of(pool, Origin::stack, 1448);
  PacketPtr second = packet_of(pool, Origin::stack, 500);
  REQUIRE(first->append_range(*second, 0, 500));
  first->absorb_weight(std::move(second));
  CHECK(first->weight() == 1948);
  CHECK(pool.close().balanced);
  deliver(std::move(first));
  const Balance balance = pool.close();
  CHECK(balance.ended_as(Outcome::merged) == Tally{1, 500});
  CHECK(balance.created_by(Origin::merging) == Tally{0, 500});
  CHECK(balance.ended_as(Outcome::delivered) == Tally{1, 1948});
  CHECK(balance.balanced);
}

TEST_CASE("a packet that gets lost outside the rules is named in the account", "[core][ledger]") {
  PacketPool pool;
  PacketPtr stolen = packet_of(pool, Origin::stack, 40);
  Balance balance = pool.close();
  REQUIRE(balance.balanced);
  // The account of a world in which one living packet is not to be found.
  balance = pool.ledger().close(Tally{});
  CHECK_FALSE(balance.balanced);
  CHECK_THAT(balance.text, Contains("NOT BALANCED: 1 packets vanished. 40 bytes vanished."));
  balance = pool.ledger().close(Tally{2, 40});
  CHECK_FALSE(balance.balanced);
  CHECK_THAT(balance.text, Contains("1 packets came from nowhere."));
  deliver(std::move(stolen));
}

TEST_CASE("whoever watches drops sees the packet and the reason", "[core][ledger]") {
  PacketPool pool;
  std::string seen;
  const core::ProbeHandle watcher =
      pool.ledger().on_drop.watch([&](const core::Packet& packet, DropReason reason) {
        seen += std::to_string(packet.length()) + " " + std::string(name_of(reason)) + "\n";
      });
  deliver(packet_of(pool, Origin::stack, 10));
  drop(packet_of(pool, Origin::stack, 20), DropReason::link_loss);
  { const PacketPtr forgotten = packet_of(pool, Origin::stack, 30); }
  CHECK(seen == "20 TAPESTRY_DROP_REASON_LINK_LOSS\n30 SKB_DROP_REASON_NOT_SPECIFIED\n");
}

TEST_CASE("any life of any packets balances at every moment", "[core][ledger]") {
  const auto steps = rc::gen::container<std::vector<Step>>(
      rc::gen::tuple(rc::gen::inRange(0, 9), rc::gen::inRange<std::size_t>(1, 3000),
                     rc::gen::arbitrary<std::uint8_t>()));
  for_all(
      [&] {
        Crowd crowd;
        for (const Step& step : *steps) {
          crowd.take(step);
          const Balance balance = crowd.pool.close();
          RC_ASSERT(balance.balanced);
          RC_ASSERT(balance.in_flight.packets == crowd.alive.size());
        }
        crowd.alive.clear();
        RC_ASSERT(crowd.pool.close().balanced);
      },
      300);
}

TEST_CASE("every drop reason has one name, and the name leads back to it", "[core][ledger]") {
  for (std::size_t i = 0; i < core::kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    CHECK(core::drop_reason_of(name_of(reason)) == reason);
  }
  CHECK(name_of(DropReason::socket_rcvbuff) == "SKB_DROP_REASON_SOCKET_RCVBUFF");
  CHECK(core::drop_reason_of("QDISC_DROP") == DropReason::qdisc_drop);
  CHECK(core::drop_reason_of("SKB_DROP_REASON_FULL_RING") == DropReason::full_ring);
  CHECK_FALSE(core::drop_reason_of("SKB_DROP_REASON_"));
  CHECK_FALSE(core::drop_reason_of("FULL"));
}

}  // namespace tapestry::tests::ledger_test
