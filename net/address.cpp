#include "net/address.hpp"

namespace tapestry::net {

std::string MacAddress::text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

MacAddress MacAddress::local(std::uint32_t number) {
  return {{0x02, 0x54, static_cast<std::uint8_t>(number >> 24),
           static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
           static_cast<std::uint8_t>(number)}};
}

std::string Ipv4Address::text() const {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += std::to_string(value >> shift & 0xff);
    if (shift != 0) text += '.';
  }
  return text;
}

}  // namespace tapestry::net
