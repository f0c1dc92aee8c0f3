// Text for a terminal of 80 columns: grids of figures under a heading, wrapped words, and numbers
// short enough for a column.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::app::layout {

inline constexpr std::size_t kColumns = 80;

// --- numbers; "-" where there is none ----------------------------------------------------------

// Three significant digits with a decimal prefix: 12.3M. At most 5 characters below 1000T.
std::string scaled(std::optional<double> value);
std::string ratio(std::optional<double> value);     // two decimals: 0.93
std::string tenths(std::optional<double> value);    // one decimal, none from 1000 on: 98.6
std::string duration(std::optional<double> ns);     // 9.5us, 12.3ms, 1.50s: at most 7 below 1000 s
std::string nanoseconds(std::optional<double> ns);  // 13559ns

// --- text --------------------------------------------------------------------------------------

// Breaks at spaces so that each line, with `indent` in front, fits; later lines are indented two
// more. A word that is longer than a line is broken where the line ends. Ends with a newline.
std::string wrapped(std::string_view words, std::string_view indent);
// The same without indents: a paragraph of prose.
std::string filled(std::string_view words);
// What a person wrote over several lines: lines that follow each other are one paragraph, an empty
// one ends it.
std::vector<std::string> paragraphs(std::string_view text);

struct Column {
  std::string head;
  std::size_t width = 0;
  bool words = false;  // stand at the left of their column; figures stand at the right
};

// A label on the left, figures on the right. The label's column is as wide as the figures leave
// it, or as the longest label needs, whichever is less.
class Grid {
 public:
  // The columns, each with a space in front, leave room for a label.
  Grid(std::string heading, std::vector<Column> columns);

  void add(std::string label, std::vector<std::string> cells);  // one for each column
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  struct Row {
    std::string label;
    std::vector<std::string> cells;
  };
  std::string line(const Row& row, std::size_t label_width) const;

  std::string heading_;
  std::vector<Column> columns_;
  std::size_t room_;  // for the label
  std::vector<Row> rows_;
};

}  // namespace tapestry::app::layout
