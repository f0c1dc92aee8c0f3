// Addresses of link and network layer, in host order, printed as everybody prints them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace tapestry::net {

struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};
  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;
  bool is_broadcast() const { return *this == broadcast(); }
  bool is_multicast() const { return (bytes[0] & 1) != 0; }
  std::string text() const;  // "02:00:00:00:00:01"
  static constexpr MacAddress broadcast() { return {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}; }
  static MacAddress local(std::uint32_t number);  // 02:54:xx:xx:xx:xx, locally administered
};

struct Ipv4Address {
  std::uint32_t value = 0;  // host order
  friend auto operator<=>(const Ipv4Address&, const Ipv4Address&) = default;
  bool is_any() const { return value == 0; }
  bool is_broadcast() const { return value == 0xffffffff; }
  bool is_multicast() const { return (value >> 28) == 0xe; }
  std::string text() const;  // "10.77.0.1"
};

// One end of a UDP socket or a TCP connection.
struct Endpoint {
  Ipv4Address address;
  std::uint16_t port = 0;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

struct Ipv4Prefix {
  Ipv4Address address;
  int length = 24;  // 0 .. 32
  bool contains(Ipv4Address other) const { return ((address.value ^ other.value) & mask()) == 0; }
  // The last address of the prefix. Prefixes of 31 and 32 bits have none (RFC 3021).
  bool is_broadcast(Ipv4Address other) const {
    return length < 31 && other.value == (address.value | ~mask());
  }

 private:
  std::uint32_t mask() const { return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length); }
};

}  // namespace tapestry::net
