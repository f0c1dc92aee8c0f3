// pcapng files, read back block by block as the format describes them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "observe/pcapng_writer.hpp"

namespace tapestry::tests::pcapng_test {

using core::Instant;
using core::Nanos;
using observe::CaptureFile;
using observe::PcapngWriter;

namespace {

struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("tapestry-test-" + std::to_string(getpid()) + ".pcapng"))
                         .string();
  ~TemporaryFile() { std::filesystem::remove(path); }
};

struct Block {
  std::uint32_t type = 0;
  std::vector<std::uint8_t> body;

  template <class Number>
  Number at(std::size_t offset) const {
    Number number{};
    REQUIRE(offset + sizeof number <= body.size());
    std::memcpy(&number, body.data() + offset, sizeof number);
    return number;
  }
  // By code, from where they begin.
  std::map<std::uint16_t, std::string> options(std::size_t offset) const {
    std::map<std::uint16_t, std::string> found;
    while (offset < body.size()) {
      const auto code = at<std::uint16_t>(offset);
      const auto length = at<std::uint16_t>(offset + 2);
      if (code == 0) break;
      found[code] = std::string(reinterpret_cast<const char*>(body.data()) + offset + 4, length);
      offset += 4 + (length + 3u) / 4 * 4;
    }
    return found;
  }
};

std::vector<Block> blocks_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::vector<Block> blocks;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t type = 0;
    std::uint32_t length = 0;
    std::uint32_t again = 0;
    std::memcpy(&type, text.data() + at, 4);
    std::memcpy(&length, text.data() + at + 4, 4);
    REQUIRE(length % 4 == 0);
    REQUIRE(at + length <= text.size());
    std::memcpy(&again, text.data() + at + length - 4, 4);
    REQUIRE(again == length);
    blocks.push_back({type,
                      {text.begin() + static_cast<std::ptrdiff_t>(at + 8),
                       text.begin() + static_cast<std::ptrdiff_t>(at + length - 4)}});
    at += length;
  }
  return blocks;
}

}  // namespace

TEST_CASE("A pcapng file says who wrote it, where frames were seen, and what is known of each") {
  TemporaryFile file;
  {
    auto writer = PcapngWriter::create(file.path, "tapestry 1", "variant tap");
    REQUIRE(writer);
    const std::size_t tap = (*writer)->add_point("host.tap0", "tun of host", 4);
    const std::size_t drops = (*writer)->add_point("drops", "");
    const std::vector<std::uint8_t> frame{1, 2, 3, 4, 5, 6, 7};
    (*writer)->write(tap, core::kStart + Nanos{5'000'000'123}, frame, 7,
                     {.direction = core::Direction::outgoing, .id = 42, .queue = 3, .comment = {}});
    (*writer)->write(drops, core::kStart + Nanos{6'000'000'000}, frame, 9,
                     {.direction = {}, .id = 0, .queue = {}, .comment = "dropped: FULL_RING"});
    REQUIRE((*writer)->close() == "");
    REQUIRE((*writer)->close() == "");  // and again, without harm
  }
  const std::vector<Block> blocks = blocks_of(file.path);
  REQUIRE(blocks.size() == 5);

  CHECK(blocks[0].type == 0x0a0d0d0a);
  CHECK(blocks[0].at<std::uint32_t>(0) == 0x1a2b3c4d);
  CHECK(blocks[0].options(16)[4] == "tapestry 1");
  CHECK(blocks[0].options(16)[1] == "variant tap");

  CHECK(blocks[1].type == 1);
  CHECK(blocks[1].at<std::uint16_t>(0) == 1);  // Ethernet
  CHECK(blocks[1].at<std::uint32_t>(4) == 4);  // snap length
  CHECK(blocks[1].options(8)[2] == "host.tap0");
  CHECK(blocks[1].options(8)[3] == "tun of host");
  CHECK(blocks[1].options(8)[9] == "\x09");  // nanoseconds
  CHECK(blocks[2].options(8)[2] == "drops");
  CHECK(blocks[2].options(8).count(3) == 0);  // no empty description

  CHECK(blocks[3].type == 6);
  CHECK(blocks[3].at<std::uint32_t>(0) == 0);
  const std::uint64_t time =
      std::uint64_t{blocks[3].at<std::uint32_t>(4)} << 32 | blocks[3].at<std::uint32_t>(8);
  CHECK(time == 5'000'000'123);
  CHECK(blocks[3].at<std::uint32_t>(12) == 4);                      // kept
  CHECK(blocks[3].at<std::uint32_t>(16) == 7);                      // of
  CHECK(blocks[3].options(24)[2] == std::string("\x02\0\0\0", 4));  // outbound
  CHECK(blocks[3].options(24)[5] == std::string("\x2a\0\0\0\0\0\0\0", 8));
  CHECK(blocks[3].options(24)[6] == std::string("\x03\0\0\0", 4));
  CHECK(blocks[3].options(24).count(1) == 0);

  CHECK(blocks[4].at<std::uint32_t>(0) == 1);
  CHECK(blocks[4].at<std::uint32_t>(12) == 7);
  CHECK(blocks[4].at<std::uint32_t>(16) == 9);
  CHECK(blocks[4].options(28)[1] == "dropped: FULL_RING");
  CHECK(blocks[4].options(28).count(2) == 0);  // no direction is known
}

TEST_CASE("What a full disk refuses of a pcapng file is told when it is closed") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("skipped: there is no /dev/full here");
    return;
  }
  auto writer = PcapngWriter::create("/dev/full", "tapestry", "");
  REQUIRE(writer);
  const std::size_t point = (*writer)->add_point("tap0", "");
  const std::vector<std::uint8_t> frame(1500);
  for (int i = 0; i < 2000; ++i)
    (*writer)->write(point, core::kStart, frame, frame.size(), {});
  CHECK_THAT((*writer)->close(),
             Catch::Matchers::Contains("/dev/full") && Catch::Matchers::Contains("No space left"));
}

TEST_CASE("A pcapng file that cannot be made is an error with its path") {
  const auto writer = PcapngWriter::create("/no/such/folder/a.pcapng", "tapestry", "");
  REQUIRE(!writer);
  CHECK_THAT(writer.error().message, Catch::Matchers::Contains("/no/such/folder/a.pcapng"));
}

}  // namespace tapestry::tests::pcapng_test
