// The Internet checksum against its definition: 16-bit words, one after the other.

#include "core/checksum.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "core/bytes.hpp"
#include "core/packet.hpp"
#include "tests/core/property.hpp"

namespace tapestry::tests::checksum_test {

namespace {

using core::InternetChecksum;
using Data = std::vector<std::uint8_t>;

// RFC 1071 as it reads.
std::uint16_t by_definition(const Data& data) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < data.size(); i += 2) {
    const std::uint32_t second = i + 1 < data.size() ? data[i + 1] : 0u;
    sum += data[i] * 256u + second;
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum);
}

Data counted(std::size_t length) {
  Data data(length);
  std::iota(data.begin(), data.end(), std::uint8_t{1});
  return data;
}

}  // namespace

TEST_CASE("the checksum of RFC 1071's example is what the RFC says", "[core][checksum]") {
  const Data data{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  InternetChecksum checksum;
  checksum.add(data);
  CHECK(checksum.sum() == 0xddf2);
  CHECK(checksum.finish() == 0x220d);
}

TEST_CASE("a captured IPv4 header checks out", "[core][checksum]") {
  const Data header{0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                    0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
  CHECK(core::internet_checksum(header) == 0);
}

TEST_CASE("any length and content, in any pieces, gives what the definition gives",
          "[core][checksum]") {
  for_all(
      [](const Data& some, std::uint16_t repeat) {
        Data data;
        for (int i = 0; i <= repeat % 64; ++i)
          data.insert(data.end(), some.begin(), some.end());
        RC_ASSERT(core::internet_checksum(data) == by_definition(data));
        InternetChecksum in_pieces;
        std::size_t at = 0;
        while (at < data.size()) {
          const std::size_t piece = *rc::gen::inRange<std::size_t>(1, data.size() - at + 1);
          in_pieces.add(std::span(data).subspan(at, piece));
          at += piece;
        }
        RC_ASSERT(in_pieces.finish() == by_definition(data));
      },
      500);
}

TEST_CASE("all ones do not overflow, at any length around a vector's", "[core][checksum]") {
  for (std::size_t length = 0; length < 300; ++length) {
    const Data data(length, 0xff);
    CHECK(core::internet_checksum(data) == by_definition(data));
  }
  const Data large(65'535, 0xff);
  CHECK(core::internet_checksum(large) == by_definition(large));
}

TEST_CASE("a range of a packet is summed across its pieces", "[core][checksum]") {
  core::PacketPool pool;
  core::PacketPtr packet = pool.allocate(core::Origin::stack);
  const Data data = counted(2501);
  std::ranges::copy(std::span(data).first(101), packet->put(101).begin());
  for (const auto& [from, length] : {std::pair{101, 1399}, {1500, 1001}}) {
    core::PayloadRef payload = pool.allocate_payload(static_cast<std::size_t>(length));
    std::copy_n(data.begin() + from, length, payload.writable().begin());
    packet->append_payload(std::move(payload));
  }
  InternetChecksum checksum;
  core::add_packet_range(checksum, *packet, 7, 2400);
  CHECK(checksum.finish() == by_definition(Data(data.begin() + 7, data.begin() + 2407)));
  deliver(std::move(packet));
}

TEST_CASE("a UDP datagram checks out under its pseudo header", "[core][checksum]") {
  // 10.0.0.1:1024 to 10.0.0.2:53, "hi!"
  Data datagram{0x04, 0x00, 0x00, 0x35, 0x00, 0x0b, 0x00, 0x00, 'h', 'i', '!'};
  InternetChecksum checksum;
  core::add_ipv4_pseudo_header(checksum, 0x0a000001, 0x0a000002, 17, 11);
  checksum.add(datagram);
  core::store_be16(&datagram[6], checksum.finish());

  Data whole{10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 11};
  whole.insert(whole.end(), datagram.begin(), datagram.end());
  CHECK(by_definition(whole) == 0);
}

TEST_CASE("replacing one word is as good as summing anew", "[core][checksum]") {
  for_all(
      [](std::array<std::uint16_t, 10> words, std::uint16_t now) {
        const auto sum = [&] {
          InternetChecksum checksum;
          for (const std::uint16_t word : words)
            checksum.add_word(word);
          return checksum.finish();
        };
        const std::size_t which = *rc::gen::inRange<std::size_t>(0, 10);
        const std::uint16_t replaced = core::replaced_word(sum(), words[which], now);
        words[which] = now;
        // 0x0000 and 0xffff are the same number in ones' complement: both verify.
        RC_ASSERT(replaced % 0xffff == sum() % 0xffff);
      },
      500);
}

TEST_CASE("numbers in network order are read back as they were written", "[core][bytes]") {
  std::array<std::uint8_t, 9> area{};
  core::store_be16(&area[1], 0x0102);
  CHECK((area[1] == 1 && area[2] == 2));
  core::store_be32(&area[1], 0x01020304);
  CHECK((area[1] == 1 && area[4] == 4));
  core::store_be64(&area[1], 0x0102030405060708);
  CHECK((area[1] == 1 && area[8] == 8));
  CHECK(core::load_be16(&area[1]) == 0x0102);
  CHECK(core::load_be32(&area[1]) == 0x01020304);
  CHECK(core::load_be64(&area[1]) == 0x0102030405060708);
  CHECK(core::load_le16(&area[1]) == 0x0201);
  CHECK(core::load_le32(&area[1]) == 0x04030201);
  CHECK(core::load_le64(&area[1]) == 0x0807060504030201);
}

}  // namespace tapestry::tests::checksum_test
