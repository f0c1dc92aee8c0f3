#include "app/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/report/markup.hpp"
#include "app/results/layout.hpp"

namespace tapestry::app::chart {

namespace {

double percent_of(double value, double whole) {
  return whole > 0 ? std::clamp(value * 100.0 / whole, 0.0, 100.0) : 0.0;
}

std::string colour_class(std::size_t series) { return fmt::format("s{}", series % kColours); }

// --- curves: a picture of 480 by 260 with room for the axes ------------------------------------

constexpr double kLeft = 62, kRight = 452, kTop = 10, kBottom = 222;

struct LogScale {
  int low = 0;  // decades
  int high = 1;

  explicit LogScale(const std::vector<Curve>& all) {
    double least = 1e300, most = 1;
    for (const Curve& curve : all)
      for (const Point& point : curve.points) {
        least = std::min(least, std::max(point.y, 1.0));
        most = std::max(most, point.y);
      }
    low = static_cast<int>(std::floor(std::log10(std::min(least, most))));
    high = std::max(low + 1, static_cast<int>(std::ceil(std::log10(most))));
  }
  double y(double value) const {
    const double share = (std::log10(std::max(value, 1.0)) - low) / (high - low);
    return kBottom - share * (kBottom - kTop);
  }
};

void draw_axes(Markup& svg, const LogScale& scale, const std::vector<Tick>& axis) {
  for (int decade = scale.low; decade <= scale.high; ++decade) {
    const double value = std::pow(10.0, decade);
    const double y = scale.y(value);
    svg.empty("path", fmt::format("class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"", kLeft, y, kRight));
    svg.element("text", layout::duration(value),
                fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\"", kLeft - 6, y + 4));
  }
  for (const Tick& tick : axis) {
    const double x = kLeft + tick.x * (kRight - kLeft);
    svg.empty("path", fmt::format("class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"", x, kTop, kBottom));
    svg.element("text", tick.label,
                fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\"", x, kBottom + 18));
  }
}

std::string path_of(const Curve& curve, const LogScale& scale) {
  std::string path;
  for (const Point& point : curve.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                        kLeft + point.x * (kRight - kLeft), scale.y(point.y));
  return path;
}

void legend(Markup& html, const std::vector<std::string>& names) {
  html.open("ul", "class=\"legend\"");
  for (std::size_t i = 0; i < names.size(); ++i) {
    html.open("li").element("span", "", fmt::format("class=\"key {}\"", colour_class(i)));
    html.text(names[i]).close();
  }
  html.close();
}

// --- flame graphs -------------------------------------------------------------------------------

constexpr double kFlameWidth = 960;
constexpr double kFlameRow = 20;
constexpr double kLetter = 6.6;  // of the font's width at 12 pixels

std::size_t depth_of(const Flame& flame) {
  std::size_t deepest = 0;
  for (const Flame& child : flame.children)
    deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

void draw_flame(Markup& svg, const Flame& flame, double x, double width, std::size_t depth,
                std::int64_t whole) {
  const double y = static_cast<double>(depth) * kFlameRow;
  const std::string share = fmt::format(
      "{}: {} ({:.1f}%)", flame.label, layout::duration(static_cast<double>(flame.value)),
      percent_of(static_cast<double>(flame.value), static_cast<double>(whole)));
  svg.open("g").element("title", share);
  svg.empty("rect", fmt::format("class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                                "height=\"{:.1f}\"",
                                depth == 0 ? "root" : colour_class(depth - 1), x, y,
                                std::max(width - 1, 0.3), kFlameRow - 1));
  const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 8) / kLetter));
  if (letters >= 3) {
    const std::string label =
        flame.label.size() <= letters ? flame.label : flame.label.substr(0, letters - 1) + "…";
    svg.element("text", label, fmt::format("x=\"{:.1f}\" y=\"{:.1f}\"", x + 4, y + 14));
  }
  svg.close();
  double left = x;
  for (const Flame& child : flame.children) {
    const double share_of_parent =
        width * static_cast<double>(child.value) / static_cast<double>(flame.value);
    draw_flame(svg, child, left, share_of_parent, depth + 1, whole);
    left += share_of_parent;
  }
}

}  // namespace

std::string bars(const std::string& caption, const std::vector<Bar>& rows) {
  if (rows.empty()) return "";
  double most = 0;
  bool marked = false;
  for (const Bar& bar : rows) {
    most = std::max({most, bar.value, bar.marker.value_or(0)});
    marked = marked || bar.marker;
  }
  Markup html;
  html.open("table", "class=\"bars\"").element("caption", caption);
  if (marked)
    html.open("thead")
        .open("tr")
        .element("th", "")
        .element("th", "ours")
        .element("th", "")
        .element("th", "published")
        .close()
        .close();
  html.open("tbody");
  for (const Bar& bar : rows) {
    html.open("tr").element("th", bar.label, "scope=\"row\"").element("td", bar.text);
    html.open("td", "class=\"track\"").open("div", "class=\"line\"");
    html.element("i", "",
                 fmt::format("class=\"s0\" style=\"width:{:.2f}%\"", percent_of(bar.value, most)));
    if (bar.marker)
      html.element("b", "", fmt::format("style=\"left:{:.2f}%\"", percent_of(*bar.marker, most)));
    html.close().close();
    if (marked) html.element("td", bar.marker_text);
    html.close();
  }
  html.close().close();
  return html.take();
}

std::string stacked(const std::string& caption, const std::vector<std::string>& series,
                    const std::vector<StackedRow>& rows) {
  if (rows.empty()) return "";
  double most = 0;
  for (const StackedRow& row : rows) {
    double sum = 0;
    for (const Part& part : row.parts)
      sum += part.value;
    most = std::max(most, sum);
  }
  Markup html;
  html.open("figure").element("figcaption", caption);
  legend(html, series);
  html.open("table", "class=\"bars\"").open("tbody");
  for (const StackedRow& row : rows) {
    html.open("tr").element("th", row.label, "scope=\"row\"").element("td", row.total);
    html.open("td", "class=\"track\"").open("div", "class=\"line\"");
    for (std::size_t i = 0; i < row.parts.size(); ++i) {
      if (row.parts[i].value <= 0) continue;
      html.element("i", "",
                   fmt::format("class=\"{}\" style=\"width:{:.2f}%\" title=\"{} {}\"",
                               colour_class(i), percent_of(row.parts[i].value, most),
                               escaped(series[i]), escaped(row.parts[i].text)));
    }
    html.close().close().close();
  }
  html.close().close().close();
  return html.take();
}

std::string curves(const std::string& caption, const std::vector<Tick>& axis,
                   const std::vector<Curve>& all) {
  if (all.empty()) return "";
  const LogScale scale(all);
  Markup html;
  html.open("figure").element("figcaption", caption);
  html.open("svg", "viewBox=\"0 0 480 250\" class=\"curves\" role=\"img\"");
  html.element("title", caption);
  draw_axes(html, scale, axis);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    html.empty("path", fmt::format("class=\"curve {} d{}\" d=\"{}\"", colour_class(i), i / kColours,
                                   path_of(all[i], scale)));
    names.push_back(all[i].label);
  }
  html.close();
  legend(html, names);
  html.close();
  return html.take();
}

std::string flame(const Flame& root) {
  if (root.value <= 0) return "";
  Markup svg;
  svg.open("div", "class=\"wide\"");
  svg.open("svg", fmt::format("viewBox=\"0 0 {:.0f} {:.0f}\" class=\"flame\" role=\"img\"",
                              kFlameWidth, static_cast<double>(depth_of(root)) * kFlameRow));
  svg.element("title", root.label);
  draw_flame(svg, root, 0, kFlameWidth, 0, root.value);
  svg.close().close();
  return svg.take();
}

}  // namespace tapestry::app::chart
