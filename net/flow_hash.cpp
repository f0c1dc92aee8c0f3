#include "net/flow_hash.hpp"

#include <array>

#include "core/bytes.hpp"
#include "net/headers.hpp"
#include "net/tcp_fields.hpp"

namespace tapestry::net {

namespace {

// The finisher of SplitMix64.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

std::uint32_t flow_hash(const core::Packet& frame) {
  constexpr std::size_t kFixed = ethernet::kBytes + ipv4::kBytes;
  std::array<std::uint8_t, kFixed + 4> bytes{};
  if (frame.length() < bytes.size()) return 0;
  frame.copy_out(0, bytes);
  const std::uint8_t* ip = bytes.data() + ethernet::kBytes;
  if (core::load_be16(bytes.data() + ethernet::kType) != ethernet::kIpv4) return 0;
  std::uint64_t hash = mixed(core::load_be64(ip + ipv4::kSource));
  const std::uint8_t protocol = ip[ipv4::kProtocol];
  const bool has_ports = (ip[0] == 0x45) &&
                         (protocol == tcp_fields::kProtocol || protocol == ipv4::kUdp) &&
                         (core::load_be16(ip + ipv4::kFragment) & ~ipv4::kDontFragment) == 0;
  if (has_ports) hash = mixed(hash ^ core::load_be32(bytes.data() + kFixed));
  const auto folded = static_cast<std::uint32_t>(hash ^ hash >> 32);
  return folded != 0 ? folded : 1;
}

}  // namespace tapestry::net
