// Addresses as a scenario writes them: 10.77.0.1, 10.77.0.1/24, 3e:30:db:47:2a:7a.
#pragma once

#include <optional>
#include <string_view>

#include "net/address.hpp"

namespace tapestry::app {

// Exactly four decimal numbers 0..255 without leading zeros; a prefix length 0..32 without leading
// zeros; six pairs of hexadecimal digits joined by colons. Anything else is nothing.
std::optional<net::Ipv4Address> parse_ipv4_address(std::string_view text);
std::optional<net::Ipv4Prefix> parse_ipv4_prefix(std::string_view text);
std::optional<net::MacAddress> parse_mac_address(std::string_view text);

}  // namespace tapestry::app
