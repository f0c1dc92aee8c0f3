// Ethernet frames of TCP and UDP for tests of offloads: every field can be set, and checksums are
// right unless a test breaks them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "core/packet.hpp"
#include "net/checksum_offload.hpp"
#include "net/headers.hpp"
#include "net/tcp_fields.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests {

inline constexpr std::uint8_t kAckFlag = 0x10;

struct TcpFrame {
  std::uint32_t sequence = 1000;
  std::uint32_t acknowledgment = 77;
  std::uint8_t flags = kAckFlag;
  std::uint16_t window = 512;
  std::uint16_t identification = 5;
  std::uint8_t time_to_live = 64;
  std::uint8_t type_of_service = 0;
  std::uint16_t fragment = net::ipv4::kDontFragment;
  std::uint16_t source_port = 40'000;
  std::vector<std::uint8_t> options{};  // a multiple of 4
  std::size_t payload = 1448;
  std::uint32_t seed = 1;  // of the payload's bytes, by their place in the stream
  Mac from = kPeerMac;
  Mac to = kGuestMac;
  std::uint32_t source = 0x0a000002;  // 10.0.0.2 -> 10.0.0.1
  std::uint32_t destination = 0x0a000001;
};

inline std::uint8_t stream_byte(std::uint32_t place, std::uint32_t seed) {
  return static_cast<std::uint8_t>(place * 2654435761u >> 24 ^ seed * 37);
}

// IPv4 with `total` bytes behind its header.
inline void put_ip(std::span<std::uint8_t> ip, const TcpFrame& frame, std::uint8_t protocol,
                   std::size_t total) {
  namespace v4 = net::ipv4;
  core::store_be16(ip.data(), static_cast<std::uint16_t>(0x4500 | frame.type_of_service));
  core::store_be16(ip.data() + v4::kTotalLength, static_cast<std::uint16_t>(v4::kBytes + total));
  core::store_be16(ip.data() + v4::kIdentification, frame.identification);
  core::store_be16(ip.data() + v4::kFragment, frame.fragment);
  core::store_be16(ip.data() + v4::kTimeToLive,
                   static_cast<std::uint16_t>(frame.time_to_live << 8 | protocol));
  core::store_be16(ip.data() + v4::kChecksum, 0);
  core::store_be32(ip.data() + v4::kSource, frame.source);
  core::store_be32(ip.data() + v4::kDestination, frame.destination);
  core::store_be16(ip.data() + v4::kChecksum, core::internet_checksum(ip));
}

inline core::PacketPtr begin_frame(core::PacketPool& pool, const TcpFrame& frame) {
  core::PacketPtr packet = pool.allocate(core::Origin::stack);
  const std::span<std::uint8_t> header = packet->put(14);
  std::copy(frame.to.begin(), frame.to.end(), header.begin());
  std::copy(frame.from.begin(), frame.from.end(), header.begin() + 6);
  core::store_be16(header.data() + 12, net::ethernet::kIpv4);
  packet->protocol = net::ethernet::kIpv4;
  packet->set_mac_header();
  packet->set_network_header(14);
  return packet;
}

inline void put_payload(core::Packet& packet, std::size_t length, std::uint32_t place,
                        std::uint32_t seed) {
  if (length == 0) return;
  core::PayloadRef payload = packet.pool().allocate_payload(length);
  std::span<std::uint8_t> bytes = payload.writable();
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = stream_byte(place + static_cast<std::uint32_t>(i), seed);
  packet.append_payload(std::move(payload));
  packet.account(length);
}

inline void leave_partial(core::Packet& packet, const TcpFrame& frame, std::uint8_t protocol,
                          std::size_t field) {
  core::InternetChecksum pseudo;
  core::add_ipv4_pseudo_header(pseudo, frame.source, frame.destination, protocol,
                               static_cast<std::uint16_t>(packet.length() - 34));
  core::store_be16(packet.data() + 34 + field, pseudo.sum());
  net::mark_unfinished_checksum(packet, 34, field);
}

// With an unfinished checksum.
inline core::PacketPtr make_partial_tcp(core::PacketPool& pool, const TcpFrame& frame) {
  namespace tcp = net::tcp_fields;
  core::PacketPtr packet = begin_frame(pool, frame);
  const std::size_t header = tcp::kBytes + frame.options.size();
  put_ip(packet->put(20), frame, tcp::kProtocol, header + frame.payload);
  const std::span<std::uint8_t> bytes = packet->put(header);
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  core::store_be16(bytes.data(), frame.source_port);
  core::store_be16(bytes.data() + 2, 5001);
  core::store_be32(bytes.data() + tcp::kSequence, frame.sequence);
  core::store_be32(bytes.data() + tcp::kAcknowledgment, frame.acknowledgment);
  bytes[tcp::kWord] = static_cast<std::uint8_t>(header / 4 << 4);
  bytes[tcp::kFlags] = frame.flags;
  core::store_be16(bytes.data() + 14, frame.window);
  std::copy(frame.options.begin(), frame.options.end(), bytes.begin() + tcp::kBytes);
  packet->set_transport_header(34);
  put_payload(*packet, frame.payload, frame.sequence, frame.seed);
  leave_partial(*packet, frame, tcp::kProtocol, tcp::kChecksum);
  return packet;
}

inline core::PacketPtr make_tcp(core::PacketPool& pool, const TcpFrame& frame) {
  core::PacketPtr packet = make_partial_tcp(pool, frame);
  net::finish_checksum(*packet);
  return packet;
}

// To be cut into segments of `size` bytes.
inline core::PacketPtr make_large_tcp(core::PacketPool& pool, const TcpFrame& frame,
                                      std::uint16_t size) {
  core::PacketPtr packet = make_partial_tcp(pool, frame);
  packet->gso_size = size;
  packet->gso_type = core::GsoType::tcpv4;
  packet->gso_segments = static_cast<std::uint16_t>((frame.payload + size - 1) / size);
  return packet;
}

inline core::PacketPtr make_large_udp(core::PacketPool& pool, const TcpFrame& frame,
                                      std::uint16_t size) {
  core::PacketPtr packet = begin_frame(pool, frame);
  put_ip(packet->put(20), frame, net::ipv4::kUdp, net::udp::kBytes + frame.payload);
  const std::span<std::uint8_t> bytes = packet->put(net::udp::kBytes);
  core::store_be16(bytes.data(), frame.source_port);
  core::store_be16(bytes.data() + 2, 5001);
  core::store_be16(bytes.data() + net::udp::kLength,
                   static_cast<std::uint16_t>(net::udp::kBytes + frame.payload));
  packet->set_transport_header(34);
  put_payload(*packet, frame.payload, frame.sequence, frame.seed);
  leave_partial(*packet, frame, net::ipv4::kUdp, net::udp::kChecksum);
  packet->gso_size = size;
  packet->gso_type = core::GsoType::udp_l4;
  packet->gso_segments = static_cast<std::uint16_t>((frame.payload + size - 1) / size);
  return packet;
}

// The bytes of a frame, read by field.
struct TcpView {
  explicit TcpView(std::vector<std::uint8_t> of) : bytes(std::move(of)) {}
  explicit TcpView(const core::Packet& packet) : TcpView(bytes_of(packet)) {}

  std::uint16_t be16(std::size_t at) const { return core::load_be16(bytes.data() + at); }
  std::uint32_t be32(std::size_t at) const { return core::load_be32(bytes.data() + at); }
  std::uint16_t total_length() const { return be16(16); }
  std::uint16_t identification() const { return be16(18); }
  bool ip_checksum_is_right() const {
    return core::internet_checksum({bytes.data() + 14, 20}) == 0;
  }
  std::uint32_t sequence() const { return be32(38); }
  std::uint8_t flags() const { return bytes[47]; }
  std::size_t header_bytes() const { return 34 + (bytes[46] >> 4) * std::size_t{4}; }
  std::size_t payload() const { return bytes.size() - header_bytes(); }
  bool checksum_is_right() const {
    core::InternetChecksum sum;
    core::add_ipv4_pseudo_header(sum, be32(26), be32(30), bytes[23],
                                 static_cast<std::uint16_t>(bytes.size() - 34));
    sum.add({bytes.data() + 34, bytes.size() - 34});
    return sum.finish() == 0;
  }
  bool payload_is_of_stream(std::uint32_t seed) const {
    for (std::size_t i = header_bytes(); i < bytes.size(); ++i) {
      const auto place = sequence() + static_cast<std::uint32_t>(i - header_bytes());
      if (bytes[i] != stream_byte(place, seed)) return false;
    }
    return true;
  }

  std::vector<std::uint8_t> bytes;
};

}  // namespace tapestry::tests
