// What a packed virtqueue promises its two sides.
#include <catch2/catch.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "tests/host/virtqueue/flood.hpp"

namespace tapestry::tests::packed_test {

using host::virtqueue::Descriptor;
using host::virtqueue::DeviceSide;
using host::virtqueue::EventSuppression;
using host::virtqueue::Fault;
using host::virtqueue::GuestMemory;
using host::virtqueue::kEventDescriptor;
using host::virtqueue::kEventDisable;
using host::virtqueue::kEventEnable;
using host::virtqueue::kFlagIndirect;
using host::virtqueue::kFlagNext;
using host::virtqueue::kFlagWrite;
using host::virtqueue::PackedMemory;
using host::virtqueue::PackedPosition;
using host::virtqueue::QueueOptions;
using host::virtqueue::wants_to_be_told;

namespace {

constexpr std::uint64_t kBuffer0 = std::uint64_t{1} << GuestMemory::kRegionBits;

// Both sides' flags without the two that say in which lap they were written.
void set_flags(PackedMemory& shared, std::size_t at, std::uint16_t flags) {
  std::uint16_t& written = shared.descriptors[at].flags;
  const auto lap = static_cast<std::uint16_t>(
      written & (host::virtqueue::kFlagAvailable | host::virtqueue::kFlagUsed));
  written = static_cast<std::uint16_t>(lap | flags);
}

struct Nonsense {
  const char* what;
  Fault fault;
  std::function<void(PackedMemory&)> write;
};

// Buffers 0 and 1 of 60 bytes are available, at places 0 and 1 of 4.
const Nonsense kOfDrivers[] = {
    {"an id beyond the ring", Fault::bad_head,
     [](PackedMemory& shared) { shared.descriptors[0].id = 4; }},
    {"an empty piece", Fault::empty_piece,
     [](PackedMemory& shared) { shared.descriptors[0].length = 0; }},
    {"an address without a buffer", Fault::bad_address,
     [](PackedMemory& shared) { shared.descriptors[0].address = ~std::uint64_t{0}; }},
    {"one byte too many", Fault::beyond_buffer,
     [](PackedMemory& shared) { shared.descriptors[0].length = 61; }},
    {"all the bytes there are", Fault::beyond_buffer,
     [](PackedMemory& shared) { shared.descriptors[0].length = ~std::uint32_t{0}; }},
    {"half a frame", Fault::partial_buffer,
     [](PackedMemory& shared) { shared.descriptors[0].length = 30; }},
    {"two buffers in one chain", Fault::scattered,
     [](PackedMemory& shared) { set_flags(shared, 0, kFlagNext); }},
    {"a table nobody agreed on", Fault::bad_table,
     [](PackedMemory& shared) { set_flags(shared, 0, kFlagIndirect); }},
    {"to read and to write", Fault::mixed_direction,
     [](PackedMemory& shared) {
       shared.descriptors[0].length = 30;
       set_flags(shared, 0, kFlagNext);
       shared.descriptors[1].address = kBuffer0 + 30;
       shared.descriptors[1].length = 30;
       set_flags(shared, 1, kFlagWrite);
     }},
    {"a chain that never ends", Fault::endless_chain,
     [](PackedMemory& shared) {
       for (std::size_t i = 0; i < 4; ++i) {
         shared.descriptors[i].address = kBuffer0 + i;
         shared.descriptors[i].length = 1;
         set_flags(shared, i, kFlagNext);
       }
     }},
};

// Writes one random value to a random place of the ring.
void scribble(PackedPair& pair, core::RandomStream& random) {
  PackedMemory& shared = pair.ring.memory();
  auto& descriptor = shared.descriptors[random.uniform(pair.ring.size())];
  const auto number = static_cast<std::uint16_t>(random.uniform(2) == 0 ? random.uniform(65536)
                                                                        : random.uniform(8));
  switch (random.uniform(9)) {
    case 0:
      descriptor.id = number;
      break;
    case 1:
      descriptor.length = number;
      break;
    case 2:
      descriptor.address = std::uint64_t{number} << random.uniform(48);
      break;
    case 3:
      descriptor.flags = number;
      break;
    case 4:
      descriptor.flags ^= static_cast<std::uint16_t>(1u << random.uniform(16));
      break;
    case 5:
      shared.driver = {number, static_cast<std::uint16_t>(number & 3)};
      break;
    case 6:
      shared.device = {number, static_cast<std::uint16_t>(number & 3)};
      break;
    default:
      break;
  }
}

}  // namespace

TEST_CASE("a position of two laps is passed when one of its entries was", "[virtqueue]") {
  core::RandomStream random(3, "laps");
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t size = 1 + random.uniform(9);
    PackedPosition before;
    before.advance(random.uniform(size + 1), size);
    PackedPosition event = before;
    const std::size_t ahead = random.uniform(2 * size);
    for (std::size_t i = 0; i < ahead; ++i)
      event.advance(1, size);
    const std::size_t entries = random.uniform(size + 1);
    PackedPosition now = before;
    now.advance(entries, size);
    INFO("size " << size << ", ahead " << ahead << ", entries " << entries);
    REQUIRE(wants_to_be_told({event.offset_wrap(), kEventDescriptor}, true, now, entries, size) ==
            (ahead < entries));
    now.go_back(entries, size);
    REQUIRE(now == before);
  }
  const PackedPosition one{1, true};
  CHECK(wants_to_be_told({0, kEventEnable}, true, one, 1, 4));
  CHECK_FALSE(wants_to_be_told({0, kEventDisable}, true, one, 1, 4));
  CHECK(wants_to_be_told({0x8003, kEventDescriptor}, false, one, 1, 4));  // nobody agreed on it
  CHECK(wants_to_be_told({0x7777, kEventDescriptor}, true, one, 1, 4));   // no such place
}

TEST_CASE("a chain as long as the ring turns the lap of both sides (V4)", "[virtqueue]") {
  for (const std::size_t size : {1u, 2u, 3u, 4u, 7u, 256u}) {
    for (std::size_t length = 1; length <= size; length += size > 7 ? 85 : 1) {
      PackedPair pair(size);
      for (std::uint32_t number = 0; number < 3 * size; ++number) {  // each offset, three times
        INFO("size " << size << ", length " << length << ", number " << number);
        REQUIRE(pair.post(number, std::vector<std::uint32_t>(length, 80)));
        REQUIRE(pair.driver.unused() == size - length);
        REQUIRE(pair.serve() == number);
        REQUIRE(pair.device.drained());
        REQUIRE(pair.take() == number);
        REQUIRE_FALSE(pair.driver.has_used());
        REQUIRE(pair.send(number));  // the next one begins at every offset
        REQUIRE(pair.serve() == number);
        REQUIRE(pair.take() == number);
      }
    }
  }
}

TEST_CASE("five buffers come back as 3, 1, 4, 2, 0 (V9)", "[virtqueue]") {
  PackedPair pair(7);
  for (std::uint32_t i = 0; i < 5; ++i)
    REQUIRE(pair.send(i));
  std::vector<DeviceSide::Chain> chains;
  while (const auto chain = pair.device.next())
    chains.push_back(*chain);
  REQUIRE(chains.size() == 5);
  for (const std::size_t i : {3u, 1u, 4u, 2u, 0u})
    pair.device.use(chains[i], 0);
  CHECK_FALSE(pair.driver.has_used());
  pair.device.publish();
  for (const std::uint32_t number : {3u, 1u, 4u, 2u, 0u})
    CHECK(pair.take() == number);
  CHECK(pair.driver.unused() == 7);
}

TEST_CASE("a packed table takes one entry, however many pieces", "[virtqueue]") {
  PackedPair pair(1, {.indirect = true});
  REQUIRE(pair.send(1, {12, 20, 30}));
  CHECK(pair.driver.unused() == 0);
  const auto chain = pair.device.next();
  REQUIRE(chain);
  CHECK(chain->readable_bytes == 62);
  pair.device.use(*chain, 0);
  pair.device.publish();
  CHECK(pair.take() == 1u);
}

TEST_CASE("a chain that is put back on a packed ring is the next one again", "[virtqueue]") {
  PackedPair pair(3);
  for (std::uint32_t number = 0; number < 10; ++number) {
    REQUIRE(pair.send(number, {20, 20}));
    const auto first = pair.device.next();
    REQUIRE(first);
    pair.device.put_back(*first);
    CHECK_FALSE(pair.device.drained());
    CHECK(pair.serve() == number);
    CHECK(pair.take() == number);
  }
}

TEST_CASE("whoever asks to be told again on a packed ring looks once more (V3)", "[virtqueue]") {
  for (const bool event_index : {true, false}) {
    PackedPair pair(5, {.event_index = event_index});
    pair.device.disable_notifications();
    REQUIRE(pair.send(1));
    CHECK_FALSE(pair.driver.kick_prepare());
    REQUIRE(pair.serve() == 1u);
    REQUIRE(pair.send(2));  // between the last look and the request
    CHECK_FALSE(pair.driver.kick_prepare());
    CHECK_FALSE(pair.device.enable_notifications());
    CHECK(pair.serve() == 2u);
    CHECK(pair.device.enable_notifications());
    REQUIRE(pair.send(3));
    CHECK(pair.driver.kick_prepare());
    pair.driver.disable_callbacks();
    CHECK(pair.serve() == 3u);
    CHECK_FALSE(pair.device.must_interrupt());
    CHECK_FALSE(pair.driver.enable_callbacks());
    while (pair.take()) {
    }
    CHECK(pair.driver.enable_callbacks());
    REQUIRE(pair.send(4));
    CHECK(pair.serve() == 4u);
    CHECK(pair.device.must_interrupt());
  }
}

TEST_CASE("an interrupt comes at three quarters of a packed ring that is full", "[virtqueue]") {
  PackedPair pair(8);
  for (std::uint32_t i = 0; i < 8; ++i)
    REQUIRE(pair.send(i));
  REQUIRE(pair.driver.enable_callbacks_delayed());
  for (std::uint32_t i = 0; i < 8; ++i) {
    CHECK(pair.serve() == i);
    CHECK(pair.device.must_interrupt() == (i == 6));
  }
}

TEST_CASE("a packed device counts what a driver gets wrong, and stops", "[virtqueue]") {
  for (const Nonsense& nonsense : kOfDrivers) {
    INFO(nonsense.what);
    PackedPair pair(4);
    REQUIRE(pair.send(0));
    REQUIRE(pair.send(1));
    nonsense.write(pair.ring.memory());
    CHECK_FALSE(pair.device.next());
    CHECK(pair.device.broken());
    CHECK(pair.device.faults().of(nonsense.fault) == 1);
    CHECK(pair.device.faults().all() == 1);
    CHECK_FALSE(pair.device.next());
  }
}

TEST_CASE("an id twice, or one that nobody gave, breaks a packed driver (V9)", "[virtqueue]") {
  for (const std::uint16_t id : {std::uint16_t{0}, std::uint16_t{9999}}) {
    PackedPair pair(4);
    REQUIRE(pair.send(0));
    REQUIRE(pair.send(1));
    REQUIRE(pair.serve() == 0u);
    REQUIRE(pair.take() == 0u);
    REQUIRE(pair.serve() == 1u);
    pair.ring.memory().descriptors[1].id = id;
    CHECK_FALSE(pair.take());
    CHECK(pair.driver.broken());
    CHECK(pair.driver.faults().of(Fault::bad_used_id) == 1);
    CHECK_FALSE(pair.send(2));
  }
  PackedPair pair(4);
  REQUIRE(pair.post(100));
  const auto chain = pair.device.next();
  pair.device.use(*chain, 101);
  pair.device.publish();
  CHECK_FALSE(pair.driver.take_used());
  CHECK(pair.driver.faults().of(Fault::used_too_long) == 1);
}

TEST_CASE("more available at once than a packed ring has is a fault", "[virtqueue]") {
  PackedPair pair(2);
  REQUIRE(pair.send(0));
  REQUIRE(pair.send(1));
  REQUIRE(pair.device.next());
  REQUIRE(pair.device.next());
  // Both are with the device; a driver that overwrites one of them says it is a third.
  pair.ring.memory().descriptors[0].flags = host::virtqueue::kFlagUsed;
  CHECK_FALSE(pair.device.next());
  CHECK(pair.device.faults().of(Fault::index_jump) + pair.device.faults().of(Fault::bad_address) ==
        1);
}

TEST_CASE("random bytes in a packed ring never do worse than break the queue", "[virtqueue]") {
  core::RandomStream random(11, "hostile");
  std::uint64_t faults = 0;
  for (int round = 0; round < 20'000; ++round) {
    const QueueOptions options{.event_index = random.uniform(2) == 0,
                               .indirect = random.uniform(2) == 0,
                               .in_order = random.uniform(2) == 0};
    PackedPair pair(1 + random.uniform(17), options);
    for (std::uint32_t i = 0; i < 20; ++i) {
      if (random.uniform(2) == 0) (void)pair.send(i, {20, 40});
      if (random.uniform(4) == 0) (void)pair.post(100);
      scribble(pair, random);
      if (random.uniform(3) == 0) (void)pair.driver.kick_prepare();
      if (const auto chain = pair.device.next()) {
        core::PacketPtr packet = pair.device.take_packet(*chain);
        pair.device.give_packet(*chain, std::move(packet));
        if (random.uniform(8) == 0) {
          pair.device.put_back(*chain);
        } else {
          pair.device.use(*chain, static_cast<std::uint32_t>(random.uniform(200)));
          pair.device.publish();
        }
      }
      (void)pair.device.must_interrupt();
      if (auto completed = pair.driver.take_used(); completed && completed->packet)
        core::consume(std::move(completed->packet));
    }
    faults += pair.driver.faults().all() + pair.device.faults().all();
    while (core::PacketPtr packet = pair.driver.take_back())
      core::consume(std::move(packet));
  }
  CHECK(faults > 10'000);
}

TEST_CASE("200,000 packets go through packed rings of all sizes, whatever the order",
          "[virtqueue]") {
  constexpr std::uint64_t kPackets = 200'000;
  for (const std::size_t size : {1u, 2u, 3u, 256u, 32768u}) {
    for (const QueueOptions options :
         {QueueOptions{true, false}, QueueOptions{false, false}, QueueOptions{true, true}}) {
      if (size != 3 && size != 256 && (options.indirect || !options.event_index)) continue;
      FloodBench<PackedPair> bench(size, options, size);
      const Flood flood = bench.run(kPackets);
      INFO("size " << size << ", event index " << options.event_index << ", indirect "
                   << options.indirect << ", kicks " << flood.kicks);
      CHECK(flood.received == kPackets);
      CHECK(bench.pair().driver.faults().all() + bench.pair().device.faults().all() == 0);
      CHECK(bench.pair().packets.close().balanced);
    }
  }
}

}  // namespace tapestry::tests::packed_test
