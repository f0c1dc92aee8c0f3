// Charts as HTML and SVG that need no script: bars, stacked bars, curves, flame graphs. Colours are
// classes s0 .. s7 of the style sheet, which a colour-blind reader can tell apart; every figure
// also stands there as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::app::chart {

inline constexpr std::size_t kColours = 8;

// --- bars ---------------------------------------------------------------------------------------

struct Bar {
  std::string label;
  double value = 0;
  std::string text;              // the value for people
  std::optional<double> marker;  // where somebody else's figure is
  std::string marker_text;
};

// A table with a bar in each row, all from 0 on one scale. Empty if there are none.
std::string bars(const std::string& caption, const std::vector<Bar>& rows);

struct Part {
  double value = 0;
  std::string text;
};

struct StackedRow {
  std::string label;
  std::vector<Part> parts;  // one for each series
  std::string total;
};

// One bar a row, cut into its series, with a legend. At most kColours series.
std::string stacked(const std::string& caption, const std::vector<std::string>& series,
                    const std::vector<StackedRow>& rows);

// --- curves -------------------------------------------------------------------------------------

struct Point {
  double x = 0;  // 0 .. 1 of the axis
  double y = 0;  // in the axis's unit, above 0
};

struct Curve {
  std::string label;
  std::vector<Point> points;
};

struct Tick {
  double x = 0;
  std::string label;
};

// Curves over a given horizontal axis; the vertical one is logarithmic, in nanoseconds.
std::string curves(const std::string& caption, const std::vector<Tick>& axis,
                   const std::vector<Curve>& all);

// --- flame graphs -------------------------------------------------------------------------------

struct Flame {
  std::string label;
  std::int64_t value = 0;  // nanoseconds, at least the sum of its children
  std::vector<Flame> children;
};

// The root at the top, as wide as the picture.
std::string flame(const Flame& root);

}  // namespace tapestry::app::chart
