// The memory of a packed virtqueue (VIRTIO 1.2, 2.8): one ring of descriptors that the driver
// writes to make buffers available and the device overwrites to give them back, and what each side
// wants to be told of.
//
// Nobody writes an index. Each side counts its laps with one bit that begins at 1, and a
// descriptor's flags say in which lap it was written: it is available when AVAIL is the lap's bit
// and USED is not, and used when both are. So a size need not be a power of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/assert.hpp"
#include "core/timeline.hpp"
#include "host/virtqueue/guest_memory.hpp"
#include "host/virtqueue/queue.hpp"

namespace tapestry::host::virtqueue {

inline constexpr std::uint16_t kFlagAvailable = 1u << 7;  // VIRTQ_DESC_F_AVAIL
inline constexpr std::uint16_t kFlagUsed = 1u << 15;      // VIRTQ_DESC_F_USED

// As in the ring: 16 bytes (2.8.13).
struct PackedDescriptor {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint16_t id = 0;
  std::uint16_t flags = 0;
};

// What a side wants to be told of (2.8.14). Its owner writes it, the other one reads it.
struct EventSuppression {
  std::uint16_t offset_wrap = 0;  // with `descriptor`: a position
  std::uint16_t flags = 0;
};
inline constexpr std::uint16_t kEventEnable = 0;      // RING_EVENT_FLAGS_ENABLE: of everything
inline constexpr std::uint16_t kEventDisable = 1;     // RING_EVENT_FLAGS_DISABLE: of nothing
inline constexpr std::uint16_t kEventDescriptor = 2;  // RING_EVENT_FLAGS_DESC: of one position

// Where a side is: a place in the ring, and the bit of its lap.
struct PackedPosition {
  std::uint16_t index = 0;
  bool lap = true;

  // At most one lap. Whoever gets to the end, or beyond, begins the next lap: going once around
  // comes back to the same place with the other bit.
  void advance(std::size_t entries, std::size_t size) {
    const std::size_t to = index + entries;
    if (to >= size) lap = !lap;
    index = static_cast<std::uint16_t>(to >= size ? to - size : to);
  }
  void go_back(std::size_t entries, std::size_t size) {
    if (entries > index) lap = !lap;
    index = static_cast<std::uint16_t>(entries > index ? index + size - entries : index - entries);
  }
  std::uint16_t offset_wrap() const {
    return static_cast<std::uint16_t>(index | (lap ? 1u << 15 : 0u));
  }
  static PackedPosition of(std::uint16_t offset_wrap) {
    return {static_cast<std::uint16_t>(offset_wrap & 0x7fff), (offset_wrap >> 15) != 0};
  }
  std::uint16_t available_flags() const { return lap ? kFlagAvailable : kFlagUsed; }
  std::uint16_t used_flags() const {
    return static_cast<std::uint16_t>(lap ? kFlagAvailable | kFlagUsed : 0);
  }
  bool is_available(std::uint16_t flags) const {
    return (flags & (kFlagAvailable | kFlagUsed)) == available_flags();
  }
  bool is_used(std::uint16_t flags) const {
    return (flags & (kFlagAvailable | kFlagUsed)) == used_flags();
  }
  bool operator==(const PackedPosition&) const = default;
};

// Does one side want to be told, now that the other one has gone `entries` on, to `now`? Two laps
// are told apart, so that no position is mistaken for the one before or behind it.
bool wants_to_be_told(const EventSuppression& wish, bool event_index, PackedPosition now,
                      std::size_t entries, std::size_t size);

struct PackedMemory {
  std::vector<PackedDescriptor> descriptors;
  EventSuppression driver;  // of interrupts; written by the driver
  EventSuppression device;  // of notifications; written by the device
};

class PackedRing {
 public:
  static constexpr std::size_t kSizeMax = 32768;

  // `size`: 1 .. 32,768.
  PackedRing(core::Timeline& timeline, std::size_t size) : timeline_(timeline) {
    TAPESTRY_ASSERT(is_size(size), "a packed ring has up to 32,768 entries");
    memory_.descriptors.resize(size);
  }
  static constexpr bool is_size(std::size_t size) { return size >= 1 && size <= kSizeMax; }

  std::size_t size() const { return memory_.descriptors.size(); }
  PackedMemory& memory() {
    timeline_.require_settled("a virtqueue");
    return memory_;
  }
  const PackedMemory& memory() const {
    timeline_.require_settled("a virtqueue");
    return memory_;
  }

 private:
  core::Timeline& timeline_;
  PackedMemory memory_;
};

}  // namespace tapestry::host::virtqueue
