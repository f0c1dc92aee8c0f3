// A story: what happened, when and on which CPU, one line each; and the matcher that compares it
// with the one that a test tells.
//
//     story.log(cpu, "irq eth0");
//     CHECK_THAT(story, Tells(R"(
//            150  cpu0  irq eth0
//            400  cpu0  poll 64
//     )"));
//
// Instants are nanoseconds since the start. The width of gaps does not matter. A check that fails
// shows both stories in full, and marks the first line that differs.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/timeline.hpp"
#include "sched/cpu.hpp"

namespace tapestry::tests {

class Story {
 public:
  explicit Story(const core::Timeline& timeline) : timeline_(timeline) {}

  // Names of CPUs are given without their machine unless there are several: "cpu0", "b.cpu1".
  void log(const sched::Cpu& cpu, std::string_view text) { add(short_name(cpu.name()), text); }
  // For what no CPU does: devices, wires.
  void log(std::string_view who, std::string_view text) { add(std::string(who), text); }

  void name_machines() { names_machines_ = true; }

  const std::vector<std::string>& lines() const { return lines_; }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines_)
      all += "    " + line + "\n";
    return all;
  }

 private:
  std::string short_name(const std::string& name) const {
    const std::size_t dot = name.rfind('.');
    return names_machines_ || dot == std::string::npos ? name : name.substr(dot + 1);
  }
  void add(const std::string& who, std::string_view text) {
    std::ostringstream line;
    line.width(8);
    line << core::nanos_since_start(timeline_.now()) << "  ";
    line.width(5);
    line << std::left << who << "  " << text;
    lines_.push_back(line.str());
  }

  const core::Timeline& timeline_;
  bool names_machines_ = false;
  std::vector<std::string> lines_;
};

// One line without leading, trailing and repeated gaps.
inline std::string squeezed(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string result, word;
  while (words >> word)
    result += (result.empty() ? "" : " ") + word;
  return result;
}

class Tells : public Catch::MatcherBase<Story> {
 public:
  explicit Tells(std::string_view expected) {
    std::istringstream lines{std::string(expected)};
    for (std::string line; std::getline(lines, line);) {
      if (!squeezed(line).empty()) expected_.push_back(squeezed(line));
    }
  }

  bool match(const Story& story) const override {
    const std::size_t same = common_prefix(story);
    first_difference_ = same;
    return same == expected_.size() && same == story.lines().size();
  }

  std::string describe() const override {
    std::string text = "\nshould have told\n";
    for (std::size_t i = 0; i < expected_.size(); ++i)
      text += (i == first_difference_ ? "  > " : "    ") + expected_[i] + "\n";
    return text + "(first difference in line " + std::to_string(first_difference_ + 1) + ")";
  }

 private:
  std::size_t common_prefix(const Story& story) const {
    std::size_t same = 0;
    while (same < expected_.size() && same < story.lines().size() &&
           expected_[same] == squeezed(story.lines()[same]))
      ++same;
    return same;
  }

  std::vector<std::string> expected_;
  mutable std::size_t first_difference_ = 0;
};

}  // namespace tapestry::tests

namespace Catch {
template <>
struct StringMaker<tapestry::tests::Story> {
  static std::string convert(const tapestry::tests::Story& story) {
    return "the story\n" + story.text();
  }
};
template <>
struct StringMaker<tapestry::sched::SettleMode> {
  static std::string convert(tapestry::sched::SettleMode mode) {
    static const char* const kNames[] = {"always", "seams", "random"};
    return kNames[static_cast<std::size_t>(mode)];
  }
};
}  // namespace Catch
