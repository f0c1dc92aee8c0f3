// Where the fields of a TCP header are that offloads look at or change, in bytes from its front
// (RFC 9293). TCP itself is above; this is what segmentation and merging need to know of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapestry::net::tcp_fields {

inline constexpr std::uint8_t kProtocol = 6;
inline constexpr std::size_t kBytes = 20;     // without options
inline constexpr std::size_t kBytesMax = 60;  // with as many as the offset can tell of
inline constexpr std::size_t kPorts = 0;      // both, as one word
inline constexpr std::size_t kSequence = 4;
inline constexpr std::size_t kAcknowledgment = 8;
inline constexpr std::size_t kWord = 12;  // data offset, flags and window, as one word
inline constexpr std::size_t kFlags = 13;
inline constexpr std::size_t kChecksum = 16;

inline constexpr std::uint8_t kFin = 0x01;
inline constexpr std::uint8_t kSyn = 0x02;
inline constexpr std::uint8_t kRst = 0x04;
inline constexpr std::uint8_t kPsh = 0x08;
inline constexpr std::uint8_t kUrg = 0x20;
inline constexpr std::uint8_t kCwr = 0x80;

}  // namespace tapestry::net::tcp_fields
