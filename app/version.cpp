// The only file that knows the commit: the build passes it as a macro here and nowhere else, so a
// new commit recompiles these few lines and not the world.

#include "app/version.hpp"

#include <algorithm>
#include <array>
#include <boost/version.hpp>

namespace tapestry::app {

namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

// "1_81" as Boost spells it, "1.81" as people do.
constexpr auto kBoost = [] {
  std::array<char, sizeof BOOST_LIB_VERSION> text{};
  std::ranges::replace_copy(BOOST_LIB_VERSION, text.begin(), '_', '.');
  return text;
}();

}  // namespace

std::string_view version() { return TAPESTRY_VERSION; }
std::string_view commit() { return TAPESTRY_COMMIT; }
std::string_view compiler() { return kCompiler; }
std::string_view boost() { return kBoost.data(); }

}  // namespace tapestry::app
