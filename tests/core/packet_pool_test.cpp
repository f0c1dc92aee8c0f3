// Pools and containers: bounded, recycled last in first out, and nothing gets lost in them.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/packet.hpp"
#include "tests/support/abort.hpp"

namespace tapestry::tests::packet_pool_test {

namespace {

using Catch::Matchers::Contains;
using core::DropReason;
using core::Origin;
using core::Packet;
using core::PacketBatch;
using core::PacketPool;
using core::PacketPtr;
using core::PacketQueue;
using core::PayloadRef;

PacketPtr numbered(PacketPool& pool, std::uint32_t flow) {
  PacketPtr packet = pool.allocate(Origin::stack);
  packet->flow = flow;
  return packet;
}

template <class Packets>
std::string flows_of(Packets& packets) {
  std::string flows;
  for (const Packet& packet : packets)
    flows += std::to_string(packet.flow);
  return flows;
}

}  // namespace

TEST_CASE("a pool gives as many packets as it may, and the last one first", "[core][pool]") {
  PacketPool pool(100);
  std::vector<PacketPtr> packets;
  for (int i = 0; i < 100; ++i)
    packets.push_back(pool.allocate(Origin::stack));
  CHECK(packets.back());
  CHECK_FALSE(pool.allocate(Origin::stack));
  Packet* last = packets[40].get();
  deliver(std::move(packets[40]));
  packets[40] = pool.allocate(Origin::stack);
  CHECK(packets[40].get() == last);
  for (PacketPtr& packet : packets)
    deliver(std::move(packet));
  CHECK(pool.in_use() == 0);
}

TEST_CASE("a recycled packet remembers nothing", "[core][pool]") {
  PacketPool pool(1);
  PacketPtr packet = pool.allocate(Origin::replay);
  const std::uint64_t first_id = packet->id;
  packet->put(50);
  packet->append_payload(pool.allocate_payload(100));
  packet->set_mac_header();
  packet->set_checksum_start(10);
  packet->gso_size = 1448;
  packet->more = true;
  packet->account(100);
  deliver(std::move(packet));
  packet = pool.allocate(Origin::stack);
  CHECK(packet->length() == 0);
  CHECK(packet->headroom() == Packet::kHeadroomBytes);
  CHECK_FALSE(packet->has_mac_header());
  CHECK(packet->gso_size == 0);
  CHECK_FALSE(packet->more);
  CHECK(packet->weight() == 0);
  CHECK(packet->origin() == Origin::stack);
  CHECK(packet->id == first_id + 1);
  deliver(std::move(packet));
}

TEST_CASE("payload comes in the smallest block that holds it, up to a bound for each size",
          "[core][pool]") {
  PacketPool pool(1, {2, 1, 1});
  std::vector<PayloadRef> held;
  for (const std::size_t length : {1u, 2048u, 2049u, 65536u}) {
    held.push_back(pool.allocate_payload(length));
    CHECK(held.back().length() == length);
  }
  CHECK(held[0].block_capacity() == 2048);
  CHECK(held[2].block_capacity() == 16384);
  CHECK(held[3].block_capacity() == 65536);
  CHECK_FALSE(pool.allocate_payload(1));
  CHECK_FALSE(pool.allocate_payload(16384));
  CHECK_FALSE(pool.allocate_payload(20000));
  const std::uint8_t* bytes = held[1].data();
  held[1].reset();
  CHECK(pool.allocate_payload(5).data() == bytes);
}

TEST_CASE("a block lives as long as somebody shares it, and nobody writes what is shared",
          "[core][pool]") {
  PacketPool pool;
  PayloadRef whole = pool.allocate_payload(100);
  whole.writable()[99] = 7;
  PayloadRef tail = whole.slice(90, 10);
  CHECK_THAT(abort_message([&] { whole.writable(); }), Contains("immutable"));
  CHECK_THAT(abort_message([&] { whole.slice(90, 11); }), Contains("lies inside"));
  whole.reset();
  CHECK(tail.bytes()[9] == 7);
  CHECK(tail.writable().size() == 10);
  CHECK(pool.payload().blocks_in_use(0) == 1);
  tail = PayloadRef();
  CHECK(pool.payload().blocks_in_use(0) == 0);
}

TEST_CASE("a batch gives away a prefix and keeps the rest", "[core][pool]") {
  PacketPool pool;
  PacketBatch batch(5);
  PacketBatch other(8);
  for (std::uint32_t i = 1; i <= 5; ++i)
    batch.push_back(numbered(pool, i));
  CHECK(batch.full());
  CHECK_THAT(abort_message([&] { batch.push_back(numbered(pool, 6)); }), Contains("capacity"));
  batch.take_prefix(2, other);
  CHECK(flows_of(batch) == "345");
  CHECK(flows_of(other) == "12");
  for (std::uint32_t i = 6; i <= 7; ++i)
    batch.push_back(numbered(pool, i));  // around the end
  CHECK(flows_of(batch) == "34567");
  CHECK(batch[4].flow == 7);
  batch.take_prefix(4, [](PacketPtr packet) { deliver(std::move(packet)); });
  CHECK(batch.front().flow == 7);
  other = std::move(batch);
  CHECK(flows_of(other) == "7");
  other.drop_all(DropReason::queue_purge);
  batch.drop_all(DropReason::queue_purge);
  CHECK(pool.in_use() == 0);
  CHECK(pool.ledger().dropped(DropReason::queue_purge).packets == 3);
}

TEST_CASE("a queue is first in, first out, and refuses what does not fit", "[core][pool]") {
  PacketPool pool;
  PacketQueue queue(3);
  CHECK_FALSE(queue.pop());
  for (std::uint32_t i = 1; i <= 3; ++i)
    CHECK(queue.push(numbered(pool, i)));
  PacketPtr refused = numbered(pool, 4);
  CHECK_FALSE(queue.push(std::move(refused)));
  REQUIRE(refused);  // still ours
  drop(std::move(refused), DropReason::full_ring);
  CHECK(queue.front()->flow == 1);
  CHECK(queue.back()->flow == 3);
  PacketPtr first = queue.pop();
  CHECK(first->flow == 1);
  queue.push_front(std::move(first));
  std::string flows;
  queue.for_each([&](const Packet& packet) { flows += std::to_string(packet.flow); });
  CHECK(flows == "123");
  while (PacketPtr packet = queue.pop())
    deliver(std::move(packet));
  CHECK(queue.empty());
  CHECK(queue.push(numbered(pool, 5)));
  CHECK(queue.back()->flow == 5);
  queue.drop_all(DropReason::queue_purge);
  CHECK(pool.in_use() == 0);
}

TEST_CASE("a pool that goes before its packets is a bug", "[core][pool]") {
  CHECK_THAT(abort_message([] {
               PacketPtr left;
               PacketPool pool;
               left = pool.allocate(Origin::stack);
             }),
             Contains("the pool outlives"));
}

}  // namespace tapestry::tests::packet_pool_test
