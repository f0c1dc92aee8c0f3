// A property that holds for whatever rapidcheck thinks up, always the same things: its seed is
// fixed, so that a failure today is a failure tomorrow. What it found is shrunk to the smallest
// case and printed.
#pragma once

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace tapestry::tests {

template <class Property>
void for_all(Property property, int cases = 200) {
  setenv("RC_PARAMS", "seed=0", 0);  // or rapidcheck draws a seed, says so, and we don't use it
  rc::detail::TestParams params;
  params.seed = 20180628;
  params.maxSuccess = cases;
  const rc::detail::TestResult result =
      rc::detail::checkTestable(std::move(property), rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  INFO(text.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace tapestry::tests
