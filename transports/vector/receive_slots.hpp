// The vector of buffers that recvmmsg fills. Slots that were used up get a new buffer before the
// next call; one for which there is no memory stays empty, and the frame that lands there is lost.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "host/packet_io.hpp"
#include "net/stack.hpp"

namespace tapestry::transports {

class ReceiveSlots {
 public:
  ReceiveSlots(net::Allocator& allocator, std::size_t depth)
      : allocator_(allocator), slots_(depth) {}
  ReceiveSlots(const ReceiveSlots&) = delete;
  ReceiveSlots& operator=(const ReceiveSlots&) = delete;
  ~ReceiveSlots() {
    for (host::ReceiveSlot& slot : slots_)
      if (slot.packet) core::consume(std::move(slot.packet));
  }

  std::size_t depth() const { return slots_.size(); }

  // The first `count` slots, each with a buffer of `capacity` bytes if memory permits.
  std::span<host::ReceiveSlot> ready(std::size_t count, std::size_t capacity) {
    for (std::size_t i = 0; i < count; ++i) {
      host::ReceiveSlot& slot = slots_[i];
      if (!slot.packet) slot.packet = allocator_.allocate(core::Origin::host_copy, capacity);
      slot.capacity = capacity;
      slot.length = 0;
      slot.truncated = false;
    }
    return {slots_.data(), count};
  }

  void free_all() {
    for (host::ReceiveSlot& slot : slots_)
      if (slot.packet) allocator_.free(std::move(slot.packet));
  }

 private:
  net::Allocator& allocator_;
  std::vector<host::ReceiveSlot> slots_;
};

}  // namespace tapestry::transports
