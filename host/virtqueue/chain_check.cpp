#include "host/virtqueue/chain_check.hpp"

namespace tapestry::host::virtqueue {

std::optional<Fault> add_piece(const GuestMemory& memory, DeviceSide::Chain& chain,
                               const Descriptor& piece, bool first) {
  if (piece.length == 0) return Fault::empty_piece;
  GuestMemory::Place place{};
  if (!memory.find(piece.address, place)) return Fault::bad_address;
  if (piece.length > place.left) return Fault::beyond_buffer;
  const std::uint32_t so_far = chain.readable_bytes + chain.writable_bytes;
  if (first) chain.buffer = place.buffer;
  if (place.buffer != chain.buffer || place.offset != so_far) return Fault::scattered;
  const bool writes = (piece.flags & kFlagWrite) != 0;
  if (!first && writes != (chain.writable_bytes != 0)) return Fault::mixed_direction;
  (writes ? chain.writable_bytes : chain.readable_bytes) += piece.length;
  return std::nullopt;
}

std::optional<Fault> check_whole(GuestMemory& memory, const DeviceSide::Chain& chain) {
  const GuestMemory::Buffer& buffer = memory.buffer(chain.buffer);
  if (!buffer.packet) return Fault::head_in_use;  // by way of another chain
  if (chain.readable_bytes != 0 && chain.readable_bytes != buffer.bytes)
    return Fault::partial_buffer;
  return std::nullopt;
}

}  // namespace tapestry::host::virtqueue
