// From YAML text to a Value tree, strictly.
//
// Accepted is the plain part of YAML: maps with text keys, lists, scalars, comments, anchors and
// aliases. Refused, each by name and place: a second document, tags, merge keys, keys that are no
// text, the same key twice in one map (however quoted), nesting and sizes beyond the limits below,
// aliases that multiply without end. The parser recurses as deep as a text nests; the limit on
// nesting stops it long before the stack ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

inline constexpr std::size_t kDeepestNesting = 32;       // the deepest scenario construct needs 8
inline constexpr std::size_t kMostValues = 20'000;       // with every alias written out
inline constexpr std::size_t kMostText = 1024 * 1024;    // bytes in all scalars, likewise
inline constexpr std::size_t kLongestScalar = 8 * 1024;  // bytes; a page of `about` has 3 KiB
inline constexpr std::size_t kLongestKey = 100;          // bytes; every value remembers its path

// Reads one document. Faults go to `diagnostics`; a tree comes back unless the text is no YAML at
// all or breaks a limit. A text without content gives an empty value. `text` has passed guard_text.
// Every position gets `base` as source and line offset: the default for a file, {command_line, n,
// column} for the value of the n-th --set.
std::optional<Value> read_yaml(const std::string& text, Diagnostics& diagnostics,
                               Position base = {Source::file, 1, 1});

}  // namespace tapestry::app
