// What is wrong with a scenario, and exactly where.
//
// A place is a line and a column of the scenario file or of one --set argument. Lines and columns
// count from 1; columns count bytes, as compilers do. Nothing in app/scenario throws to its caller:
// every fault becomes a Diagnostic, and a reader goes on after a fault so that one run shows them
// all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tapestry::app {

enum class Source : unsigned char {
  file,         // the scenario file
  command_line  // a --set argument: `line` is its number, counted from 1
};

struct Position {
  Source source = Source::file;
  int line = 1;
  int column = 1;

  friend bool operator==(const Position&, const Position&) = default;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// `file:line:column`, or `--set:number:column`.
std::string to_string(const Position& at, std::string_view file_name);

struct Diagnostic {
  Position at;
  std::string text;  // one line, no full stop
  std::string hint;  // what to write instead; may be empty

  // `file:line:column: error: text` and, if there is a hint, a second line `hint: ...`.
  std::string format(std::string_view file_name) const;

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// Collects diagnostics in the order found, drops exact repetitions, and hands them out in the order
// of the file. Bounded: the first kMostDiagnostics in file order are kept.
class Diagnostics {
 public:
  static constexpr std::size_t kMostDiagnostics =
      20;  // a screenful; the rest follows from these anyway

  void add(Position at, std::string text, std::string hint = {});
  void add(Diagnostic diagnostic);

  bool empty() const { return found_.empty(); }
  std::size_t size() const { return found_.size(); }
  const std::vector<Diagnostic>& all() const { return found_; }

  // Sorted by position, at most kMostDiagnostics.
  std::vector<Diagnostic> sorted() const;

 private:
  static constexpr std::size_t kMostCollected = 1000;

  std::vector<Diagnostic> found_;
};

}  // namespace tapestry::app
