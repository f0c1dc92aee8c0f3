// Edit distance with swaps of neighbours (optimal string alignment). Case counts next to nothing,
// so that MTU is near to mtu, but nearer to itself.
#include "app/scenario/names.hpp"

#include <algorithm>
#include <cstddef>

#include "app/scenario/value.hpp"

namespace tapestry::app {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::size_t kEdit = 100;

std::size_t change_cost(char a, char b) {
  if (a == b) return 0;
  constexpr std::size_t kCase = 1;
  return lower(a) == lower(b) ? kCase : kEdit;
}

std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before_previous(width), previous(width), current(width);
  for (std::size_t j = 0; j < width; ++j)
    previous[j] = j * kEdit;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i * kEdit;
    for (std::size_t j = 1; j < width; ++j) {
      current[j] = std::min({previous[j] + kEdit, current[j - 1] + kEdit,
                             previous[j - 1] + change_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_previous[j - 2] + kEdit);
      }
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

}  // namespace

bool is_name(std::string_view text, bool with_dots) {
  if (text.empty() || text.size() > kLongestName) return false;
  if (!is_letter_or_digit(text.front()) && text.front() != '_') return false;
  return std::all_of(text.begin(), text.end(), [with_dots](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '-' || (with_dots && c == '.');
  });
}

bool is_interface_name(std::string_view text) {
  return text.size() <= kLongestInterfaceName && is_name(text, true);
}

std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestCompared = 100;  // the table grows with the product of both lengths
  if (name.size() > kLongestCompared) return std::nullopt;
  std::size_t best = ((name.size() + 2) / 3) * kEdit + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const std::size_t edits = distance(name, candidate);
    if (edits < best) best = edits, nearest = candidate;
  }
  return nearest;
}

std::string suggest(std::string_view name, const std::vector<std::string>& candidates,
                    std::string_view list_title) {
  constexpr std::size_t kMostListed = 200;  // bytes
  std::string text;
  if (const auto nearest = nearest_name(name, candidates)) {
    text = "did you mean " + quote(*nearest) + "? ";
  }
  text += std::string(list_title) + ": ";
  if (candidates.empty()) return text + "none";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0) text += ", ";
    if (text.size() > kMostListed) return text + "...";
    text += candidates[i];
  }
  return text;
}

}  // namespace tapestry::app
