#include "net/tcp/header.hpp"

#include <algorithm>

#include "core/assert.hpp"
#include "core/bytes.hpp"

namespace tapestry::net::tcp {

namespace {

// Kinds of options.
constexpr std::uint8_t kEnd = 0;
constexpr std::uint8_t kNoOperation = 1;
constexpr std::uint8_t kMss = 2;
constexpr std::uint8_t kWindowScale = 3;
constexpr std::uint8_t kSackPermitted = 4;
constexpr std::uint8_t kSack = 5;
constexpr std::uint8_t kTimestamps = 8;

void parse_option(std::uint8_t kind, std::span<const std::uint8_t> value, Header& header) {
  switch (kind) {
    case kMss:
      if (value.size() == 2 && header.syn) header.mss = core::load_be16(value.data());
      break;
    case kWindowScale:
      if (value.size() != 1 || !header.syn) break;
      header.has_window_scale = true;
      header.window_scale = value[0];
      break;
    case kSackPermitted:
      if (value.empty() && header.syn) header.sack_permitted = true;
      break;
    case kTimestamps:
      if (value.size() != 8) break;
      header.has_timestamps = true;
      header.timestamp = core::load_be32(value.data());
      header.timestamp_echo = core::load_be32(value.data() + 4);
      break;
    case kSack:
      if (value.empty() || value.size() % 8 != 0 || value.size() > 8 * kSacksMax) break;
      header.sacks = static_cast<std::uint8_t>(value.size() / 8);
      for (std::size_t i = 0; i < header.sacks; ++i) {
        header.sack[i] = {{core::load_be32(value.data() + 8 * i)},
                          {core::load_be32(value.data() + 8 * i + 4)}};
      }
      break;
    default:
      break;
  }
}

std::uint8_t flags_of(const Header& header) {
  return static_cast<std::uint8_t>((header.fin ? 1 : 0) | (header.syn ? 2 : 0) |
                                   (header.rst ? 4 : 0) | (header.psh ? 8 : 0) |
                                   (header.ack ? 16 : 0));
}

// The order and padding of tcp_options_write.
void emit_options(const Header& header, std::uint8_t* at) {
  const auto put = [&at](std::uint32_t word) {
    core::store_be32(at, word);
    at += 4;
  };
  const auto word = [](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return a << 24 | b << 16 | c << 8 | d;
  };
  if (header.mss != 0) put(word(kMss, 4, header.mss >> 8, header.mss & 0xffu));
  if (header.has_timestamps) {
    if (header.sack_permitted)
      put(word(kSackPermitted, 2, kTimestamps, 10));
    else
      put(word(kNoOperation, kNoOperation, kTimestamps, 10));
    put(header.timestamp);
    put(header.timestamp_echo);
  } else if (header.sack_permitted) {
    put(word(kNoOperation, kNoOperation, kSackPermitted, 2));
  }
  if (header.has_window_scale) put(word(kNoOperation, kWindowScale, 3, header.window_scale));
  if (header.sacks == 0) return;
  put(word(kNoOperation, kNoOperation, kSack, 2 + 8u * header.sacks));
  for (std::size_t i = 0; i < header.sacks; ++i) {
    put(header.sack[i].first.value);
    put(header.sack[i].end.value);
  }
}

}  // namespace

std::size_t Header::bytes() const {
  std::size_t options = mss != 0 ? 4 : 0;
  options += has_timestamps ? kTimestampBytes : sack_permitted ? 4 : 0;
  options += has_window_scale ? 4 : 0;
  options += sacks != 0 ? 4 + std::size_t{8} * sacks : 0;
  TAPESTRY_ASSERT(options <= kHeaderBytesMax - kHeaderBytes, "40 bytes of options");
  return kHeaderBytes + options;
}

std::size_t header_bytes(const std::uint8_t* bytes) { return std::size_t{bytes[12]} / 16 * 4; }

bool parse(std::span<const std::uint8_t> bytes, Header& header) {
  if (bytes.size() < kHeaderBytes || header_bytes(bytes.data()) != bytes.size()) return false;
  header = Header{};
  header.source = core::load_be16(bytes.data());
  header.destination = core::load_be16(bytes.data() + 2);
  header.sequence = {core::load_be32(bytes.data() + 4)};
  header.acknowledgement = {core::load_be32(bytes.data() + 8)};
  header.window = core::load_be16(bytes.data() + 14);
  const std::uint8_t flags = bytes[13];
  header.fin = (flags & 1) != 0;
  header.syn = (flags & 2) != 0;
  header.rst = (flags & 4) != 0;
  header.psh = (flags & 8) != 0;
  header.ack = (flags & 16) != 0;
  std::size_t at = kHeaderBytes;
  while (at < bytes.size()) {
    const std::uint8_t kind = bytes[at];
    if (kind == kEnd) break;
    if (kind == kNoOperation) {
      ++at;
      continue;
    }
    if (at + 2 > bytes.size()) break;
    const std::size_t length = bytes[at + 1];
    if (length < 2 || at + length > bytes.size()) break;
    parse_option(kind, bytes.subspan(at + 2, length - 2), header);
    at += length;
  }
  return true;
}

void emit(const Header& header, std::span<std::uint8_t> bytes) {
  TAPESTRY_ASSERT(bytes.size() == header.bytes(), "room for the header and its options");
  core::store_be16(bytes.data(), header.source);
  core::store_be16(bytes.data() + 2, header.destination);
  core::store_be32(bytes.data() + 4, header.sequence.value);
  core::store_be32(bytes.data() + 8, header.acknowledgement.value);
  core::store_be16(bytes.data() + 12,
                   static_cast<std::uint16_t>(bytes.size() / 4 << 12 | flags_of(header)));
  core::store_be16(bytes.data() + 14, header.window);
  core::store_be32(bytes.data() + kChecksumOffset, 0);  // and no urgent data
  emit_options(header, bytes.data() + kHeaderBytes);
}

}  // namespace tapestry::net::tcp
