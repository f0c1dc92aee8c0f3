// Looks at the bytes of a scenario before any parser does.
//
// Whatever is not a modest piece of UTF-8 text ends here with one pointed message: UTF-16, binary
// data, tabs as indentation, files of gigabytes. A byte order mark at the front and CRLF line ends
// are fine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/diagnostic.hpp"

namespace tapestry::app {

// A large hand-written scenario has a few KiB. Parsing time grows with size at worst linearly from
// here.
inline constexpr std::size_t kMostScenarioBytes = 256 * 1024;

struct GuardedText {
  std::string text;  // UTF-8 without byte order mark; lines end in \n alone
  std::optional<Diagnostic> refusal;
};

GuardedText guard_text(std::string_view bytes);

}  // namespace tapestry::app
