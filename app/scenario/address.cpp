// Reading addresses: strict, because 010.1.1.1 means two things to two programs.
#include "app/scenario/address.hpp"

#include <charconv>

namespace tapestry::app {
namespace {

// A decimal number 0..most at the front of `text`, which is shortened by it. No sign, no leading
// zero.
std::optional<std::uint32_t> take_number(std::string_view& text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || number > most) return std::nullopt;
  if (length > 1 && text.front() == '0') return std::nullopt;
  text.remove_prefix(length);
  return number;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<net::Ipv4Address> take_ipv4_address(std::string_view& text) {
  std::uint32_t value = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !take(text, '.')) return std::nullopt;
    const auto number = take_number(text, 255);
    if (!number) return std::nullopt;
    value = value << 8 | *number;
  }
  return net::Ipv4Address{value};
}

}  // namespace

std::optional<net::Ipv4Address> parse_ipv4_address(std::string_view text) {
  const auto address = take_ipv4_address(text);
  return text.empty() ? address : std::nullopt;
}

std::optional<net::Ipv4Prefix> parse_ipv4_prefix(std::string_view text) {
  const auto address = take_ipv4_address(text);
  if (!address || !take(text, '/')) return std::nullopt;
  const auto length = take_number(text, 32);
  if (!length || !text.empty()) return std::nullopt;
  return net::Ipv4Prefix{*address, static_cast<int>(*length)};
}

std::optional<net::MacAddress> parse_mac_address(std::string_view text) {
  net::MacAddress address;
  if (text.size() != 17) return std::nullopt;
  for (std::size_t part = 0; part < address.bytes.size(); ++part) {
    if (part > 0 && text[3 * part - 1] != ':') return std::nullopt;
    const char* const begin = text.data() + 3 * part;
    const auto [end, error] = std::from_chars(begin, begin + 2, address.bytes[part], 16);
    if (error != std::errc{} || end != begin + 2) return std::nullopt;
  }
  return address;
}

}  // namespace tapestry::app
