// The rules of the style guard. Each returns what breaks it; all but one look at a single source.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/style/source.hpp"

namespace tapestry::tests {

inline constexpr int kMaxFileLines = 400;
inline constexpr int kMaxFunctionLines = 60;
inline constexpr int kMaxColumns = 100;

struct Finding {
  std::string rule;    // the name that an exception uses
  std::string target;  // "path", or "path:function"
  std::string text;    // "path:line: what is wrong, and what to do instead"
};

using Findings = std::vector<Finding>;

// Layer by folder, with the layers it may include; as layers.txt says.
using Layers = std::map<std::string, std::set<std::string>>;

Layers parse_layers(const std::string& text);
std::string layer_of(const Layers& layers, const std::string& path);  // "" if in none

struct Exception {
  std::string rule, target, reason;
  auto operator<=>(const Exception&) const = default;
};

std::vector<Exception> parse_exceptions(const std::string& text);

Findings check_layers(const Layers& layers, const Source& source);
Findings check_libraries(const Source& source);
Findings check_sizes(const Source& source);
Findings check_openings(const Source& source);
Findings check_words(const Source& source);

// All of the above.
Findings check_all(const Layers& layers, const Source& source);

// Headers that no source includes; of all sources together.
Findings check_dead(const std::vector<Source>& sources);

}  // namespace tapestry::tests
