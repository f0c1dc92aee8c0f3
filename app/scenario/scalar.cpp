// Strict reading of single values.
#include "app/scenario/scalar.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "app/scenario/value.hpp"

namespace tapestry::app {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

core::Error not_a(std::string_view text, std::string_view what) {
  return core::Error{quote(text) + " is not " + std::string(what)};
}

}  // namespace

core::Result<std::uint64_t> parse_count(std::string_view text) {
  if (!is_digits(text)) return not_a(text, "a whole number without unit");
  if (text.size() > 1 && text.front() == '0') return not_a(text, "a number without leading zeros");
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) return core::Error{quote(text) + " is too large"};
  return count;
}

core::Result<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::size_t first_digit = text.find_first_not_of('-');
  const bool starts_well = first_digit <= 1 && text[first_digit] >= '0' && text[first_digit] <= '9';
  if (!starts_well || end != text.data() + text.size()) return not_a(text, "a number");
  if (error != std::errc{} || !std::isfinite(number))
    return core::Error{quote(text) + " is too large"};
  return number;
}

core::Result<bool> Scalar<bool>::parse(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return not_a(text, "true or false");
}

core::Result<int> Scalar<int>::parse(std::string_view text) {
  const auto count = parse_count(text);
  if (!count) return count.error();
  if (*count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return core::Error{quote(text) + " is too large"};
  }
  return static_cast<int>(*count);
}

core::Result<Share> Scalar<Share>::parse(std::string_view text) {
  const auto parts = core::parse_percent(text);
  if (!parts) return parts.error();
  return Share{*parts};
}

core::Result<Factor> Scalar<Factor>::parse(std::string_view text) {
  constexpr std::size_t kDecimals = 6;
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals = dot == std::string_view::npos ? "0" : text.substr(dot + 1);
  if (!is_digits(whole) || !is_digits(decimals) || decimals.size() > kDecimals ||
      whole.size() > 6) {
    return not_a(text, "a factor such as 2 or 0.25, with six decimals at most");
  }
  std::string digits = std::string(whole) + std::string(decimals);
  digits.append(kDecimals - decimals.size(), '0');
  Factor factor{0};
  std::from_chars(digits.data(), digits.data() + digits.size(), factor.millionths);
  if (factor.millionths == 0) return core::Error{"a factor is greater than 0"};
  return factor;
}

core::Result<net::Ipv4Prefix> Scalar<net::Ipv4Prefix>::parse(std::string_view text) {
  const auto prefix = parse_ipv4_prefix(text);
  if (!prefix) return not_a(text, "an IPv4 address with prefix length, such as 10.77.0.1/24");
  const std::uint32_t value = prefix->address.value;
  if (value >> 28 == 0xe) return core::Error{quote(text) + " is a multicast address"};
  if (value >> 28 == 0xf || value >> 24 == 0 || value >> 24 == 127) {
    return core::Error{quote(text) + " cannot be the address of a device"};
  }
  const std::uint32_t host_mask =
      prefix->length >= 31 ? 0 : std::numeric_limits<std::uint32_t>::max() >> prefix->length;
  if (host_mask != 0 && ((value & host_mask) == 0 || (value & host_mask) == host_mask)) {
    return core::Error{quote(text) + " is the network's or its broadcast address"};
  }
  return *prefix;
}

core::Result<net::MacAddress> Scalar<net::MacAddress>::parse(std::string_view text) {
  const auto address = parse_mac_address(text);
  if (!address) return not_a(text, "a MAC address such as 3e:30:db:47:2a:7a");
  if (address->is_multicast()) return core::Error{quote(text) + " is a multicast address"};
  if (*address == net::MacAddress{}) return core::Error{quote(text) + " is no address of a device"};
  return *address;
}

}  // namespace tapestry::app
