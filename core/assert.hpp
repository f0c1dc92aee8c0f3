// Bugs assert; the world returns values.
//
// TAPESTRY_ASSERT is on in every build type: a simulator that goes on after a broken invariant
// prints numbers that nobody can trust. The message says what was believed and where.
#pragma once

namespace tapestry::core {

[[noreturn]] void assertion_failed(const char* belief, const char* why, const char* file, int line);

}  // namespace tapestry::core

#define TAPESTRY_ASSERT(belief, why)                                        \
  do {                                                                      \
    if (!(belief)) [[unlikely]]                                             \
      ::tapestry::core::assertion_failed(#belief, why, __FILE__, __LINE__); \
  } while (false)
