// One number for everything that a run produced: the same for the same, and only for the same.

#include "core/fingerprint.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace tapestry::tests::fingerprint_test {

namespace {

using core::Fingerprint;

template <class... Parts>
std::string fingerprint_of(const Parts&... parts) {
  Fingerprint fingerprint;
  (fingerprint.add(parts), ...);
  return fingerprint.hex();
}

}  // namespace

TEST_CASE("a fingerprint is a published hash of a published byte stream", "[core][fingerprint]") {
  CHECK(Fingerprint().hex() == "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
  CHECK(fingerprint_of(std::uint64_t{0x0102030405060708}) == "f29531cf5c95abf55e5d745f3707486f");
  CHECK(fingerprint_of("tap0") == "5b31e9415d88f1c9b959f0a3aefa23c7");
}

TEST_CASE("order, value and the border between two strings count", "[core][fingerprint]") {
  CHECK(fingerprint_of(1, 2) == fingerprint_of(1, 2));
  CHECK(fingerprint_of(1, 2) != fingerprint_of(2, 1));
  CHECK(fingerprint_of("ab", "c") != fingerprint_of("a", "bc"));
  CHECK(fingerprint_of("") != fingerprint_of());
}

TEST_CASE("the width of an integer does not count, its value does", "[core][fingerprint]") {
  CHECK(fingerprint_of(std::uint32_t{7}) == fingerprint_of(std::uint64_t{7}));
  CHECK(fingerprint_of(std::int32_t{-1}) == fingerprint_of(std::int64_t{-1}));
  CHECK(fingerprint_of(core::Nanos{7}) == fingerprint_of(std::int64_t{7}));
  CHECK(fingerprint_of(core::Instant{core::Nanos{7}}) == fingerprint_of(std::int64_t{7}));
}

TEST_CASE("looking at a fingerprint does not end it", "[core][fingerprint]") {
  Fingerprint fingerprint;
  fingerprint.add(1);
  const std::string early = fingerprint.hex();
  CHECK(fingerprint.hex() == early);
  fingerprint.add(2);
  CHECK(fingerprint.hex() == fingerprint_of(1, 2));
}

}  // namespace tapestry::tests::fingerprint_test
