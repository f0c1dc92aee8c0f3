// What a split virtqueue promises its two sides, and when they tell each other.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "host/virtqueue/event_index.hpp"
#include "tests/host/virtqueue/flood.hpp"
#include "tests/support/abort.hpp"

namespace tapestry::tests::split_test {

using host::virtqueue::passes_event;
using host::virtqueue::SplitOptions;

namespace {

// By definition: one of the entries old, old + 1, ... new - 1 is number `event`.
bool passes_by_counting(std::uint16_t event, std::uint16_t new_index, std::uint16_t old_index) {
  for (std::uint16_t at = old_index; at != new_index; ++at)
    if (at == event) return true;
  return false;
}

}  // namespace

TEST_CASE("an event index is passed by a step that goes over it, not only by one that meets it",
          "[virtqueue]") {
  CHECK(passes_event(5, 9, 3));  // 3 -> 9 in one step
  CHECK_FALSE(passes_event(5, 12, 9));
  CHECK(passes_event(65535, 2, 65534));
  CHECK_FALSE(passes_event(2, 2, 65534));
  core::RandomStream random(1, "indices");
  for (int i = 0; i < 20'000; ++i) {
    const auto old_index = static_cast<std::uint16_t>(random.uniform(65536));
    const auto new_index = static_cast<std::uint16_t>(old_index + random.uniform(40));
    const auto event = static_cast<std::uint16_t>(old_index + random.uniform(60) - 10);
    REQUIRE(passes_event(event, new_index, old_index) ==
            passes_by_counting(event, new_index, old_index));
  }
}

TEST_CASE("completions that jump over the requested point interrupt once (V1)", "[virtqueue]") {
  QueuePair pair(16);
  const auto complete = [&pair](int count) {
    for (int i = 0; i < count; ++i) {
      REQUIRE(pair.send(0));
      const auto chain = pair.device.next();
      pair.device.use(*chain, 0);
    }
    pair.device.publish();
    return pair.device.must_interrupt();
  };
  complete(3);
  while (pair.take()) {
  }
  pair.driver.disable_callbacks();
  pair.ring.memory().used_event = 5;
  CHECK(complete(6));        // 3 -> 9
  CHECK_FALSE(complete(3));  // 9 -> 12
}

TEST_CASE("who asks to be notified again looks once more (V3)", "[virtqueue]") {
  for (const bool event_index : {true, false}) {
    QueuePair pair(8, {.event_index = event_index});
    pair.device.disable_notifications();
    REQUIRE(pair.send(1));
    (void)pair.driver.kick_prepare();
    REQUIRE(pair.serve() == 1u);
    CHECK(pair.device.drained());
    REQUIRE(pair.send(2));  // between the last look and the request
    (void)pair.driver.kick_prepare();
    CHECK_FALSE(pair.device.enable_notifications());
    pair.device.disable_notifications();
    CHECK(pair.serve() == 2u);
    CHECK(pair.device.enable_notifications());
    REQUIRE(pair.send(3));
    CHECK(pair.driver.kick_prepare());

    while (pair.take()) {
    }
    pair.driver.disable_callbacks();
    CHECK(pair.serve() == 3u);
    CHECK_FALSE(pair.driver.enable_callbacks());
    CHECK(pair.take() == 3u);
    CHECK(pair.driver.enable_callbacks());
  }
}

TEST_CASE("notifications are suppressed until they are asked for", "[virtqueue]") {
  for (const bool event_index : {true, false}) {
    QueuePair pair(64, {.event_index = event_index});
    REQUIRE(pair.device.enable_notifications());
    pair.driver.disable_callbacks();
    int kicks = 0, interrupts = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      REQUIRE(pair.send(i));
      if (pair.driver.kick_prepare()) ++kicks;
      pair.device.disable_notifications();
      REQUIRE(pair.serve() == i);
      if (pair.device.must_interrupt()) ++interrupts;
    }
    CHECK(kicks == 1);
    CHECK(interrupts <= 1);  // with event indices the first one is always told
    CHECK(pair.driver.unused() == 44);
  }
}

TEST_CASE("buffers come back in the order of their completion", "[virtqueue]") {
  QueuePair pair(4);
  for (std::uint32_t i = 0; i < 4; ++i)
    REQUIRE(pair.send(i));
  CHECK_FALSE(pair.send(4));
  std::vector<host::virtqueue::DeviceSide::Chain> chains;
  while (const auto chain = pair.device.next())
    chains.push_back(*chain);
  REQUIRE(chains.size() == 4);
  for (const std::size_t i : {2u, 0u, 3u, 1u})
    pair.device.use(chains[i], 0);
  CHECK_FALSE(pair.driver.has_used());
  pair.device.publish();
  for (const std::uint32_t number : {2u, 0u, 3u, 1u})
    CHECK(pair.take() == number);
  CHECK(pair.driver.unused() == 4);
}

TEST_CASE("a chain takes a descriptor for each piece, and one in all with an indirect table",
          "[virtqueue]") {
  QueuePair direct(8);
  REQUIRE(direct.send(1, {12, 20, 30}));
  CHECK(direct.driver.unused() == 5);
  CHECK(direct.device.next()->readable_bytes == 62);

  QueuePair indirect(1, {.indirect = true});
  REQUIRE(indirect.send(1, {12, 20, 30}));
  CHECK(indirect.driver.unused() == 0);
  const auto chain = indirect.device.next();
  CHECK(chain->readable_bytes == 62);
  indirect.device.use(*chain, 0);
  indirect.device.publish();
  CHECK(indirect.take() == 1u);
  CHECK(indirect.driver.unused() == 1);
}

TEST_CASE("a chain may be as long as the queue", "[virtqueue]") {
  QueuePair pair(16);
  REQUIRE(pair.send(7, std::vector<std::uint32_t>(16, 10)));
  CHECK(pair.serve() == 7u);
  CHECK(pair.take() == 7u);
  CHECK_FALSE(pair.send(8, std::vector<std::uint32_t>(17, 5)));
  CHECK(pair.driver.unused() == 16);
}

TEST_CASE("the device may write as much as there is room for, and no more", "[virtqueue]") {
  QueuePair pair(2);
  REQUIRE(pair.post(1530));
  auto chain = pair.device.next();
  CHECK(chain->writable_bytes == 1530);
  pair.device.use(*chain, 1530);
  pair.device.publish();
  auto completed = pair.driver.take_used();
  CHECK(completed->bytes == 1530);
  core::consume(std::move(completed->packet));
  REQUIRE(pair.post(1530));
  chain = pair.device.next();
  pair.device.use(*chain, 1531);
  pair.device.publish();
  CHECK_FALSE(pair.driver.take_used());
  CHECK(pair.driver.broken());
  CHECK(pair.driver.faults().of(host::virtqueue::Fault::used_too_long) == 1);
}

TEST_CASE("what the device still has comes back to a driver that closes", "[virtqueue]") {
  QueuePair pair(8);
  for (std::uint32_t i = 0; i < 5; ++i)
    REQUIRE(pair.send(i));
  int back = 0;
  while (core::PacketPtr packet = pair.driver.take_back()) {
    core::consume(std::move(packet));
    ++back;
  }
  CHECK(back == 5);
  CHECK(pair.driver.unused() == 8);
}

TEST_CASE("200,000 packets go through rings of all sizes, whatever the order", "[virtqueue]") {
  constexpr std::uint64_t kPackets = 200'000;  // the 16-bit indices wrap three times
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{256}, std::size_t{32768}}) {
    for (const SplitOptions options :
         {SplitOptions{true, false}, SplitOptions{false, false}, SplitOptions{true, true}}) {
      if (size != 256 && (options.indirect || !options.event_index)) continue;
      FloodBench<QueuePair> bench(size, options, size);
      const Flood flood = bench.run(kPackets);
      INFO("size " << size << ", event index " << options.event_index << ", indirect "
                   << options.indirect << ", kicks " << flood.kicks);
      CHECK(flood.received == kPackets);
      if (size > 1) CHECK(flood.kicks < kPackets);  // with one entry the device sleeps each time
      CHECK(bench.pair().driver.faults().all() + bench.pair().device.faults().all() == 0);
      CHECK(bench.pair().packets.close().balanced);
    }
  }
}

TEST_CASE("a driver that owes time may not touch the ring", "[virtqueue]") {
  const std::string said = abort_message([] {
    QueuePair pair(4);
    const std::int64_t debt = 1;
    pair.timeline.set_debt_cell(&debt);
    (void)pair.driver.has_used();
  });
  CHECK(said.find("a virtqueue") != std::string::npos);
}

}  // namespace tapestry::tests::split_test
