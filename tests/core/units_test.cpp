// Quantities as people write them: what each spelling means, which ones are refused, and that what
// is printed reads back as the same number.

#include "core/units.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/core/property.hpp"

namespace tapestry::tests::units_test {

namespace {

using Catch::Matchers::Contains;
using core::BitRate;
using core::Bytes;
using core::Nanos;

constexpr std::uint64_t kGiga = 1'000'000'000;

}  // namespace

TEST_CASE("sizes: k, M, G and T are decimal, Ki, Mi, Gi and Ti are binary", "[core][units]") {
  struct Row {
    std::string text;
    std::uint64_t bytes;
  };
  const Row row = GENERATE(values<Row>({
      {"0B", 0},
      {"1500B", 1500},
      {"64k", 64'000},
      {"64K", 64'000},
      {"64kB", 64'000},
      {"64KB", 64'000},
      {"64Ki", 65'536},
      {"64KiB", 65'536},
      {"64kiB", 65'536},
      {"1M", 1'000'000},
      {"1m", 1'000'000},
      {"1MiB", 1'048'576},
      {"1.5MiB", 1'572'864},
      {"2G", 2 * kGiga},
      {"2GiB", 2'147'483'648},
      {"1T", 1000 * kGiga},
      {"1TiB", 1'099'511'627'776},
      {"0.5kB", 500},
      {"1.500kB", 1500},
      {"18446744073709551615B", 18'446'744'073'709'551'615u},
  }));
  CAPTURE(row.text);
  const auto size = core::parse_size(row.text);
  REQUIRE(size);
  CHECK(size->count() == row.bytes);
}

TEST_CASE("rates: decimal prefixes, and bits unless they say bytes", "[core][units]") {
  struct Row {
    std::string text;
    std::uint64_t bits_per_second;
  };
  const Row row = GENERATE(values<Row>({
      {"10Gbps", 10 * kGiga},
      {"10gbit", 10 * kGiga},
      {"10Gbit", 10 * kGiga},
      {"10Gb/s", 10 * kGiga},
      {"10Gbit/s", 10 * kGiga},
      {"1.25GB/s", 10 * kGiga},
      {"1bit", 1},
      {"1bps", 1},
      {"1B/s", 8},
      {"56kbit", 56'000},
      {"1Mbit", 1'000'000},
      {"1Mibit", 1'048'576},
      {"1MiB/s", 8'388'608},
      {"0.1Gbit", 100'000'000},
      {"1.6Tbit", 1600 * kGiga},
  }));
  CAPTURE(row.text);
  const auto rate = core::parse_rate(row.text);
  REQUIRE(rate);
  CHECK(rate->bits_per_second() == row.bits_per_second);
}

TEST_CASE("durations go from nanoseconds to hours, shares down to one in a billion",
          "[core][units]") {
  const auto nanos = [](const char* text) { return core::parse_duration(text).value().count(); };
  CHECK(nanos("10ns") == 10);
  CHECK(nanos("50us") == 50'000);
  CHECK(nanos("1.5ms") == 1'500'000);
  CHECK(nanos("2s") == 2'000'000'000);
  CHECK(nanos("3min") == 180'000'000'000);
  CHECK(nanos("1h") == 3'600'000'000'000);
  CHECK(nanos("9223372036854775807ns") == core::kForever.count());

  const auto share = [](const char* text) { return core::parse_percent(text).value(); };
  CHECK(share("0%") == 0);
  CHECK(share("0.1%") == 1'000'000);
  CHECK(share("0.0000001%") == 1);
  CHECK(share("33.3%") == 333'000'000);
  CHECK(share("100%") == kGiga);
}

TEST_CASE("a refused quantity says what is wrong with it and what was expected", "[core][units]") {
  struct Row {
    std::string kind, text, complaint;
  };
  const Row row = GENERATE(values<Row>({
      {"rate", "10", "has no unit; expected a rate"},
      {"rate", "10 Gb ps", "unknown unit \" Gb ps\""},
      {"rate", "1e400bps", "unknown unit \"e400bps\""},
      {"rate", "-1Mbps", "does not start with a number"},
      {"rate", "10GBps", "unknown unit \"GBps\""},
      {"rate", "10Gb", "unknown unit \"Gb\""},
      {"rate", "10it", "unknown unit \"it\""},
      {"rate", "10kit", "unknown unit \"kit\""},
      {"rate", "10G", "unknown unit \"G\""},
      {"rate", "0bit", "is no rate at all"},
      {"rate", "99999999999Gbit", "is too large"},
      {"rate", "0.5bit", "is not a whole number of bits per second"},
      {"size", "100us", "unknown unit \"us\"; expected a size"},
      {"size", "64", "has no unit"},
      {"size", "64kb", "unknown unit \"kb\""},
      {"size", "64kbit", "unknown unit"},
      {"size", "1.5B", "is not a whole number of bytes"},
      {"size", "1.0001KiB", "is not a whole number of bytes"},
      {"size", "18446744073709551616B", "is too large"},
      {"size", "17000000TiB", "is too large"},
      {"size", "99999999999999999999999999999999999999999999B", "is too large"},
      {"size", "0.99999999999999999999999999999999999999999999B", "is not a whole number"},
      {"size", "", "does not start with a number"},
      {"size", ".", "does not start with a number"},
      {"size", "1.B", "does not start with a number"},
      {"size", ".5kB", "does not start with a number"},
      {"size", "1.2.3kB", "does not start with a number"},
      {"size", "+1B", "does not start with a number"},
      {"size", " 1B", "does not start with a number"},
      {"size", "1,5kB", "unknown unit \",5kB\""},
      {"size", "0x10B", "unknown unit \"x10B\""},
      {"size", "1k ", "unknown unit \"k \""},
      {"duration", "10", "has no unit; expected a time"},
      {"duration", "10m", "unknown unit \"m\""},
      {"duration", "0.5ns", "is not a whole number of nanoseconds"},
      {"duration", "9223372036854775808ns", "is too large"},
      {"duration", "inf", "does not start with a number"},
      {"percent", "0.1", "has no unit; expected a percentage"},
      {"percent", "100.0000001%", "is too large"},
      {"percent", "0.00000001%", "is not a whole number of parts per billion"},
  }));
  CAPTURE(row.kind, row.text);
  const auto error = [&]() -> std::string {
    const auto message = [](const auto& result) { return result ? "" : result.error().message; };
    if (row.kind == "rate") return message(core::parse_rate(row.text));
    if (row.kind == "size") return message(core::parse_size(row.text));
    if (row.kind == "duration") return message(core::parse_duration(row.text));
    return message(core::parse_percent(row.text));
  }();
  CHECK_THAT(error, Contains(row.complaint));
  CHECK_THAT(error, Contains("expected a"));
  CHECK_THAT(error, Contains("\"" + row.text + "\""));
}

TEST_CASE("what is printed is short", "[core][units]") {
  CHECK(core::format_size(Bytes{0}) == "0B");
  CHECK(core::format_size(Bytes{1500}) == "1500B");
  CHECK(core::format_size(Bytes{65536}) == "64KiB");
  CHECK(core::format_size(Bytes{1 << 20}) == "1MiB");
  CHECK(core::format_rate(BitRate{10 * kGiga}) == "10Gbit");
  CHECK(core::format_rate(BitRate{2'500'000'000}) == "2.5Gbit");
  CHECK(core::format_rate(BitRate{999}) == "999bit");
  CHECK(core::format_duration(Nanos{0}) == "0ns");
  CHECK(core::format_duration(Nanos{1'500}) == "1.5us");
  CHECK(core::format_duration(Nanos{90'000'000'000}) == "90s");
  CHECK(core::format_duration(Nanos{-1'500}) == "-1.5us");
  CHECK(core::format_percent(1'000'000) == "0.1%");
  CHECK(core::format_percent(kGiga) == "100%");
}

TEST_CASE("what is printed reads back as the same number", "[core][units]") {
  const auto anywhere =
      rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange(0, 64)),
                   [](std::pair<std::uint64_t, int> drawn) {
                     return (drawn.first * 0x9e3779b97f4a7c15) >> drawn.second;
                   });
  for_all(
      [&] {
        const std::uint64_t number = *anywhere;
        RC_ASSERT(core::parse_size(core::format_size(Bytes{number}))->count() == number);
        if (number != 0) {
          const auto rate = core::parse_rate(core::format_rate(BitRate{number}));
          RC_ASSERT(rate->bits_per_second() == number);
        }
        const Nanos span{static_cast<std::int64_t>(number >> 1)};
        RC_ASSERT(*core::parse_duration(core::format_duration(span)) == span);
        RC_ASSERT(*core::parse_percent(core::format_percent(number % (kGiga + 1))) ==
                  number % (kGiga + 1));
      },
      1000);
}

TEST_CASE("a wire's time is exact however many frames pass", "[core][units]") {
  SECTION("64 B at 100 Gbit last 5.12 ns") {
    std::uint64_t remainder = 0;
    Nanos total{0};
    for (int i = 0; i < 100; ++i) {
      const Nanos each = BitRate{100 * kGiga}.time_for(Bytes{64}, remainder);
      CHECK((each == Nanos{5} || each == Nanos{6}));
      total += each;
    }
    CHECK(total == Nanos{512});
    CHECK(remainder == 0);
  }
  SECTION("a frame takes as long in pieces as at once") {
    for_all([](std::vector<std::uint16_t> pieces) {
      const std::uint64_t rate = 1 + *rc::gen::inRange<std::uint64_t>(0, 400 * kGiga);
      std::uint64_t sum = 0;
      std::uint64_t remainder = 0;
      std::uint64_t remainder_at_once = 0;
      Nanos total{0};
      for (const std::uint16_t piece : pieces) {
        total += BitRate{rate}.time_for(Bytes{piece}, remainder);
        sum += piece;
      }
      RC_ASSERT(BitRate{rate}.time_for(Bytes{sum}, remainder_at_once) == total);
      RC_ASSERT(remainder == remainder_at_once);
    });
  }
  SECTION("a size whose bits times a billion do not fit 64 bits") {
    std::uint64_t remainder = 0;
    CHECK(BitRate{kGiga}.time_for(Bytes{1'000 * kGiga}, remainder) ==
          Nanos{8'000 * std::int64_t{kGiga}});
    CHECK(BitRate{3}.time_for(Bytes{3 * kGiga}, remainder) ==
          Nanos{8 * std::int64_t{kGiga} * std::int64_t{kGiga}});
  }
}

}  // namespace tapestry::tests::units_test
