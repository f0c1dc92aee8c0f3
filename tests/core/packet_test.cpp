// A packet against a plain vector of bytes: whatever is pushed, pulled, appended and cut, both hold
// the same bytes.

#include "core/packet.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "tests/core/property.hpp"
#include "tests/support/abort.hpp"

namespace tapestry::tests::packet_test {

namespace {

using Catch::Matchers::Contains;
using core::Origin;
using core::Packet;
using core::PacketPool;
using core::PacketPtr;
using core::PayloadRef;
using Bytes = std::vector<std::uint8_t>;

Bytes counted(std::size_t length, std::uint8_t first = 0) {
  Bytes bytes(length);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

PayloadRef payload_of(PacketPool& pool, const Bytes& bytes) {
  PayloadRef payload = pool.allocate_payload(bytes.size());
  REQUIRE(payload);
  std::ranges::copy(bytes, payload.writable().begin());
  return payload;
}

Bytes bytes_of(const Packet& packet) {
  Bytes bytes(packet.length());
  packet.copy_out(0, bytes);
  return bytes;
}

void write(std::span<std::uint8_t> target, const Bytes& bytes) {
  std::ranges::copy(bytes, target.begin());
}

// A packet with `linear` bytes of header and payload of these lengths, counting up throughout.
PacketPtr packet_of(PacketPool& pool, std::size_t linear, const std::vector<std::size_t>& payload) {
  PacketPtr packet = pool.allocate(Origin::stack);
  std::size_t position = linear;
  write(packet->put(linear), counted(linear));
  for (const std::size_t length : payload) {
    packet->append_payload(payload_of(pool, counted(length, static_cast<std::uint8_t>(position))));
    position += length;
  }
  return packet;
}

using Step = std::tuple<int, std::size_t, std::uint8_t>;  // what, how much, with which bytes

// A packet and a vector to which the same is done.
struct Twins {
  PacketPool pool{4};
  PacketPtr packet = pool.allocate(Origin::stack);
  Bytes model;

  void take(const Step& step) {
    const auto& [what, size, fill] = step;
    const std::size_t part = std::min(size, model.size());
    switch (what) {
      case 0:
        push(Bytes(size, fill));
        break;
      case 1:
        pull(part);
        break;
      case 2:
        put(Bytes(size, fill));
        break;
      case 3:
        append(Bytes(size, fill));
        break;
      case 4:
        trim(model.size() - part);
        break;
      case 5:
        make_linear(size);
        break;
      case 6:
        deliver(std::exchange(packet, packet->clone()));
        break;
      case 7:
        repeat(std::min<std::size_t>(fill, model.size()), size);
        break;
    }
  }

  void push(const Bytes& bytes) {
    if (bytes.size() + packet->linear_length() > Packet::kAreaBytes) return;
    write(packet->push(bytes.size()), bytes);
    model.insert(model.begin(), bytes.begin(), bytes.end());
  }
  void pull(std::size_t n) {
    packet->pull(n);
    model.erase(model.begin(), at(n));
  }
  void put(const Bytes& bytes) {
    if (bytes.size() > packet->tailroom()) return;
    write(packet->put(bytes.size()), bytes);
    model.insert(model.end(), bytes.begin(), bytes.end());
  }
  void append(const Bytes& bytes) {
    if (bytes.empty() || packet->fragments_left() == 0) return;
    packet->append_payload(payload_of(pool, bytes));
    model.insert(model.end(), bytes.begin(), bytes.end());
  }
  void trim(std::size_t keep) {
    packet->trim_to(keep);
    model.resize(keep);
  }
  void make_linear(std::size_t n) {
    const bool possible = n <= model.size() && n <= Packet::kAreaBytes;
    RC_ASSERT(packet->make_linear(n) == (possible || n <= packet->linear_length()));
    const auto contiguous = packet->linear().first(possible ? n : 0);
    RC_ASSERT(std::equal(contiguous.begin(), contiguous.end(), model.begin()));
  }
  // Cuts out a part and appends it, if there is room.
  void repeat(std::size_t from, std::size_t size) {
    const std::size_t length = std::min(size, model.size() - from);
    const Bytes repeated(at(from), at(from + length));
    PacketPtr part = pool.allocate(Origin::segmentation);
    RC_ASSERT(part->append_range(*packet, from, length));
    if (packet->append_range(*part, 0, length)) {
      model.insert(model.end(), repeated.begin(), repeated.end());
    }
    deliver(std::move(part));
  }
  Bytes::iterator at(std::size_t position) {
    return model.begin() + static_cast<std::ptrdiff_t>(position);
  }
};

}  // namespace

TEST_CASE("layers push headers in front and strip them again", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = pool.allocate(Origin::stack);
  packet->append_payload(payload_of(pool, Bytes{'h', 'i'}));
  write(packet->push(3), Bytes{'u', 'd', 'p'});
  write(packet->push(2), Bytes{'i', 'p'});
  CHECK(bytes_of(*packet) == Bytes{'i', 'p', 'u', 'd', 'p', 'h', 'i'});
  CHECK(packet->linear_length() == 5);
  packet->pull(2);
  CHECK(bytes_of(*packet) == Bytes{'u', 'd', 'p', 'h', 'i'});
  packet->push(2);
  CHECK(bytes_of(*packet) == Bytes{'i', 'p', 'u', 'd', 'p', 'h', 'i'});  // still there
  deliver(std::move(packet));
}

TEST_CASE("pulling goes on into the payload", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 10, {20, 30});
  packet->pull(35);
  CHECK(packet->linear_length() == 0);
  CHECK(packet->fragments().size() == 1);
  CHECK(bytes_of(*packet) == counted(25, 35));
  packet->pull(25);
  CHECK(packet->length() == 0);
  CHECK(packet->fragments_left() == Packet::kFragmentsMax);
  CHECK_THAT(abort_message([&] { packet->pull(1); }), Contains("no more is pulled"));
  deliver(std::move(packet));
}

TEST_CASE("trimming keeps the first bytes, wherever they end", "[core][packet]") {
  const std::size_t keep = GENERATE(0u, 5u, 10u, 11u, 30u, 31u, 60u);
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 10, {20, 30});
  packet->trim_to(keep);
  CHECK(bytes_of(*packet) == counted(keep));
  CHECK(packet->fragments().size() == (keep <= 10 ? 0 : keep <= 30 ? 1 : 2));
  deliver(std::move(packet));
}

TEST_CASE("headers in the payload can be made contiguous", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 4, {6, 50});
  REQUIRE(packet->make_linear(40));
  CHECK(packet->linear_length() == 40);
  CHECK(Bytes(packet->data(), packet->data() + 40) == counted(40));
  CHECK(bytes_of(*packet) == counted(60));
  CHECK_FALSE(packet->make_linear(61));
  deliver(std::move(packet));

  PacketPtr large = packet_of(pool, 10, {1000});
  CHECK_FALSE(large->make_linear(Packet::kAreaBytes + 1));
  REQUIRE(large->make_linear(Packet::kAreaBytes));
  CHECK(large->headroom() == 0);
  CHECK(bytes_of(*large) == counted(1010));
  deliver(std::move(large));
}

TEST_CASE("more headers than headroom move the area, its marks and what was pulled",
          "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 20, {100});
  packet->set_mac_header();
  packet->set_transport_header(16);
  packet->pull(14);
  packet->push(200);
  CHECK(packet->length() == 306);
  CHECK(packet->mac_offset() == 186);
  CHECK(packet->transport_offset() == 202);
  packet->pull(186);
  CHECK(bytes_of(*packet) == counted(120));
  CHECK_THAT(abort_message([&] { packet->push(Packet::kAreaBytes); }),
             Contains("headers fit the area"));
  deliver(std::move(packet));
}

TEST_CASE("header marks stay at their bytes", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 42, {100});
  CHECK_FALSE(packet->has_network_header());
  packet->set_mac_header();
  packet->set_network_header(14);
  packet->set_transport_header(34);
  packet->set_checksum_start(34);
  packet->pull(14);
  CHECK(packet->network_offset() == 0);
  CHECK(packet->transport_offset() == 20);
  CHECK(packet->checksum_start() == 20);
  CHECK(*packet->mac_header() == 0);
  CHECK(*packet->network_header() == 14);
  CHECK(*packet->transport_header() == 34);
  packet->push(14);
  CHECK(packet->checksum_start() == 34);
  CHECK_THAT(abort_message([&] {
               packet->pull(20);
               packet->network_offset();
             }),
             Contains("not pulled"));
  deliver(std::move(packet));
}

TEST_CASE("a mark on a byte of the payload follows it into the linear part", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 0, {100});  // as a device receives it
  packet->set_network_header(14);
  packet->set_checksum_start(34);
  SECTION("by copying headers over") {
    REQUIRE(packet->make_linear(54));
    CHECK(*packet->network_header() == 14);
    CHECK(packet->checksum_start() == 34);
  }
  SECTION("after the bytes before it were pulled from the payload") {
    packet->pull(20);
    CHECK_FALSE(packet->has_network_header());
    CHECK(packet->checksum_start() == 14);
  }
  deliver(std::move(packet));
}

TEST_CASE("a clone shares payload, copies headers and has an id of its own", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 20, {1400});
  packet->set_mac_header();
  packet->pull(14);
  packet->protocol = 0x0800;
  packet->flow = 7;
  packet->account(1400);
  PacketPtr copy = packet->clone();
  CHECK(bytes_of(*copy) == bytes_of(*packet));
  CHECK(copy->protocol == 0x0800);
  CHECK(copy->flow == 7);
  CHECK(copy->id != packet->id);
  CHECK(copy->weight() == 1400);
  CHECK(copy->origin() == Origin::duplication);
  CHECK(*copy->mac_header() == 0);
  CHECK(copy->fragments()[0].data() == packet->fragments()[0].data());
  copy->data()[0] = 99;
  CHECK(packet->data()[0] == 14);
  deliver(std::move(packet));
  CHECK(copy->fragments()[0].data()[0] == 20);  // the payload outlives the original
  deliver(std::move(copy));
  CHECK(pool.close().balanced);
}

TEST_CASE("a segment shares the payload of what it was cut from", "[core][packet]") {
  PacketPool pool;
  PacketPtr whole = packet_of(pool, 10, {100, 200});
  PacketPtr segment = pool.allocate(Origin::segmentation);
  write(segment->put(3), Bytes{'h', 'd', 'r'});
  REQUIRE(segment->append_range(*whole, 60, 150));
  segment->pull(3);
  CHECK(bytes_of(*segment) == counted(150, 60));
  CHECK(segment->fragments().size() == 2);
  REQUIRE(segment->append_range(*whole, 4, 8));  // 6 linear bytes, copied; 2 shared
  CHECK(segment->fragments().size() == 4);
  segment->pull(150);
  CHECK(bytes_of(*segment) == counted(8, 4));
  deliver(std::move(segment));
  deliver(std::move(whole));
}

TEST_CASE("ranges that continue each other in one block become one", "[core][packet]") {
  PacketPool pool;
  const PayloadRef block = payload_of(pool, counted(100));
  PacketPtr packet = pool.allocate(Origin::stack);
  for (std::size_t i = 0; i < 100; i += 10)
    packet->append_payload(block.slice(i, 10));
  CHECK(packet->fragments().size() == 1);
  packet->append_payload(block.slice(50, 10));
  CHECK(packet->fragments().size() == 2);
  packet->trim_to(100);
  CHECK(bytes_of(*packet) == counted(100));
  deliver(std::move(packet));
}

TEST_CASE("a packet holds 18 ranges, and says so before it is full", "[core][packet]") {
  PacketPool pool;
  PacketPtr packet = packet_of(pool, 0, std::vector<std::size_t>(18, 10));
  CHECK(packet->fragments_left() == 0);
  PacketPtr more = packet_of(pool, 0, {10});
  CHECK_FALSE(packet->append_range(*more, 0, 10));
  CHECK_THAT(abort_message([&] { packet->append_payload(more->fragments()[0]); }),
             Contains("bounded number of fragments"));
  packet->pull(25);  // two ranges go, and their places can be used again
  REQUIRE(packet->append_range(*more, 0, 10));
  CHECK(packet->length() == 165);
  deliver(std::move(packet));
  deliver(std::move(more));
}

TEST_CASE("any operations leave the bytes that a plain vector has", "[core][packet]") {
  const auto steps = rc::gen::container<std::vector<Step>>(
      rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::inRange<std::size_t>(0, 400),
                     rc::gen::arbitrary<std::uint8_t>()));
  for_all(
      [&] {
        Twins twins;
        for (const Step& step : *steps) {
          twins.take(step);
          RC_ASSERT(bytes_of(*twins.packet) == twins.model);
          if (twins.model.size() <= 3) continue;
          Bytes middle(twins.model.size() - 3);
          twins.packet->copy_out(2, middle);
          RC_ASSERT(std::equal(middle.begin(), middle.end(), twins.model.begin() + 2));
        }
        deliver(std::move(twins.packet));
        RC_ASSERT(twins.pool.payload().blocks_in_use(0) == 0u);
        RC_ASSERT(twins.pool.close().balanced);
      },
      500);
}

}  // namespace tapestry::tests::packet_test
