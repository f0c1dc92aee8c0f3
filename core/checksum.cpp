#include "core/checksum.hpp"

#include <cstring>

#include "core/bytes.hpp"
#include "core/packet.hpp"

namespace tapestry::core {

namespace {

// Four 64-bit lanes; the compiler maps them to whatever the machine has.
using Lanes = std::uint64_t __attribute__((vector_size(32)));

constexpr std::uint16_t fold(std::uint64_t total) {
  total = (total >> 32) + (total & 0xffff'ffff);
  total = (total >> 32) + (total & 0xffff'ffff);
  total = (total >> 16) + (total & 0xffff);
  total = (total >> 16) + (total & 0xffff);
  total = (total >> 16) + (total & 0xffff);
  return static_cast<std::uint16_t>(total);
}

// The sum of 32-bit words in the machine's order, not folded. Lanes take the upper and lower halves
// apart, so that they cannot overflow below 16 GiB. The last odd bytes count as if zeros followed.
[[gnu::always_inline]] inline std::uint64_t sum_words(const std::uint8_t* bytes,
                                                      std::size_t length) {
  constexpr std::uint64_t kLower = 0xffff'ffff;
  std::uint64_t total = 0;
  if (length >= 64) {
    Lanes lower{};
    Lanes upper{};
    for (; length >= 64; bytes += 64, length -= 64) {
      Lanes first;
      Lanes second;
      std::memcpy(&first, bytes, sizeof first);
      std::memcpy(&second, bytes + sizeof first, sizeof second);
      lower += (first & kLower) + (second & kLower);
      upper += (first >> 32) + (second >> 32);
    }
    const Lanes both = lower + upper;
    total = both[0] + both[1] + both[2] + both[3];
  }
  for (; length >= 8; bytes += 8, length -= 8) {
    const auto word = detail::load<std::uint64_t>(bytes);
    total += (word & kLower) + (word >> 32);
  }
  if (length != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, length);
    total += (word & kLower) + (word >> 32);
  }
  return total;
}

std::uint64_t sum_words_anywhere(const std::uint8_t* bytes, std::size_t length) {
  return sum_words(bytes, length);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] std::uint64_t sum_words_avx2(const std::uint8_t* bytes,
                                                     std::size_t length) {
  return sum_words(bytes, length);
}

bool machine_has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}

const auto sum_words_best = machine_has_avx2() ? sum_words_avx2 : sum_words_anywhere;
#else
const auto sum_words_best = sum_words_anywhere;
#endif

}  // namespace

void InternetChecksum::add(std::span<const std::uint8_t> bytes) {
  std::uint16_t part = fold(sum_words_best(bytes.data(), bytes.size()));
  if (odd_) part = __builtin_bswap16(part);
  total_ += part;
  odd_ = odd_ != (bytes.size() % 2 != 0);
}

void InternetChecksum::add_word(std::uint16_t word) { total_ += big_endian(word); }

std::uint16_t InternetChecksum::sum() const { return big_endian(fold(total_)); }

std::uint16_t internet_checksum(std::span<const std::uint8_t> bytes) {
  InternetChecksum checksum;
  checksum.add(bytes);
  return checksum.finish();
}

void add_packet_range(InternetChecksum& checksum, const Packet& packet, std::size_t offset,
                      std::size_t length) {
  packet.for_each_piece(offset, length,
                        [&checksum](std::span<const std::uint8_t> piece) { checksum.add(piece); });
}

void add_ipv4_pseudo_header(InternetChecksum& checksum, std::uint32_t source,
                            std::uint32_t destination, std::uint8_t protocol,
                            std::uint16_t length) {
  checksum.add_word(static_cast<std::uint16_t>(source >> 16));
  checksum.add_word(static_cast<std::uint16_t>(source));
  checksum.add_word(static_cast<std::uint16_t>(destination >> 16));
  checksum.add_word(static_cast<std::uint16_t>(destination));
  checksum.add_word(protocol);
  checksum.add_word(length);
}

std::uint16_t replaced_word(std::uint16_t checksum, std::uint16_t before, std::uint16_t now) {
  const std::uint32_t sum = static_cast<std::uint16_t>(~checksum) +
                            static_cast<std::uint32_t>(static_cast<std::uint16_t>(~before)) + now;
  return static_cast<std::uint16_t>(~fold(sum));
}

}  // namespace tapestry::core
