#include "tests/host/port_contract.hpp"

#include <catch2/catch.hpp>

#include "tests/support/frames.hpp"

namespace tapestry::tests {

using host::IoResult;
using host::IoStatus;

namespace {

using Numbers = std::vector<std::uint32_t>;

class CountingListener final : public host::ReadinessListener {
 public:
  void readable() override { ++readables; }
  void writable() override { ++writables; }
  int readables = 0;
  int writables = 0;
};

// Slots for one receive call, with packets to fill.
class Slots {
 public:
  Slots(core::PacketPool& pool, std::size_t count, std::size_t capacity = 2048) : slots(count) {
    for (host::ReceiveSlot& slot : slots) {
      slot.packet = pool.allocate(core::Origin::host_copy);
      slot.capacity = capacity;
    }
  }
  ~Slots() {
    for (host::ReceiveSlot& slot : slots) {
      if (slot.packet) core::deliver(std::move(slot.packet));
    }
  }
  std::vector<host::ReceiveSlot> slots;
};

// Reads until there is nothing more; `calls` counts those that returned frames.
Numbers drain(PortUnderTest& test, std::size_t slots_a_call = 4, int* calls = nullptr) {
  Numbers numbers;
  for (;;) {
    Slots slots(test.pool(), slots_a_call);
    const IoResult result = test.port().receive(slots.slots);
    if (result.status != IoStatus::ok) {
      CHECK(result.status == IoStatus::would_block);
      CHECK(result.count == 0);
      return numbers;
    }
    CHECK(result.count > 0);
    if (calls != nullptr) ++*calls;
    for (std::size_t i = 0; i < result.count; ++i)
      numbers.push_back(number_of(*slots.slots[i].packet));
  }
}

core::PacketPtr frame_in(PortUnderTest& test, std::uint32_t number, std::size_t length = 60) {
  return make_frame(test.pool(), number, length, kPeerMac, kGuestMac);
}

core::PacketBatch batch_of(PortUnderTest& test, std::uint32_t first, std::uint32_t count) {
  core::PacketBatch batch(count);
  for (std::uint32_t i = 0; i < count; ++i)
    batch.push_back(make_frame(test.pool(), first + i, 60 + i, kGuestMac, kPeerMac));
  return batch;
}

void free_prefix(core::PacketBatch& batch, std::size_t count) {
  batch.take_prefix(count, [](core::PacketPtr packet) { core::consume(std::move(packet)); });
}

void check_sending(PortUnderTest& test) {
  SECTION("frames reach the far side in order, whatever prefix each call takes") {
    test.run([&] {
      core::PacketBatch batch = batch_of(test, 1, 9);
      while (!batch.empty()) {
        const IoResult result = test.port().send(batch, batch.size());
        REQUIRE(result.status == IoStatus::ok);
        REQUIRE(result.count > 0);
        free_prefix(batch, result.count);
      }
    });
    CHECK(test.sent() == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  SECTION("a call takes one frame, or all if the port can, and leaves the batch whole") {
    test.run([&] {
      core::PacketBatch batch = batch_of(test, 1, 5);
      const IoResult result = test.port().send(batch, 5);
      CHECK(result.status == IoStatus::ok);
      CHECK(result.count == (test.port().capabilities().multi_send ? 5 : 1));
      CHECK(batch.size() == 5);
      CHECK(number_of(batch.front()) == 1);
      free_prefix(batch, 5);
    });
  }
  SECTION("no more frames are taken than the driver asks for") {
    test.run([&] {
      core::PacketBatch batch = batch_of(test, 1, 5);
      CHECK(test.port().send(batch, 1).count == 1);
      free_prefix(batch, 5);
    });
    CHECK(test.sent() == Numbers{1});
  }
}

void check_receiving(PortUnderTest& test) {
  SECTION("a port with nothing to read would block") {
    test.run([&] { CHECK(drain(test).empty()); });
  }
  SECTION("frames are read in the order of their arrival, and only once") {
    test.run([&] {
      for (std::uint32_t number = 1; number <= 9; ++number)
        test.arrive(frame_in(test, number));
      CHECK(drain(test) == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
      CHECK(drain(test).empty());
    });
  }
  SECTION("a call fills one slot, or as many as there are frames if the port can") {
    test.run([&] {
      for (std::uint32_t number = 1; number <= 3; ++number)
        test.arrive(frame_in(test, number));
      int calls = 0;
      drain(test, 4, &calls);
      CHECK(calls == (test.port().capabilities().multi_receive ? 1 : 3));
    });
  }
  SECTION("the bytes are those that were sent, and the slot says how many") {
    test.run([&] {
      core::PacketPtr frame = frame_in(test, 7, 1514);
      const std::vector<std::uint8_t> bytes = bytes_of(*frame);
      test.arrive(std::move(frame));
      Slots slots(test.pool(), 1);
      CHECK(test.port().receive(slots.slots).count == 1);
      CHECK(slots.slots[0].length == 1514);
      CHECK_FALSE(slots.slots[0].truncated);
      CHECK(bytes_of(*slots.slots[0].packet) == bytes);
    });
  }
  SECTION("what is longer than the buffer is cut off, said once, and harms no other frame") {
    test.run([&] {
      test.arrive(frame_in(test, 1, 300));
      test.arrive(frame_in(test, 2, 100));
      for (const bool truncated : {true, false}) {
        Slots slots(test.pool(), 1, 100);
        CHECK(test.port().receive(slots.slots).count == 1);
        CHECK(slots.slots[0].truncated == truncated);
        CHECK(slots.slots[0].length == 100);
        CHECK(slots.slots[0].packet->length() == 100);
      }
    });
    CHECK(test.pool().close().truncated.bytes == 200);
  }
  SECTION("a slot without a packet takes a frame and loses it") {
    test.run([&] {
      test.arrive(frame_in(test, 1));
      test.arrive(frame_in(test, 2));
      std::vector<host::ReceiveSlot> empty(1);
      CHECK(test.port().receive(empty).count == 1);
      CHECK(empty[0].length == 0);
      CHECK(drain(test) == Numbers{2});
    });
  }
}

void check_readable_edges(PortUnderTest& test) {
  CountingListener listener;
  SECTION("an edge is told for every frame, also while others wait, and for nothing else") {
    test.run([&] {
      test.port().listen(&listener);
      test.arrive(frame_in(test, 1));
      CHECK(listener.readables == 1);
      test.arrive(frame_in(test, 2));
      CHECK(listener.readables == 2);
      {
        Slots slots(test.pool(), 1);
        test.port().receive(slots.slots);
      }
      CHECK(listener.readables == 2);  // reading tells nothing
      test.arrive(frame_in(test, 3));
      CHECK(listener.readables == 3);
      drain(test);
      CHECK(listener.readables == 3);
      test.arrive(frame_in(test, 4));
      CHECK(listener.readables == 4);
    });
    test.run([&] { test.port().listen(nullptr); });
  }
  SECTION("edges that came before the listener are not told again") {
    test.run([&] {
      test.arrive(frame_in(test, 1));
      test.port().listen(&listener);
      CHECK(listener.readables == 0);
      CHECK(drain(test) == Numbers{1});
      test.port().listen(nullptr);
      test.arrive(frame_in(test, 2));
      CHECK(listener.readables == 0);
    });
  }
}

void check_writable_edges(PortUnderTest& test) {
  CountingListener listener;
  SECTION("a refused writer that watches is told once when there is room") {
    test.run([&] {
      test.port().listen(&listener);
      test.port().watch_writable(true);
      test.hold();
      core::PacketBatch batch = batch_of(test, 1, 1);
      IoResult result;
      for (int i = 0; i < 10'000 && result.status == IoStatus::ok; ++i)
        result = test.port().send(batch, 1);
      CHECK(result.status == IoStatus::would_block);
      CHECK(result.count == 0);
      CHECK(listener.writables == 0);
      test.release();
      CHECK(listener.writables == 1);
      CHECK(test.port().send(batch, 1).status == IoStatus::ok);
      free_prefix(batch, 1);
      test.port().listen(nullptr);
    });
  }
  SECTION("a writer that does not watch is not told, but is as soon as it does") {
    test.run([&] {
      test.port().listen(&listener);
      test.hold();
      core::PacketBatch batch = batch_of(test, 1, 1);
      IoResult result;
      for (int i = 0; i < 10'000 && result.status == IoStatus::ok; ++i)
        result = test.port().send(batch, 1);
      test.release();
      CHECK(listener.writables == 0);
      test.port().watch_writable(true);
      CHECK(listener.writables == 1);
      free_prefix(batch, 1);
      test.port().listen(nullptr);
    });
  }
}

}  // namespace

void check_port_contract(const MakePort& make) {
  const std::unique_ptr<PortUnderTest> test = make();
  check_sending(*test);
  check_receiving(*test);
  check_readable_edges(*test);
  check_writable_edges(*test);
  test->run([&] { drain(*test); });
  const core::Balance balance = test->pool().close();
  INFO(balance.text);
  CHECK(balance.balanced);
  CHECK(balance.dropped_for(core::DropReason::not_specified).packets == 0);
}

}  // namespace tapestry::tests
