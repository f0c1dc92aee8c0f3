#include "core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace tapestry::core {

void assertion_failed(const char* belief, const char* why, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", file, line, belief, why);
  std::abort();
}

}  // namespace tapestry::core
