#include "net/gso.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/checksum_offload.hpp"
#include "net/headers.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "net/tcp_fields.hpp"

namespace tapestry::net {

using core::GsoType;
using core::PacketPtr;
using sched::Work;

namespace {

std::uint8_t protocol_of(GsoType type) {
  return type == GsoType::tcpv4 ? tcp_fields::kProtocol : ipv4::kUdp;
}

std::size_t ip_header_bytes(const std::uint8_t* header) {
  return std::size_t{header[0] & 0xfu} * 4;
}

// The pseudo header's sum in the field, the rest for whoever sends the segment.
void leave_checksum(core::Packet& segment, std::size_t transport, std::size_t offset,
                    std::uint8_t protocol) {
  const std::uint8_t* ip = segment.data() + ethernet::kBytes;
  core::InternetChecksum pseudo;
  core::add_ipv4_pseudo_header(pseudo, core::load_be32(ip + ipv4::kSource),
                               core::load_be32(ip + ipv4::kDestination), protocol,
                               static_cast<std::uint16_t>(segment.length() - transport));
  core::store_be16(segment.data() + transport + offset, pseudo.sum());
  mark_unfinished_checksum(segment, transport, offset);
}

void write_ip_header(core::Packet& segment, std::size_t index, bool fixed_id) {
  std::uint8_t* ip = segment.data() + ethernet::kBytes;
  const std::uint16_t first = core::load_be16(ip + ipv4::kIdentification);
  core::store_be16(ip + ipv4::kTotalLength,
                   static_cast<std::uint16_t>(segment.length() - ethernet::kBytes));
  core::store_be16(ip + ipv4::kIdentification,
                   static_cast<std::uint16_t>(first + (fixed_id ? 0 : index)));
  core::store_be16(ip + ipv4::kChecksum, 0);
  core::store_be16(ip + ipv4::kChecksum, core::internet_checksum({ip, ip_header_bytes(ip)}));
}

void write_tcp_header(std::uint8_t* tcp, std::size_t index, bool last, std::size_t size) {
  const std::uint32_t first = core::load_be32(tcp + tcp_fields::kSequence);
  core::store_be32(tcp + tcp_fields::kSequence, first + static_cast<std::uint32_t>(index * size));
  std::uint8_t& flags = tcp[tcp_fields::kFlags];
  if (!last) flags &= static_cast<std::uint8_t>(~(tcp_fields::kFin | tcp_fields::kPsh));
  if (index != 0) flags &= static_cast<std::uint8_t>(~tcp_fields::kCwr);
}

// Those of the whole, corrected: length, identification, sequence, flags, both checksums.
void write_headers(core::Packet& segment, std::size_t index, bool last, const core::Packet& of) {
  const bool tcp = of.gso_type == GsoType::tcpv4;
  const std::size_t transport =
      ethernet::kBytes + ip_header_bytes(segment.data() + ethernet::kBytes);
  segment.set_mac_header();
  segment.set_network_header(ethernet::kBytes);
  segment.set_transport_header(transport);
  write_ip_header(segment, index, of.gso_fixed_id);
  std::uint8_t* header = segment.data() + transport;
  if (tcp)
    write_tcp_header(header, index, last, of.gso_size);
  else
    core::store_be16(header + udp::kLength,
                     static_cast<std::uint16_t>(segment.length() - transport));
  leave_checksum(segment, transport, tcp ? tcp_fields::kChecksum : udp::kChecksum,
                 protocol_of(of.gso_type));
}

// The charge of the whole goes on with its segments.
void pass_owner_on(core::Packet& packet, core::PacketQueue& segments) {
  const std::uint32_t charged = packet.owner_bytes();
  core::PacketOwner* owner = packet.take_owner();
  if (owner == nullptr) return;
  std::uint64_t needed = 0;
  segments.for_each(
      [&needed](const core::Packet& segment) { needed += socket_memory_bytes(segment.length()); });
  const auto more = static_cast<std::uint32_t>(needed - std::min<std::uint64_t>(needed, charged));
  if (!owner->packet_segmented(more)) {
    segments.back()->set_owner(*owner, charged);
    return;
  }
  std::uint32_t left = charged + more;
  segments.for_each([&](core::Packet& segment) {
    const bool last = &segment == segments.back();
    const std::uint32_t own = last ? left : socket_memory_bytes(segment.length());
    segment.set_owner(*owner, own);
    left -= own;
  });
}

}  // namespace

std::size_t gso_header_bytes(const core::Packet& packet) {
  constexpr std::size_t kFixed = ethernet::kBytes + ipv4::kBytes;
  const bool tcp = packet.gso_type == GsoType::tcpv4;
  if (!tcp && packet.gso_type != GsoType::udp_l4) return 0;
  if (packet.length() < kFixed) return 0;
  std::array<std::uint8_t, kFixed> bytes{};
  packet.copy_out(0, bytes);
  const std::uint8_t* ip = bytes.data() + ethernet::kBytes;
  if (core::load_be16(bytes.data() + ethernet::kType) != ethernet::kIpv4) return 0;
  if (ip[0] >> 4 != 4 || ip[ipv4::kProtocol] != protocol_of(packet.gso_type)) return 0;
  const std::size_t transport = ethernet::kBytes + ip_header_bytes(ip);
  if (transport < kFixed) return 0;
  if (!tcp) return transport + udp::kBytes <= packet.length() ? transport + udp::kBytes : 0;
  if (transport + tcp_fields::kBytes > packet.length()) return 0;
  std::array<std::uint8_t, 1> offset{};
  packet.copy_out(transport + tcp_fields::kWord, offset);
  const std::size_t own = std::size_t{offset[0]} >> 4 << 2;
  if (own < tcp_fields::kBytes || transport + own > packet.length()) return 0;
  return transport + own;
}

std::size_t segment_count(const core::Packet& packet) {
  const std::size_t headers = gso_header_bytes(packet);
  if (headers == 0 || packet.gso_size == 0) return 0;
  return (packet.length() - headers + packet.gso_size - 1) / packet.gso_size;
}

std::uint64_t segment_weight(const core::Packet& packet, std::size_t headers, std::size_t index) {
  const std::uint64_t length = packet.length();
  const std::uint64_t from = length - std::min<std::uint64_t>(packet.weight(), length);
  const std::uint64_t begin = headers + index * packet.gso_size;
  const std::uint64_t end = std::min<std::uint64_t>(begin + packet.gso_size, length);
  const std::uint64_t own = end - std::min(end, std::max(begin, from));
  if (index != 0) return own;
  const std::uint64_t payload = length - std::max<std::uint64_t>(headers, from);
  return own + (packet.weight() - payload);
}

core::PacketPtr cut_segment(const core::Packet& packet, std::size_t headers, std::size_t index,
                            core::Origin origin) {
  PacketPtr segment = packet.pool().allocate(origin);
  if (!segment) return segment;
  const std::uint64_t id = segment->id;
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): the marks alone are meant
  static_cast<core::PacketMarks&>(*segment) = packet;
  segment->id = id;
  segment->gso_size = segment->gso_segments = 0;
  segment->gso_type = GsoType::none;
  segment->gso_fixed_id = false;
  const std::size_t begin = headers + index * packet.gso_size;
  const std::size_t end = std::min(begin + packet.gso_size, packet.length());
  if (!segment->append_range(packet, 0, headers) ||
      !segment->append_range(packet, begin, end - begin)) {
    core::consume(std::move(segment));
    return {};
  }
  write_headers(*segment, index, end == packet.length(), packet);
  segment->reach(core::Milestone::segmented, packet.id);
  return segment;
}

bool takes_whole(const Features& features, const DeviceOptions& options,
                 const core::Packet& packet) {
  if (packet.gso_size == 0) return true;
  if (packet.checksum == core::ChecksumState::none) return false;  // needs all new checksums
  if (packet.length() >= options.gso_max_bytes || packet.gso_segments > options.gso_max_segments)
    return false;
  switch (packet.gso_type) {
    case GsoType::tcpv4:
      return features.segmentation && (!packet.gso_fixed_id || features.fixed_id_segmentation);
    case GsoType::udp_l4:
      return features.udp_segmentation;
    case GsoType::tcpv6:
      return features.segmentation;
    case GsoType::none:
      break;
  }
  return false;
}

bool segment(Stack& stack, PacketPtr& packet, core::PacketQueue& into) {
  const std::size_t headers = gso_header_bytes(*packet);
  const std::size_t count = segment_count(*packet);
  if (count < 2 || !packet->make_linear(headers)) return false;
  sched::Cpu& cpu = stack.cpu();
  cpu.charge(Work::gso_segment, static_cast<std::int64_t>(count));
  cpu.charge(Work::packet_alloc, static_cast<std::int64_t>(count));
  cpu.settle();  // the owner may be a socket
  core::PacketQueue segments(count);
  for (std::size_t i = 0; i < count; ++i) {
    PacketPtr piece = cut_segment(*packet, headers, i, core::Origin::segmentation);
    if (!piece) {
      while (PacketPtr made = segments.pop())
        core::consume(std::move(made));  // not accountable for anything yet
      return false;
    }
    (void)segments.push(std::move(piece));
  }
  std::size_t index = 0;
  segments.for_each(
      [&](core::Packet& piece) { piece.account(segment_weight(*packet, headers, index++)); });
  pass_owner_on(*packet, segments);
  stack.allocator().free(std::move(packet), core::Outcome::segmented);
  into.set_bound(std::max(into.bound(), into.size() + count));
  while (PacketPtr piece = segments.pop())
    (void)into.push(std::move(piece));
  cpu.settle();
  return true;
}

}  // namespace tapestry::net
