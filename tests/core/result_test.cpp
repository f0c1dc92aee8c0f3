// A value, or the reason why there is none.

#include "core/result.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/support/abort.hpp"

namespace tapestry::tests::result_test {

namespace {

using Catch::Matchers::Contains;
using core::Error;
using core::Result;

Result<int> half(int number) {
  if (number % 2 != 0) return Error{std::to_string(number) + " is odd"};
  return number / 2;
}

}  // namespace

TEST_CASE("a result is a value or an error, and says which", "[core][result]") {
  CHECK(half(4).value() == 2);
  CHECK(*half(4) == 2);
  REQUIRE_FALSE(half(3));
  CHECK(half(3).error().message == "3 is odd");
}

TEST_CASE("asking for what is not there is a bug, and the error is told", "[core][result]") {
  CHECK_THAT(abort_message([] { (void)half(3).value(); }), Contains("3 is odd"));
  CHECK_THAT(abort_message([] { (void)half(4).error(); }), Contains("no error"));
}

TEST_CASE("a value that only moves can be taken out", "[core][result]") {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  CHECK(*taken == 7);
}

TEST_CASE("success may have nothing to say", "[core][result]") {
  const Result<void> good;
  const Result<void> bad = Error{"no"};
  CHECK(good);
  CHECK_FALSE(bad);
  CHECK(bad.error().message == "no");
}

}  // namespace tapestry::tests::result_test
