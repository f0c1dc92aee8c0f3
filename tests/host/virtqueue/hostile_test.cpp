// The other side writes nonsense: each kind is a counted fault and the end of the queue, never of
// the program.
#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "core/random.hpp"
#include "tests/host/virtqueue/queue_pair.hpp"

namespace tapestry::tests::hostile_test {

using host::virtqueue::Descriptor;
using host::virtqueue::Fault;
using host::virtqueue::GuestMemory;
using host::virtqueue::kFlagIndirect;
using host::virtqueue::kFlagNext;
using host::virtqueue::kFlagWrite;
using host::virtqueue::SplitMemory;
using host::virtqueue::SplitOptions;

namespace {

constexpr std::uint64_t kBuffer0 = std::uint64_t{1} << GuestMemory::kRegionBits;
constexpr std::uint64_t kBuffer1 = std::uint64_t{2} << GuestMemory::kRegionBits;

struct Nonsense {
  const char* what;
  Fault fault;
  std::function<void(SplitMemory&)> write;
};

// Buffers 0 and 1 of 60 bytes are available, at heads 0 and 1.
const Nonsense kOfDrivers[] = {
    {"the index jumps", Fault::index_jump, [](SplitMemory& shared) { shared.available_index = 9; }},
    {"a head beyond the table", Fault::bad_head,
     [](SplitMemory& shared) { shared.available[0] = 8; }},
    {"a next beyond the table", Fault::bad_next,
     [](SplitMemory& shared) {
       shared.descriptors[0] = {kBuffer0, 30, kFlagNext, 77};
     }},
    {"a chain that leads back to itself", Fault::scattered,
     [](SplitMemory& shared) {
       shared.descriptors[0] = {kBuffer0, 30, kFlagNext, 0};
     }},
    {"an empty piece", Fault::empty_piece,
     [](SplitMemory& shared) { shared.descriptors[0].length = 0; }},
    {"an address without a buffer", Fault::bad_address,
     [](SplitMemory& shared) { shared.descriptors[0].address = kBuffer1 * 8; }},
    {"the address 0", Fault::bad_address,
     [](SplitMemory& shared) { shared.descriptors[0].address = 0; }},
    {"the last address", Fault::bad_address,
     [](SplitMemory& shared) { shared.descriptors[0].address = ~std::uint64_t{0}; }},
    {"one byte too many", Fault::beyond_buffer,
     [](SplitMemory& shared) { shared.descriptors[0].length = 61; }},
    {"all the bytes there are", Fault::beyond_buffer,
     [](SplitMemory& shared) { shared.descriptors[0].length = ~std::uint32_t{0}; }},
    {"two buffers in one chain", Fault::scattered,
     [](SplitMemory& shared) {
       shared.descriptors[0] = {kBuffer0, 60, kFlagNext, 1};
     }},
    {"a chain that begins in the middle", Fault::scattered,
     [](SplitMemory& shared) {
       shared.descriptors[0].address = kBuffer0 + 1;
       shared.descriptors[0].length = 59;
     }},
    {"half a frame", Fault::partial_buffer,
     [](SplitMemory& shared) { shared.descriptors[0].length = 30; }},
    {"a table nobody agreed on", Fault::bad_table,
     [](SplitMemory& shared) { shared.descriptors[0].flags = kFlagIndirect; }},
    {"to read and to write", Fault::mixed_direction,
     [](SplitMemory& shared) {
       shared.descriptors[0] = {kBuffer0, 30, kFlagNext, 5};
       shared.descriptors[5] = {kBuffer0 + 30, 30, kFlagWrite, 0};
     }},
};

// Writes one random value to a random place of the ring.
void scribble(QueuePair& pair, core::RandomStream& random) {
  SplitMemory& shared = pair.ring.memory();
  const std::size_t entry = random.uniform(pair.ring.size());
  const auto number = static_cast<std::uint16_t>(random.uniform(2) == 0 ? random.uniform(65536)
                                                                        : random.uniform(8));
  Descriptor& descriptor = shared.descriptors[entry];
  switch (random.uniform(12)) {
    case 0:
      shared.available[entry] = number;
      break;
    case 1:
      shared.available_index = static_cast<std::uint16_t>(shared.available_index + number % 5);
      break;
    case 2:
      shared.used[entry] = {number, number};
      break;
    case 3:
      shared.used_index = static_cast<std::uint16_t>(shared.used_index + number % 3);
      break;
    case 4:
      descriptor.address = std::uint64_t{number} << random.uniform(48);
      break;
    case 5:
      descriptor.length = number;
      break;
    case 6:
      descriptor.flags = number & 7;
      break;
    case 7:
      descriptor.next = number;
      break;
    case 8:
      shared.used_event = shared.available_event = number;
      break;
    default:
      break;
  }
}

}  // namespace

TEST_CASE("a device counts what a driver gets wrong, and stops", "[virtqueue]") {
  for (const Nonsense& nonsense : kOfDrivers) {
    INFO(nonsense.what);
    QueuePair pair(8);
    REQUIRE(pair.send(0));
    REQUIRE(pair.send(1));
    nonsense.write(pair.ring.memory());
    CHECK_FALSE(pair.device.next());
    CHECK(pair.device.broken());
    CHECK(pair.device.faults().of(nonsense.fault) == 1);
    CHECK(pair.device.faults().all() == 1);
    CHECK_FALSE(pair.device.next());  // for good
    CHECK(pair.device.faults().all() == 1);
  }
}

TEST_CASE("a head that is made available again while the device has it is a fault", "[virtqueue]") {
  QueuePair pair(8);
  REQUIRE(pair.send(0));
  REQUIRE(pair.device.next());
  pair.ring.memory().available[1] = 0;
  pair.ring.memory().available_index = 2;
  CHECK_FALSE(pair.device.next());
  CHECK(pair.device.faults().of(Fault::head_in_use) == 1);
}

TEST_CASE("a loop of descriptors ends, direct or in a table", "[virtqueue]") {
  // Each piece is where the last one ended, so that only counting finds the loop.
  QueuePair pair(2);
  REQUIRE(pair.send(0, {60}));
  SplitMemory& shared = pair.ring.memory();
  shared.descriptors[0] = {kBuffer0, 1, kFlagNext, 1};
  shared.descriptors[1] = {kBuffer0 + 1, 1, kFlagNext, 0};
  CHECK_FALSE(pair.device.next());
  CHECK(pair.device.faults().of(Fault::endless_chain) == 1);

  QueuePair table(2, {.indirect = true});
  REQUIRE(table.send(0, {30, 30}));
  const std::array<Descriptor, 1> loop{Descriptor{kBuffer0, 60, kFlagNext, 0}};
  table.ring.memory().descriptors[0].address = table.memory.write_table(0, loop);
  table.ring.memory().descriptors[0].length = 16;
  CHECK_FALSE(table.device.next());
  CHECK(table.device.faults().of(Fault::endless_chain) == 1);
}

TEST_CASE("an indirect table must be exactly one", "[virtqueue]") {
  for (const std::uint32_t length : {0u, 8u, 15u, 17u, 48u, ~0u}) {
    QueuePair pair(4, {.indirect = true});
    REQUIRE(pair.send(0, {30, 30}));
    pair.ring.memory().descriptors[0].length = length;
    CHECK_FALSE(pair.device.next());
    CHECK(pair.device.faults().of(Fault::bad_table) == 1);
  }
}

TEST_CASE("a driver counts what a device gets wrong, and stops", "[virtqueue]") {
  const auto after = [](const std::function<void(SplitMemory&)>& write) {
    QueuePair pair(8);
    REQUIRE(pair.send(0));
    (void)pair.device.next();
    write(pair.ring.memory());
    CHECK_FALSE(pair.driver.take_used());
    CHECK(pair.driver.broken());
    CHECK_FALSE(pair.send(1));
    CHECK_FALSE(pair.driver.kick_prepare());
    return pair.driver.faults();
  };
  CHECK(after([](SplitMemory& shared) { shared.used_index = 5; }).of(Fault::used_jump) == 1);
  CHECK(after([](SplitMemory& shared) {
          shared.used[0] = {7, 0};
          shared.used_index = 1;
        }).of(Fault::bad_used_id) == 1);
  CHECK(after([](SplitMemory& shared) {
          shared.used[0] = {0xffff'fff0, 0};
          shared.used_index = 1;
        }).of(Fault::bad_used_id) == 1);
}

TEST_CASE("random bytes in the ring never do worse than break the queue", "[virtqueue]") {
  core::RandomStream random(7, "hostile");
  std::uint64_t faults = 0;
  for (int round = 0; round < 20'000; ++round) {
    const SplitOptions options{.event_index = random.uniform(2) == 0,
                               .indirect = random.uniform(2) == 0,
                               .in_order = random.uniform(2) == 0};
    QueuePair pair(std::size_t{1} << random.uniform(5), options);
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

}  // namespace tapestry::tests::hostile_test
