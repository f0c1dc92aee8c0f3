// Ethernet frames for tests: numbered, with bytes that give a mix-up away.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.hpp"

namespace tapestry::tests {

using Mac = std::array<std::uint8_t, 6>;

inline constexpr Mac kGuestMac{0x02, 0x54, 0, 0, 0, 1};
inline constexpr Mac kPeerMac{0x02, 0x54, 0, 0, 0, 2};

// A frame of `length` bytes (at least 18) of the local experimental ethertype 0x88b5: its number in
// the first four bytes behind the header, then bytes that depend on number and place. All but the
// header is its weight, and lies in payload.
inline core::PacketPtr make_frame(core::PacketPool& pool, std::uint32_t number,
                                  std::size_t length = 60, Mac from = kPeerMac,
                                  Mac to = kGuestMac) {
  core::PacketPtr packet = pool.allocate(core::Origin::stack);
  const std::span<std::uint8_t> header = packet->put(14);
  std::copy(to.begin(), to.end(), header.begin());
  std::copy(from.begin(), from.end(), header.begin() + 6);
  header[12] = 0x88;
  header[13] = 0xb5;
  core::PayloadRef payload = pool.allocate_payload(length - 14);
  const std::span<std::uint8_t> bytes = payload.writable();
  for (std::size_t i = 0; i < 4; ++i)
    bytes[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  for (std::size_t i = 4; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(number * 31 + i);
  packet->append_payload(std::move(payload));
  packet->account(length - 14);
  packet->protocol = 0x88b5;
  packet->flow = number;
  packet->set_mac_header();
  packet->set_network_header(14);
  return packet;
}

inline std::vector<std::uint8_t> bytes_of(const core::Packet& packet) {
  std::vector<std::uint8_t> bytes(packet.length());
  packet.copy_out(0, bytes);
  return bytes;
}

// The number that make_frame put in.
inline std::uint32_t number_of(const core::Packet& packet) {
  std::array<std::uint8_t, 4> bytes{};
  packet.copy_out(14, bytes);
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace tapestry::tests
