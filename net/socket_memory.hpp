// How much memory a socket is charged for a packet (skb->truesize).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tapestry::net {

inline constexpr std::size_t kPacketStructBytes = 256;  // struct sk_buff, rounded to cache lines
inline constexpr std::size_t kSharedInfoBytes = 320;    // struct skb_shared_info behind the data
inline constexpr std::size_t kHeadroomBytes = 64;       // NET_SKB_PAD, or headers of lower layers
inline constexpr std::size_t kSlabObjectMax = 8192;     // the largest kmalloc cache
inline constexpr std::size_t kPageBytes = 4096;

// SKB_TRUESIZE as kmalloc makes it: packet and headroom in cache lines and the shared info, in an
// object of a power of two, or beyond those in whole pages; and the struct. A full Ethernet frame
// of 1,514 bytes counts 2,304, one of 64 bytes 768.
constexpr std::uint32_t socket_memory_bytes(std::size_t packet_length) {
  const std::size_t data = (packet_length + kHeadroomBytes + 63) / 64 * 64 + kSharedInfoBytes;
  const std::size_t object = data <= kSlabObjectMax
                                 ? std::bit_ceil(data)
                                 : (data + kPageBytes - 1) / kPageBytes * kPageBytes;
  return static_cast<std::uint32_t>(object + kPacketStructBytes);
}

static_assert(socket_memory_bytes(1514) == 2304 && socket_memory_bytes(64) == 768);

}  // namespace tapestry::net
