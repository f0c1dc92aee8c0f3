// The memory of a split virtqueue (VIRTIO 1.2, 2.7): a descriptor table, a ring of what is
// available, a ring of what is used. Both sides read and write it, and neither believes what it
// reads.
//
// Indices count entries and wrap at 65,536; an entry's place is its index modulo the size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/assert.hpp"
#include "core/timeline.hpp"
#include "host/virtqueue/guest_memory.hpp"
#include "host/virtqueue/queue.hpp"

namespace tapestry::host::virtqueue {

inline constexpr std::uint16_t kNoInterrupt = 1;  // VIRTQ_AVAIL_F_NO_INTERRUPT
inline constexpr std::uint16_t kNoNotify = 1;     // VIRTQ_USED_F_NO_NOTIFY

struct UsedElement {
  std::uint32_t id = 0;
  std::uint32_t length = 0;
};

struct SplitMemory {
  std::vector<Descriptor> descriptors;
  // written by the driver
  std::uint16_t available_flags = 0;
  std::uint16_t available_index = 0;
  std::vector<std::uint16_t> available;
  std::uint16_t used_event = 0;
  // written by the device
  std::uint16_t used_flags = 0;
  std::uint16_t used_index = 0;
  std::vector<UsedElement> used;
  std::uint16_t available_event = 0;
};

class SplitRing {
 public:
  static constexpr std::size_t kSizeMax = 32768;

  // `size`: a power of two, 1 .. 32,768.
  SplitRing(core::Timeline& timeline, std::size_t size) : timeline_(timeline) {
    TAPESTRY_ASSERT(is_size(size), "a split ring has a power of two of entries, up to 32,768");
    memory_.descriptors.resize(size);
    memory_.available.resize(size);
    memory_.used.resize(size);
  }
  static constexpr bool is_size(std::size_t size) {
    return size >= 1 && size <= kSizeMax && (size & (size - 1)) == 0;
  }

  std::size_t size() const { return memory_.descriptors.size(); }
  SplitMemory& memory() {
    timeline_.require_settled("a virtqueue");
    return memory_;
  }
  const SplitMemory& memory() const {
    timeline_.require_settled("a virtqueue");
    return memory_;
  }

 private:
  core::Timeline& timeline_;
  SplitMemory memory_;
};

using SplitOptions = QueueOptions;

}  // namespace tapestry::host::virtqueue
