#include "net/checksum_offload.hpp"

#include "core/bytes.hpp"
#include "core/checksum.hpp"

namespace tapestry::net {

void mark_unfinished_checksum(core::Packet& packet, std::size_t start, std::size_t offset) {
  packet.set_checksum_start(start);
  packet.checksum_offset = static_cast<std::uint16_t>(offset);
  packet.checksum = core::ChecksumState::partial;
}

void finish_checksum(core::Packet& packet) {
  TAPESTRY_ASSERT(packet.checksum == core::ChecksumState::partial, "a checksum is unfinished");
  const std::size_t start = packet.checksum_start();
  const std::size_t field = start + packet.checksum_offset;
  const bool linear = packet.make_linear(field + 2);
  TAPESTRY_ASSERT(linear, "the checksum field lies among the headers");
  core::InternetChecksum checksum;
  core::add_packet_range(checksum, packet, start, packet.length() - start);
  // A UDP checksum of 0 would mean that there is none; 0xffff is the same number (RFC 768).
  const std::uint16_t value = checksum.finish();
  core::store_be16(packet.data() + field, value != 0 ? value : 0xffff);
  packet.checksum = core::ChecksumState::none;
}

}  // namespace tapestry::net
