// Names: which are allowed, and which one was probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::app {

// Notes of the author: allowed in every map, read by nobody.
inline bool is_private_note(std::string_view key) { return key.substr(0, 2) == "x-"; }

inline constexpr std::size_t kLongestName = 40;
inline constexpr std::size_t kLongestInterfaceName =
    15;  // IFNAMSIZ of Linux, without its final zero

// Letters, digits, '_' and '-', beginning with a letter, digit or '_'; `with_dots` allows '.' too.
bool is_name(std::string_view text, bool with_dots = false);
bool is_interface_name(std::string_view text);  // likewise with dots, at most 15 bytes

// The candidate with the fewest insertions, deletions, changes and swaps of neighbours from `name`;
// none if even that one needs more than a third of the name's length, rounded up. The first of
// equals wins.
std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& candidates);

// "did you mean 'depth'? known: attach, depth, gro" - the first part only if some name is near, the
// list cut where it would not fit a line or two.
std::string suggest(std::string_view name, const std::vector<std::string>& candidates,
                    std::string_view list_title = "known");

}  // namespace tapestry::app
