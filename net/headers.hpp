// Where the fields of the headers are that this stack reads and writes, in bytes from the front of
// each header (IEEE 802.3, RFC 826, 791, 792, 768).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapestry::net {

namespace ethernet {
inline constexpr std::size_t kBytes = 14;
inline constexpr std::size_t kDestination = 0;
inline constexpr std::size_t kSource = 6;
inline constexpr std::size_t kType = 12;
inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr std::uint16_t kArp = 0x0806;
}  // namespace ethernet

namespace arp {
inline constexpr std::size_t kBytes = 28;
inline constexpr std::size_t kOperation = 6;
inline constexpr std::size_t kSenderMac = 8;
inline constexpr std::size_t kSenderAddress = 14;
inline constexpr std::size_t kTargetMac = 18;
inline constexpr std::size_t kTargetAddress = 24;
// Ethernet, IPv4, 6 and 4 bytes: the first eight bytes but the operation.
inline constexpr std::uint32_t kEthernetAndIpv4 = 0x0001'0800;
inline constexpr std::uint16_t kLengths = 0x0604;
inline constexpr std::uint16_t kRequest = 1;
inline constexpr std::uint16_t kReply = 2;
}  // namespace arp

namespace ipv4 {
inline constexpr std::size_t kBytes = 20;  // without options
inline constexpr std::size_t kTypeOfService = 1;
inline constexpr std::size_t kTotalLength = 2;
inline constexpr std::size_t kIdentification = 4;
inline constexpr std::size_t kFragment = 6;
inline constexpr std::size_t kTimeToLive = 8;
inline constexpr std::size_t kProtocol = 9;
inline constexpr std::size_t kChecksum = 10;
inline constexpr std::size_t kSource = 12;
inline constexpr std::size_t kDestination = 16;
inline constexpr std::uint16_t kDontFragment = 0x4000;
inline constexpr std::uint16_t kMoreFragments = 0x2000;
inline constexpr std::uint16_t kOffsetMask = 0x1fff;  // in units of 8 bytes
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::size_t kPacketMax = 65535;
}  // namespace ipv4

namespace icmp {
inline constexpr std::size_t kBytes = 8;
inline constexpr std::size_t kType = 0;
inline constexpr std::size_t kCode = 1;
inline constexpr std::size_t kChecksum = 2;
inline constexpr std::size_t kIdentifier = 4;
inline constexpr std::size_t kSequence = 6;
inline constexpr std::uint8_t kEchoReply = 0;
inline constexpr std::uint8_t kUnreachable = 3;
inline constexpr std::uint8_t kEchoRequest = 8;
inline constexpr std::uint8_t kNetworkUnreachable = 0;  // codes of kUnreachable
inline constexpr std::uint8_t kHostUnreachable = 1;
inline constexpr std::uint8_t kProtocolUnreachable = 2;
inline constexpr std::uint8_t kPortUnreachable = 3;
}  // namespace icmp

namespace udp {
inline constexpr std::size_t kBytes = 8;
inline constexpr std::size_t kSource = 0;
inline constexpr std::size_t kDestination = 2;
inline constexpr std::size_t kLength = 4;
inline constexpr std::size_t kChecksum = 6;
// What fits an IPv4 packet: 65,535 - 20 - 8.
inline constexpr std::size_t kPayloadMax = ipv4::kPacketMax - ipv4::kBytes - kBytes;
}  // namespace udp

// The headers of an Ethernet frame that this stack looks into: the same for ARP, ICMP and UDP.
inline constexpr std::size_t kHeadersBytes = ethernet::kBytes + ipv4::kBytes + udp::kBytes;
static_assert(kHeadersBytes == ethernet::kBytes + arp::kBytes);

}  // namespace tapestry::net
