// A virtqueue with both of its sides, and frames to send through it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.hpp"
#include "core/timeline.hpp"
#include "host/virtqueue/packed_device.hpp"
#include "host/virtqueue/packed_driver.hpp"
#include "host/virtqueue/split_device.hpp"
#include "host/virtqueue/split_driver.hpp"

namespace tapestry::tests {

template <class Ring, class Driver, class Device>
struct BasicQueuePair {
  explicit BasicQueuePair(std::size_t size, host::virtqueue::QueueOptions options = {})
      : memory(timeline, size),
        ring(timeline, size),
        driver(ring, memory, options),
        device(ring, memory, options) {}

  core::PacketPtr packet(std::uint32_t number, std::size_t bytes = 60) {
    core::PacketPtr made = packets.allocate(core::Origin::stack);
    made->put(bytes);
    made->flow = number;
    return made;
  }
  // One piece for each length; the packet is as long as all of them.
  bool send(std::uint32_t number, std::vector<std::uint32_t> pieces = {60}) {
    std::uint32_t bytes = 0;
    for (const std::uint32_t piece : pieces)
      bytes += piece;
    core::PacketPtr made = packet(number, bytes);
    const bool added = driver.add(made, pieces, host::virtqueue::Access::device_reads);
    if (!added) core::consume(std::move(made));
    return added;
  }
  // An empty buffer with room for so many bytes, in one piece or in several.
  bool post(std::uint32_t capacity) { return post(0, {capacity}); }
  bool post(std::uint32_t number, const std::vector<std::uint32_t>& pieces) {
    core::PacketPtr empty = packets.allocate(core::Origin::host_copy);
    empty->flow = number;
    const bool added = driver.add(empty, pieces, host::virtqueue::Access::device_writes);
    if (!added) core::consume(std::move(empty));
    return added;
  }
  // The device uses the next chain; its number, or nothing.
  std::optional<std::uint32_t> serve() {
    const auto chain = device.next();
    if (!chain) return std::nullopt;
    const std::uint32_t number = memory.buffer(chain->buffer).packet->flow;
    device.use(*chain, 0);
    device.publish();
    return number;
  }
  std::optional<std::uint32_t> take() {
    auto completed = driver.take_used();
    if (!completed) return std::nullopt;
    const std::uint32_t number = completed->packet->flow;
    core::consume(std::move(completed->packet));
    return number;
  }

  core::PacketPool packets;
  core::Timeline timeline;
  host::virtqueue::GuestMemory memory;
  Ring ring;
  Driver driver;
  Device device;
};

using QueuePair = BasicQueuePair<host::virtqueue::SplitRing, host::virtqueue::SplitDriver,
                                 host::virtqueue::SplitDevice>;
using PackedPair = BasicQueuePair<host::virtqueue::PackedRing, host::virtqueue::PackedDriver,
                                  host::virtqueue::PackedDevice>;

}  // namespace tapestry::tests
