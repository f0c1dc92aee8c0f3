#include "core/happening.hpp"

#include <array>

namespace tapestry::core {

std::string_view name_of(Happening happening) {
  static constexpr std::array<std::string_view, kHappenings> kNames{
#define TAPESTRY_HAPPENING(identifier, name, about) name,
#include "core/happening.def"
#undef TAPESTRY_HAPPENING
  };
  return kNames[static_cast<std::size_t>(happening)];
}

std::string_view about(Happening happening) {
  static constexpr std::array<std::string_view, kHappenings> kAbout{
#define TAPESTRY_HAPPENING(identifier, name, about) about,
#include "core/happening.def"
#undef TAPESTRY_HAPPENING
  };
  return kAbout[static_cast<std::size_t>(happening)];
}

}  // namespace tapestry::core
