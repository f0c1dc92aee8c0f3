// The Internet checksum (RFC 1071): the ones' complement of the ones' complement sum of 16-bit
// words.
//
// The sum is associative and does not care about byte order, so that it is taken 64 bits at a time
// in the machine's own order and turned around once at the end. Pieces may be added at any length,
// odd ones too: a piece that starts at an odd place has its bytes' roles exchanged, which is a
// rotation of its sum by 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tapestry::core {

class Packet;

class InternetChecksum {
 public:
  // The next bytes of the covered data.
  void add(std::span<const std::uint8_t> bytes);

  // One word in host order, as if it stood big-endian at an even place (pseudo headers).
  void add_word(std::uint16_t word);

  // The folded sum, not complemented, in host order: what a sender leaves in the checksum field for
  // an offload to complete ("partial").
  std::uint16_t sum() const;

  // The checksum, in host order: store it big-endian. Over data that holds a right checksum it is
  // 0.
  std::uint16_t finish() const { return static_cast<std::uint16_t>(~sum()); }

 private:
  std::uint64_t total_ = 0;  // in the machine's byte order; each addition is below 2^16
  bool odd_ = false;         // an odd number of bytes was added so far
};

std::uint16_t internet_checksum(std::span<const std::uint8_t> bytes);

// Over `length` bytes of a packet from `offset` (counted from its front), on top of what was added.
void add_packet_range(InternetChecksum& checksum, const Packet& packet, std::size_t offset,
                      std::size_t length);

// The pseudo header of UDP and TCP over IPv4 (RFC 768): addresses in host order, length of the
// transport header and its data.
void add_ipv4_pseudo_header(InternetChecksum& checksum, std::uint32_t source,
                            std::uint32_t destination, std::uint8_t protocol, std::uint16_t length);

// The checksum after one word under it changed from `before` to `now` (RFC 1624, equation 3).
// All in host order.
std::uint16_t replaced_word(std::uint16_t checksum, std::uint16_t before, std::uint16_t now);

}  // namespace tapestry::core
