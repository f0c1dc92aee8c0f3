// The TCP header with its options, as bytes and as numbers (RFC 9293, 7323, 2018).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/tcp/sequence.hpp"

namespace tapestry::net::tcp {

inline constexpr std::size_t kHeaderBytes = 20;  // without options
inline constexpr std::size_t kHeaderBytesMax = 60;
inline constexpr std::size_t kChecksumOffset = 16;   // of the checksum field
inline constexpr std::size_t kTimestampBytes = 12;   // with two bytes of padding
inline constexpr std::uint8_t kWindowScaleMax = 14;  // RFC 7323, section 2.3
inline constexpr std::uint32_t kMssDefault = 536;    // of a peer that says nothing
inline constexpr std::uint32_t kMssLeast = 48;       // TCP_MIN_SND_MSS: room beside all options
inline constexpr std::size_t kSacksMax = 4;

struct Header {
  std::uint16_t source = 0;
  std::uint16_t destination = 0;
  Sequence sequence;
  Sequence acknowledgement;
  std::uint16_t window = 0;  // as on the wire, unscaled
  bool fin = false, syn = false, rst = false, psh = false, ack = false;

  std::uint16_t mss = 0;  // 0: no such option
  bool has_window_scale = false;
  std::uint8_t window_scale = 0;  // what the wire says, perhaps beyond 14
  bool sack_permitted = false;
  bool has_timestamps = false;
  std::uint32_t timestamp = 0;
  std::uint32_t timestamp_echo = 0;
  std::uint8_t sacks = 0;  // how many of the following there are
  std::array<Range, kSacksMax> sack{};

  // Bytes of the header with these options: a multiple of 4.
  std::size_t bytes() const;
};

// Reads a header of exactly bytes.size() bytes. False if there is no such header: shorter than its
// own length says. Options that make no sense end the list, as in Linux.
bool parse(std::span<const std::uint8_t> bytes, Header& header);

// How long the header is that begins here; at least 20 bytes must be there. Below 20: not one.
std::size_t header_bytes(const std::uint8_t* bytes);

// Writes header.bytes() bytes. The checksum field is 0.
void emit(const Header& header, std::span<std::uint8_t> bytes);

}  // namespace tapestry::net::tcp
