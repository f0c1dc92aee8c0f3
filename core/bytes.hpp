// Numbers in network byte order, at any alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace tapestry::core {

namespace detail {

constexpr std::uint8_t byteswap(std::uint8_t value) { return value; }
constexpr std::uint16_t byteswap(std::uint16_t value) { return __builtin_bswap16(value); }
constexpr std::uint32_t byteswap(std::uint32_t value) { return __builtin_bswap32(value); }
constexpr std::uint64_t byteswap(std::uint64_t value) { return __builtin_bswap64(value); }

template <class Number>
Number load(const void* from) {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Number>
void store(void* to, Number value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace detail

template <class Number>
constexpr Number big_endian(Number value) {
  return std::endian::native == std::endian::big ? value : detail::byteswap(value);
}

template <class Number>
constexpr Number little_endian(Number value) {
  return std::endian::native == std::endian::little ? value : detail::byteswap(value);
}

inline std::uint16_t load_be16(const void* from) {
  return big_endian(detail::load<std::uint16_t>(from));
}
inline std::uint32_t load_be32(const void* from) {
  return big_endian(detail::load<std::uint32_t>(from));
}
inline std::uint64_t load_be64(const void* from) {
  return big_endian(detail::load<std::uint64_t>(from));
}

inline void store_be16(void* to, std::uint16_t value) { detail::store(to, big_endian(value)); }
inline void store_be32(void* to, std::uint32_t value) { detail::store(to, big_endian(value)); }
inline void store_be64(void* to, std::uint64_t value) { detail::store(to, big_endian(value)); }

inline std::uint16_t load_le16(const void* from) {
  return little_endian(detail::load<std::uint16_t>(from));
}
inline std::uint32_t load_le32(const void* from) {
  return little_endian(detail::load<std::uint32_t>(from));
}
inline std::uint64_t load_le64(const void* from) {
  return little_endian(detail::load<std::uint64_t>(from));
}

inline void store_le16(void* to, std::uint16_t value) { detail::store(to, little_endian(value)); }
inline void store_le32(void* to, std::uint32_t value) { detail::store(to, little_endian(value)); }
inline void store_le64(void* to, std::uint64_t value) { detail::store(to, little_endian(value)); }

}  // namespace tapestry::core
