// Buffers that come back in their order, and several of them with one entry.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/host/virtqueue/flood.hpp"

namespace tapestry::tests::in_order_test {

using host::virtqueue::Fault;
using host::virtqueue::QueueOptions;

namespace {

constexpr QueueOptions kInOrder{.in_order = true};

template <class Pair>
void one_entry_stands_for_a_batch() {
  Pair pair(8, kInOrder);
  for (std::uint32_t number = 0; number < 40; number += 5) {  // around the ring's end, too
    for (std::uint32_t i = 0; i < 5; ++i)
      REQUIRE(pair.send(number + i));
    while (const auto chain = pair.device.next())
      pair.device.use(*chain, 0);
    CHECK_FALSE(pair.driver.has_used());
    pair.device.publish();
    for (std::uint32_t i = 0; i < 5; ++i)
      REQUIRE(pair.take() == number + i);
    CHECK_FALSE(pair.driver.has_used());
    CHECK(pair.driver.unused() == 8);
  }
}

template <class Pair>
void a_buffer_written_in_part_has_its_own_entry() {
  Pair pair(4, kInOrder);
  for (int i = 0; i < 4; ++i)
    REQUIRE(pair.post(100));
  for (const std::uint32_t bytes : {100u, 30u, 100u, 100u})
    pair.device.use(*pair.device.next(), bytes);
  pair.device.publish();
  for (const std::uint32_t bytes : {100u, 30u, 100u, 100u}) {
    auto completed = pair.driver.take_used();
    REQUIRE(completed);
    CHECK(completed->bytes == bytes);
    core::consume(std::move(completed->packet));
  }
  CHECK_FALSE(pair.driver.has_used());
}

template <class Pair>
void a_device_may_look_at_a_chain_twice() {
  Pair pair(4, kInOrder);
  for (std::uint32_t number = 0; number < 9; ++number) {
    REQUIRE(pair.send(number));
    const auto chain = pair.device.next();
    REQUIRE(chain);
    pair.device.put_back(*chain);
    CHECK(pair.serve() == number);
    CHECK(pair.take() == number);
  }
}

// The driver and the device stop one another with full rings and empty ones, many times around.
template <class Pair>
void a_flood_comes_back_in_order(std::size_t size) {
  Pair pair(size, kInOrder);
  core::RandomStream random(size, "order");
  std::uint32_t sent = 0, taken = 0;
  while (taken < 20'000) {
    for (std::uint64_t n = random.uniform(size + 1); n > 0 && pair.send(sent); --n)
      ++sent;
    for (std::uint64_t n = random.uniform(size + 1); n > 0; --n) {
      const auto chain = pair.device.next();
      if (!chain) break;
      pair.device.use(*chain, 0);
      if (random.uniform(3) == 0) pair.device.publish();
    }
    pair.device.publish();
    for (std::uint64_t n = random.uniform(size + 1); n > 0 && pair.driver.has_used(); --n)
      REQUIRE(pair.take() == taken++);
  }
  CHECK(pair.driver.faults().all() + pair.device.faults().all() == 0);
}

}  // namespace

TEST_CASE("with IN_ORDER one used entry stands for a batch", "[virtqueue]") {
  one_entry_stands_for_a_batch<QueuePair>();
  one_entry_stands_for_a_batch<PackedPair>();
}

TEST_CASE("with IN_ORDER a buffer that was written in part has an entry of its own",
          "[virtqueue]") {
  a_buffer_written_in_part_has_its_own_entry<QueuePair>();
  a_buffer_written_in_part_has_its_own_entry<PackedPair>();
}

TEST_CASE("with IN_ORDER a chain that was put back is the next one", "[virtqueue]") {
  a_device_may_look_at_a_chain_twice<QueuePair>();
  a_device_may_look_at_a_chain_twice<PackedPair>();
}

TEST_CASE("with IN_ORDER a flood comes back in its order", "[virtqueue]") {
  for (const std::size_t size : {1u, 2u, 8u, 256u})
    a_flood_comes_back_in_order<QueuePair>(size);
  for (const std::size_t size : {1u, 2u, 3u, 7u, 256u})
    a_flood_comes_back_in_order<PackedPair>(size);
}

TEST_CASE("with IN_ORDER an id that is not on its way breaks the queue", "[virtqueue]") {
  QueuePair split(4, kInOrder);
  REQUIRE(split.send(0));
  REQUIRE(split.serve() == 0u);
  split.ring.memory().used[0].id = 3;
  CHECK_FALSE(split.take());
  CHECK(split.driver.faults().of(Fault::bad_used_id) == 1);

  PackedPair packed(4, kInOrder);
  REQUIRE(packed.send(0));
  REQUIRE(packed.serve() == 0u);
  packed.ring.memory().descriptors[0].id = 3;
  CHECK_FALSE(packed.take());
  CHECK(packed.driver.faults().of(Fault::bad_used_id) == 1);
}

}  // namespace tapestry::tests::in_order_test
