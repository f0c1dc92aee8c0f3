#include "app/results/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/assert.hpp"

namespace tapestry::app::layout {

namespace {
constexpr std::size_t kShortestLabel = 10;  // so that blocks with short names stand in line

// Breaks at spaces; a word longer than a line where the line ends.
std::string broken(std::string_view words, std::string_view indent, std::string_view hanging) {
  std::string text;
  std::string line(indent);
  std::size_t begin = line.size();  // where the words of this line begin
  const auto break_line = [&] {
    text += line + "\n";
    line = std::string(indent) + std::string(hanging);
    begin = line.size();
  };
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    std::string_view word = words.substr(0, space);
    words.remove_prefix(space == std::string_view::npos ? words.size() : space + 1);
    if (line.size() > begin && line.size() + 1 + word.size() > kColumns) break_line();
    if (line.size() > begin) line += ' ';
    while (line.size() + word.size() > kColumns) {
      const std::size_t fits = kColumns - line.size();
      line += word.substr(0, fits);
      word.remove_prefix(fits);
      break_line();
    }
    line += word;
  }
  return text + line + "\n";
}
}  // namespace

std::string scaled(std::optional<double> number) {
  if (!number) return "-";
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  double value = *number;
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = prefix == 0 && value == std::floor(value) ? 0
                       : value < 9.995                           ? 2
                       : value < 99.95                           ? 1
                                                                 : 0;
  return fmt::format("{:.{}f}{}", value, decimals, kPrefixes[prefix]);
}

std::string ratio(std::optional<double> value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string tenths(std::optional<double> value) {
  if (!value) return "-";
  return fmt::format("{:.{}f}", *value, std::abs(*value) < 999.95 ? 1 : 0);
}

std::string duration(std::optional<double> ns) {
  if (!ns) return "-";
  if (*ns < 9.9995e5) return fmt::format("{:.1f}us", *ns / 1e3);
  if (*ns < 9.9995e7) return fmt::format("{:.2f}ms", *ns / 1e6);
  if (*ns < 9.9995e8) return fmt::format("{:.1f}ms", *ns / 1e6);
  return fmt::format("{:.2f}s", *ns / 1e9);
}

std::string nanoseconds(std::optional<double> ns) {
  return ns ? fmt::format("{:.0f}ns", *ns) : "-";
}

std::vector<std::string> paragraphs(std::string_view text) {
  std::vector<std::string> all(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(' ') == std::string_view::npos) {
      if (!all.back().empty()) all.emplace_back();
      continue;
    }
    if (!all.back().empty()) all.back() += ' ';
    all.back() += line;
  }
  if (all.back().empty()) all.pop_back();
  return all;
}

std::string wrapped(std::string_view words, std::string_view indent) {
  return broken(words, indent, "  ");
}

std::string filled(std::string_view words) { return broken(words, "", ""); }

Grid::Grid(std::string heading, std::vector<Column> columns)
    : heading_(std::move(heading)), columns_(std::move(columns)), room_(kColumns) {
  for (const Column& column : columns_) {
    TAPESTRY_ASSERT(room_ > column.width + 1, "the columns leave room for a label");
    room_ -= column.width + 1;
  }
}

void Grid::add(std::string label, std::vector<std::string> cells) {
  TAPESTRY_ASSERT(cells.size() == columns_.size(), "a row has a cell for each column");
  rows_.push_back({std::move(label), std::move(cells)});
}

std::string Grid::line(const Row& row, std::size_t label_width) const {
  std::string text;
  std::string label = row.label;
  if (label.size() > label_width) {
    text = wrapped(label.substr(label.find_first_not_of(' ')),
                   label.substr(0, label.find_first_not_of(' ')));
    label.clear();
  }
  text += fmt::format("{:<{}}", label, label_width);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    text += columns_[i].words ? fmt::format(" {:<{}}", row.cells[i], columns_[i].width)
                              : fmt::format(" {:>{}}", row.cells[i], columns_[i].width);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string Grid::text() const {
  std::size_t longest = std::max(heading_.size(), kShortestLabel);
  for (const Row& row : rows_)
    longest = std::max(longest, row.label.size());
  const std::size_t label_width = std::min(longest, room_);
  Row head{heading_, {}};
  for (const Column& column : columns_)
    head.cells.push_back(column.head);
  std::string text = line(head, label_width);
  for (const Row& row : rows_)
    text += line(row, label_width);
  return text;
}

}  // namespace tapestry::app::layout
