// Captures of any kind are read right, and what is no capture is refused by name.
#include "workloads/pcap_file.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "tests/support/program.hpp"
#include "tests/workloads/pcap_bytes.hpp"

namespace tapestry::tests::pcap_file_test {

using namespace workloads;

namespace {

core::Result<CaptureFile> read(const std::string& text) {
  const TemporaryFolder folder;
  return read_capture(folder.write("x.pcap", text));
}

std::string error_of(const std::string& text) {
  const auto file = read(text);
  return file ? "none" : file.error().message;
}

}  // namespace

TEST_CASE("either byte order and either unit of time is read, and they mean the same",
          "[workloads]") {
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      CAPTURE(big_endian, nanoseconds);
      const std::uint32_t unit = nanoseconds ? 1000 : 1;  // of a microsecond
      PcapBytes bytes({.nanoseconds = nanoseconds, .big_endian = big_endian});
      bytes.record(1'700'000'000, 999'999 * unit, plain_frame(1));
      bytes.record(1'700'000'001, 1 * unit, plain_frame(2, 1514));
      const auto file = read(bytes.text());
      REQUIRE(file.ok());
      CHECK(file->warning.empty());
      REQUIRE(file->frames.size() == 2);
      CHECK(file->frames[0].at == core::Nanos{0});
      CHECK(file->frames[1].at == core::Nanos{2'000});
      CHECK(file->frames[1].length == 1514);
      CHECK(std::string(file->frames[1].bytes.begin(), file->frames[1].bytes.end()) ==
            plain_frame(2, 1514));
    }
  }
}

TEST_CASE("one nanosecond stays one nanosecond", "[workloads]") {
  PcapBytes bytes;
  bytes.record(1, 0, plain_frame(1)).record(1, 1, plain_frame(1));
  const auto file = read(bytes.text());
  REQUIRE(file.ok());
  CHECK(file->frames[1].at == core::Nanos{1});
}

TEST_CASE("a fraction beyond its second is an error of its record, in either unit", "[workloads]") {
  struct Row {
    bool nanoseconds;
    std::uint32_t fraction;
    bool good;
  };
  const Row rows[] = {{false, 999'999, true},       {false, 1'000'000, false},
                      {false, 0xffff'ffff, false},  {true, 999'999'999, true},
                      {true, 1'000'000'000, false}, {true, 0xffff'ffff, false}};
  for (const Row& row : rows) {
    CAPTURE(row.nanoseconds, row.fraction);
    PcapBytes bytes({.nanoseconds = row.nanoseconds});
    bytes.record(1, 0, plain_frame(1)).record(1, row.fraction, plain_frame(1));
    const std::string error = error_of(bytes.text());
    CHECK((error == "none") == row.good);
    if (!row.good) CHECK_THAT(error, Catch::Contains("record 2: the fraction of its second"));
  }
}

TEST_CASE("a file cut anywhere in its last record gives the whole ones and one warning",
          "[workloads]") {
  PcapBytes two;
  two.record(1, 0, plain_frame(1)).record(1, 5, plain_frame(2));
  PcapBytes three = two;
  three.record(1, 9, plain_frame(3, 70));
  for (std::size_t size = two.text().size() + 1; size < three.text().size(); ++size) {
    CAPTURE(size);
    const auto file = read(three.text().substr(0, size));
    REQUIRE(file.ok());
    CHECK(file->frames.size() == 2);
    CHECK_THAT(file->warning, Catch::Contains("ends in the middle of record 3; the 2 whole ones"));
  }
  CHECK(read(two.text())->warning.empty());
  CHECK(read(three.text())->warning.empty());
}

TEST_CASE("a file cut in its own header is no capture", "[workloads]") {
  const std::string text = PcapBytes().text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    CHECK_THAT(error_of(text.substr(0, size)), Catch::Contains("is no capture"));
  }
  const auto empty = read(text);
  REQUIRE(empty.ok());
  CHECK(empty->frames.empty());
}

TEST_CASE("lengths that cannot be are errors, and never more memory than the file has",
          "[workloads]") {
  struct Row {
    std::uint32_t captured, length;
    const char* says;
  };
  const Row rows[] = {{61, 60, "more bytes captured than there were"},
                      {60, 0, "more bytes captured than there were"},
                      {0x7fff'ffff, 0x7fff'ffff, "x.pcap: "},
                      {0xffff'ffff, 0xffff'ffff, "x.pcap: "}};
  for (const Row& row : rows) {
    CAPTURE(row.captured, row.length);
    PcapBytes bytes;
    bytes.record(1, 0, row.captured, row.length, std::string(61, 'x'));
    const auto file = read(bytes.text());
    const std::string said = file ? file->warning : file.error().message;
    CHECK_THAT(said, Catch::Contains(row.says));
    if (file) CHECK(file->frames.empty());
  }
}

TEST_CASE("a frame that a snap length has cut keeps its length", "[workloads]") {
  PcapBytes bytes({.snap_length = 64});
  bytes.record(1, 0, 64, 1514, plain_frame(1, 64)).record(1, 1, 0, 60, "");
  const auto file = read(bytes.text());
  REQUIRE(file.ok());
  CHECK(file->frames[0].bytes.size() == 64);
  CHECK(file->frames[0].length == 1514);
  CHECK(file->frames[1].bytes.empty());
}

TEST_CASE("seconds have no sign: 2038 is a year like others", "[workloads]") {
  PcapBytes bytes;
  bytes.record(0x7fff'ffff, 0, plain_frame(1)).record(0x8000'0000, 5, plain_frame(1));
  bytes.record(0xffff'ffff, 0, plain_frame(1));
  const auto file = read(bytes.text());
  REQUIRE(file.ok());
  CHECK(file->frames[1].at == core::Nanos{1'000'000'005});
  CHECK(file->frames[2].at == core::Nanos{std::int64_t{0x8000'0000} * 1'000'000'000});
}

TEST_CASE("time that goes back is never before the first frame", "[workloads]") {
  PcapBytes bytes;
  bytes.record(5, 0, plain_frame(1)).record(4, 0, plain_frame(1)).record(6, 0, plain_frame(1));
  const auto file = read(bytes.text());
  REQUIRE(file.ok());
  CHECK(file->frames[1].at == core::Nanos{0});
  CHECK(file->frames[2].at == core::Nanos{1'000'000'000});
}

TEST_CASE("what is no Ethernet capture is refused by name", "[workloads]") {
  CHECK_THAT(error_of(PcapBytes({.link_type = 113}).text()),
             Catch::Contains("holds no Ethernet frames (link type 113)"));
  CHECK_THAT(error_of("machines: {}\nthis is a scenario, not a capture\n"),
             Catch::Contains("x.pcap: is no capture"));
  const auto none = read_capture("/no/such/file.pcap");
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message, Catch::StartsWith("/no/such/file.pcap: cannot be read"));
}

}  // namespace tapestry::tests::pcap_file_test
