// A property that holds for whatever rapidcheck thinks up, always the same things: its seed is
// fixed, so that a failure today is a failure tomorrow. RC_PARAMS="seed=..." in the environment
// tries others. What it found is shrunk to the smallest case and printed.
#pragma once

#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace tapestry::tests {

template <class Property>
void for_all(Property property, int cases = 200) {
  setenv("RC_PARAMS", "seed=20180628", 0);
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = cases;
  const rc::detail::TestResult result =
      rc::detail::checkTestable(std::move(property), rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  INFO(text.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace tapestry::tests
