#include "net/checksum_offload.hpp"

#include <array>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/tcp_fields.hpp"

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

bool has_good_checksum(const core::Packet& frame) {
  constexpr std::size_t kFixed = ethernet::kBytes + ipv4::kBytes;
  std::array<std::uint8_t, kFixed> bytes{};
  if (frame.length() < kFixed) return false;
  frame.copy_out(0, bytes);
  const std::uint8_t* ip = bytes.data() + ethernet::kBytes;
  const std::size_t total = core::load_be16(ip + ipv4::kTotalLength);
  const std::uint8_t protocol = ip[ipv4::kProtocol];
  const bool fragment = (core::load_be16(ip + ipv4::kFragment) & ~ipv4::kDontFragment) != 0;
  if (core::load_be16(bytes.data() + ethernet::kType) != ethernet::kIpv4 || ip[0] != 0x45 ||
      fragment || (protocol != tcp_fields::kProtocol && protocol != ipv4::kUdp) ||
      ethernet::kBytes + total > frame.length())
    return false;
  const bool tcp = protocol == tcp_fields::kProtocol;
  const std::size_t field = tcp ? tcp_fields::kChecksum : udp::kChecksum;
  if (total < ipv4::kBytes + (tcp ? tcp_fields::kBytes : udp::kBytes)) return false;
  std::array<std::uint8_t, 2> stored{};
  frame.copy_out(kFixed + field, stored);
  if (!tcp && stored[0] == 0 && stored[1] == 0) return false;  // there is none
  const std::size_t covered = total - ipv4::kBytes;
  core::InternetChecksum sum;
  core::add_ipv4_pseudo_header(sum, core::load_be32(ip + ipv4::kSource),
                               core::load_be32(ip + ipv4::kDestination), protocol,
                               static_cast<std::uint16_t>(covered));
  core::add_packet_range(sum, frame, kFixed, covered);
  return sum.finish() == 0;
}

}  // namespace tapestry::net
