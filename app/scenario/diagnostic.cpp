// Formatting and ordering of diagnostics.
#include "app/scenario/diagnostic.hpp"

#include <algorithm>
#include <utility>

namespace tapestry::app {

std::string to_string(const Position& at, std::string_view file_name) {
  const std::string_view source = at.source == Source::file ? file_name : "--set";
  return std::string(source) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string Diagnostic::format(std::string_view file_name) const {
  std::string line = to_string(at, file_name) + ": error: " + text;
  if (!hint.empty()) line += "\nhint: " + hint;
  return line;
}

void Diagnostics::add(Position at, std::string text, std::string hint) {
  add(Diagnostic{at, std::move(text), std::move(hint)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (found_.size() >= kMostCollected) return;
  if (std::find(found_.begin(), found_.end(), diagnostic) != found_.end()) return;
  found_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> in_order = found_;
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.at < b.at; });
  if (in_order.size() > kMostDiagnostics) in_order.resize(kMostDiagnostics);
  return in_order;
}

}  // namespace tapestry::app
