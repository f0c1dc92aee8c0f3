// From one scalar of the tree to one value of a C++ type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "app/scenario/address.hpp"
#include "app/scenario/attribute.hpp"
#include "app/scenario/scenario.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace tapestry::app {

// A whole number in decimal digits, without sign, unit, leading zero or exponent.
core::Result<std::uint64_t> parse_count(std::string_view text);

// A decimal number as JSON has it, finite: 22097, 1.5, -3e9. The dot is a dot in every locale.
core::Result<double> parse_number(std::string_view text);

// What a member of type T is called in a scenario, and how it is read. Ranges are checked
// elsewhere.
template <class T>
struct Scalar;

template <>
struct Scalar<std::string> {
  static constexpr AttributeType kType = AttributeType::text;
  static core::Result<std::string> parse(std::string_view text) { return std::string(text); }
};

template <>
struct Scalar<bool> {
  static constexpr AttributeType kType = AttributeType::flag;
  static core::Result<bool> parse(std::string_view text);
};

template <>
struct Scalar<int> {
  static constexpr AttributeType kType = AttributeType::count;
  static core::Result<int> parse(std::string_view text);
};

template <>
struct Scalar<std::uint64_t> {
  static constexpr AttributeType kType = AttributeType::count;
  static core::Result<std::uint64_t> parse(std::string_view text) { return parse_count(text); }
};

template <>
struct Scalar<double> {
  static constexpr AttributeType kType = AttributeType::number;
  static core::Result<double> parse(std::string_view text) { return parse_number(text); }
};

template <>
struct Scalar<core::Nanos> {
  static constexpr AttributeType kType = AttributeType::duration;
  static core::Result<core::Nanos> parse(std::string_view text) {
    return core::parse_duration(text);
  }
};

template <>
struct Scalar<core::Bytes> {
  static constexpr AttributeType kType = AttributeType::size;
  static core::Result<core::Bytes> parse(std::string_view text) { return core::parse_size(text); }
};

template <>
struct Scalar<core::BitRate> {
  static constexpr AttributeType kType = AttributeType::rate;
  static core::Result<core::BitRate> parse(std::string_view text) { return core::parse_rate(text); }
};

template <>
struct Scalar<Share> {
  static constexpr AttributeType kType = AttributeType::percent;
  static core::Result<Share> parse(std::string_view text);
};

template <>
struct Scalar<Factor> {
  static constexpr AttributeType kType = AttributeType::number;
  static core::Result<Factor> parse(std::string_view text);  // at most six decimals, greater than 0
};

template <>
struct Scalar<net::Ipv4Prefix> {
  static constexpr AttributeType kType = AttributeType::prefix;
  static core::Result<net::Ipv4Prefix> parse(std::string_view text);
};

template <>
struct Scalar<net::MacAddress> {
  static constexpr AttributeType kType = AttributeType::mac;
  static core::Result<net::MacAddress> parse(std::string_view text);
};

// Whether a range can be declared for members of type T.
template <class T>
inline constexpr bool kHasRange =
    !std::is_same_v<T, std::string> && !std::is_same_v<T, bool> &&
    !std::is_same_v<T, net::Ipv4Prefix> && !std::is_same_v<T, net::MacAddress>;

inline bool less(const Share& a, const Share& b) {
  return a.parts_per_billion < b.parts_per_billion;
}
inline bool less(const Factor& a, const Factor& b) { return a.millionths < b.millionths; }
template <class T>
bool less(const T& a, const T& b) {
  return a < b;
}

}  // namespace tapestry::app
