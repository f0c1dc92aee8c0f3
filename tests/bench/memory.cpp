// What a packet costs before anything is done with it: pools, headers, payload, copies, checksums.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/checksum.hpp"
#include "core/packet.hpp"
#include "tests/bench/contest.hpp"

namespace {

using namespace tapestry;
using core::Origin;
using core::PacketPool;
using core::PacketPtr;

constexpr std::size_t payload_bytes = 1472;
constexpr std::size_t header_bytes = 42;
constexpr std::size_t times = 1'000'000;

struct World {
  PacketPool pool;
  std::array<std::uint8_t, 2048> sent{};
  std::array<std::uint8_t, 2048> received{};

  PacketPtr datagram() {
    PacketPtr packet = pool.allocate(Origin::stack);
    core::PayloadRef payload = pool.allocate_payload(payload_bytes);
    std::memcpy(payload.writable().data(), sent.data(), payload_bytes);
    packet->append_payload(std::move(payload));
    packet->account(payload_bytes);
    return packet;
  }
};

double allocate_and_deliver(World& world) {
  return bench::measure(times, [&] { deliver(world.pool.allocate(Origin::stack)); });
}

double allocate_with_block(World& world) {
  return bench::measure(times, [&] {
    PacketPtr packet = world.pool.allocate(Origin::stack);
    packet->append_payload(world.pool.allocate_payload(payload_bytes));
    packet->account(payload_bytes);
    deliver(std::move(packet));
  });
}

double malloc_and_free() {
  return bench::measure(times, [] {
    void* const packet = std::malloc(768);
    bench::look_at(packet);
    void* const block = std::malloc(2048);
    bench::look_at(block);
    std::free(block);
    std::free(packet);
  });
}

double whole_life(World& world) {
  return bench::measure(times, [&] {
    PacketPtr packet = world.datagram();
    for (const std::size_t header : {8u, 20u, 14u})
      std::memset(packet->push(header).data(), 1, header);
    for (const std::size_t header : {14u, 20u, 8u})
      packet->pull(header);
    packet->copy_out(0, std::span(world.received).first(payload_bytes));
    bench::look_at(world.received.data());
    deliver(std::move(packet));
  });
}

double two_copies(World& world, std::vector<std::uint8_t>& buffer) {
  return bench::measure(times, [&] {
    std::memcpy(buffer.data(), world.sent.data(), payload_bytes);
    bench::look_at(buffer.data());
    std::memcpy(world.received.data(), buffer.data(), payload_bytes);
    bench::look_at(world.received.data());
  });
}

// 512 packets at once, as many as a pair of rings holds: what the caches see of it.
double many_alive(World& world) {
  core::PacketQueue queue(512);
  while (!queue.full()) {
    if (!queue.push(world.datagram())) std::abort();
  }
  const double ns = bench::measure(times, [&] {
    PacketPtr packet = queue.pop();
    packet->copy_out(0, std::span(world.received).first(payload_bytes));
    deliver(std::move(packet));
    if (!queue.push(world.datagram())) std::abort();
  });
  while (PacketPtr packet = queue.pop())
    deliver(std::move(packet));
  return ns;
}

double through_a_batch(World& world) {
  core::PacketBatch batch(64);
  for (int i = 0; i < 64; ++i)
    batch.push_back(world.pool.allocate(Origin::stack));
  const double ns = bench::measure(times, [&] { batch.push_back(batch.take_front()); });
  batch.drop_all(core::DropReason::queue_purge);
  return ns;
}

double clone_and_deliver(World& world) {
  PacketPtr packet = world.datagram();
  std::memset(packet->push(header_bytes).data(), 1, header_bytes);
  const double ns = bench::measure(times, [&] { deliver(packet->clone()); });
  deliver(std::move(packet));
  return ns;
}

double checksum_of_packet(World& world) {
  PacketPtr packet = world.datagram();
  std::memset(packet->push(8).data(), 1, 8);
  std::uint32_t sum = 0;
  const double ns = bench::measure(times, [&] {
    core::InternetChecksum checksum;
    core::add_ipv4_pseudo_header(checksum, 0x0a000001, 0x0a000002, 17, payload_bytes + 8);
    core::add_packet_range(checksum, *packet, 0, packet->length());
    sum += checksum.finish();
  });
  bench::look_at(&sum);
  deliver(std::move(packet));
  return ns;
}

// One 32-bit word after the other into 64 bits, without vectors.
double checksum_by_words(World& world) {
  std::uint64_t total = 0;
  const double ns = bench::measure(times, [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < payload_bytes; i += 4) {
      std::uint32_t word;
      std::memcpy(&word, &world.sent[i], sizeof word);
      sum += word;
      asm volatile("" : "+r"(sum));
    }
    total += sum;
  });
  bench::look_at(&total);
  return ns;
}

}  // namespace

int main() {
  World world;
  std::vector<std::uint8_t> buffer(2048);
  bench::compare("a packet of its own",
                 {{"malloc of both parts, and free", malloc_and_free},
                  {"packet from the pool, delivered", [&] { return allocate_and_deliver(world); }},
                  {"with a payload block", [&] { return allocate_with_block(world); }}});
  bench::compare("1472 bytes in, three headers on and off, 1472 bytes out",
                 {{"two copies", [&] { return two_copies(world, buffer); }},
                  {"one packet at a time", [&] { return whole_life(world); }},
                  {"512 packets alive", [&] { return many_alive(world); }}});
  bench::compare("UDP checksum of 1472 bytes",
                 {{"32-bit words, no vectors", [&] { return checksum_by_words(world); }},
                  {"with headers, over a packet", [&] { return checksum_of_packet(world); }}});
  bench::compare("containers and copies",
                 {{"into a batch and out", [&] { return through_a_batch(world); }},
                  {"clone, delivered", [&] { return clone_and_deliver(world); }}});
}
