// For a test that needs something of its surroundings (a permission, a program) that is not there.
#pragma once

#include <catch2/catch.hpp>

namespace tapestry::tests {

inline constexpr const char* kSkipped = "skipped: ";

}  // namespace tapestry::tests

// Ends the test case here; it counts as skipped, neither as passed nor as failed. `reason` is
// streamed.
#define TAPESTRY_SKIP(reason)                       \
  do {                                              \
    SUCCEED(::tapestry::tests::kSkipped << reason); \
    return;                                         \
  } while (false)
