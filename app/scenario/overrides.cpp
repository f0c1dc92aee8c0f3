// Splitting an argument at its first '=' and reading what follows as YAML.
#include "app/scenario/overrides.hpp"

#include <optional>
#include <utility>

#include "app/scenario/guards.hpp"
#include "app/scenario/yaml_reader.hpp"

namespace tapestry::app {
namespace {

constexpr const char* kShape = "write path.to.key=value, for example devices.guest.vec0.depth=128";

std::optional<Assignment> parse_override(const std::string& argument, int number,
                                         Diagnostics& diagnostics) {
  const auto at = [number](std::size_t offset) {
    return Position{Source::command_line, number, static_cast<int>(offset) + 1};
  };
  GuardedText guarded = guard_text(argument);
  if (guarded.refusal) {
    diagnostics.add(at(static_cast<std::size_t>(guarded.refusal->at.column - 1)),
                    guarded.refusal->text, {});
    return std::nullopt;
  }
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    diagnostics.add(at(0), equals == 0 ? "the path is missing before '='" : "no '=' in --set",
                    kShape);
    return std::nullopt;
  }
  Assignment assignment{argument.substr(0, equals), at(0), {}};
  std::optional<Value> value = read_yaml(argument.substr(equals + 1), diagnostics, at(equals + 1));
  if (!value) return std::nullopt;
  if (value->is_empty()) {
    diagnostics.add(at(equals + 1), "the value is missing after '='", kShape);
    return std::nullopt;
  }
  assignment.value = std::move(*value);
  move_to_path(assignment.value, assignment.path);
  return assignment;
}

}  // namespace

std::vector<Assignment> parse_overrides(const std::vector<std::string>& arguments,
                                        Diagnostics& diagnostics) {
  std::vector<Assignment> assignments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto parsed = parse_override(arguments[i], static_cast<int>(i) + 1, diagnostics);
    if (parsed) assignments.push_back(std::move(*parsed));
  }
  return assignments;
}

}  // namespace tapestry::app
