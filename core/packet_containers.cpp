#include "core/packet_containers.hpp"

#include <bit>

namespace tapestry::core {

PacketBatch::PacketBatch(std::size_t capacity)
    : slots_(new PacketPtr[std::bit_ceil(capacity)]),
      mask_(std::bit_ceil(capacity) - 1),
      capacity_(capacity) {
  TAPESTRY_ASSERT(capacity >= 1 && capacity <= kCapacityMax, "a batch is one system call's worth");
}

}  // namespace tapestry::core
