// Walking and making paths.
#include "app/scenario/tree_path.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tapestry::app {
namespace {

bool ends_key(std::string_view rest, std::size_t length) {
  return rest.size() == length || rest[length] == '.' || rest[length] == '[';
}

// The length of the key at the front of `rest` within `map`, whose own key is `map_key`.
std::size_t key_length(const Value* map, std::string_view map_key, std::string_view rest) {
  std::size_t longest = 0;
  if (map != nullptr) {
    for (const Value::Entry& entry : map->entries) {
      const std::string_view key = entry.key;
      if (rest.substr(0, key.size()) == key && ends_key(rest, key.size())) {
        longest = std::max(longest, key.size());
      }
    }
  }
  if (longest > 0) return longest;
  if (map_key == "sysctl" || map_key == "matrix" || map_key == "sides") return rest.size();
  std::size_t end = rest.find_first_of(".[");
  if (map_key == "devices" && end != std::string_view::npos && rest[end] == '.') {
    end = rest.find_first_of(".[", end + 1);
  }
  return std::min(end, rest.size());
}

class Walk {
 public:
  Walk(Value& root, const Assignment& assignment)
      : value_(&root), assignment_(assignment), rest_(assignment.path) {}

  std::optional<Diagnostic> run() {
    while (!rest_.empty()) {
      std::optional<Diagnostic> fault = rest_.front() == '[' ? step_into_list() : step_into_map();
      if (fault) return fault;
    }
    *value_ = assignment_.value;
    return std::nullopt;
  }

 private:
  Position here() const {
    Position at = assignment_.at;
    at.column += static_cast<int>(assignment_.path.size() - rest_.size());
    return at;
  }

  std::string walked() const { return value_->path.empty() ? "the scenario" : value_->path; }

  std::optional<Diagnostic> step_into_map() {
    if (value_->is_empty()) value_->kind = Value::Kind::map;
    if (!value_->is_map()) {
      return Diagnostic{here(), walked() + " is " + describe(*value_) + ": it has no entries", {}};
    }
    const std::string_view key = rest_.substr(0, key_length(value_, key_, rest_));
    if (key.empty()) return Diagnostic{here(), "a name is missing in the path", {}};
    Value::Entry* entry = value_->find(key);
    if (entry == nullptr) {
      Value fresh;
      fresh.at = here();
      fresh.path = join_path(value_->path, key);
      value_->entries.push_back({std::string(key), here(), std::move(fresh)});
      entry = &value_->entries.back();
    }
    key_ = key;
    value_ = &entry->value;
    rest_.remove_prefix(key.size());
    return skip_dot();
  }

  std::optional<Diagnostic> step_into_list() {
    std::size_t index = 0;
    const char* const begin = rest_.data() + 1;
    const auto [end, error] = std::from_chars(begin, rest_.data() + rest_.size(), index);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    if (error != std::errc{} || length == rest_.size() || *end != ']') {
      return Diagnostic{here(), "expected a number in brackets, such as [0]", {}};
    }
    if (!value_->is_list() || index >= value_->items.size()) {
      const std::size_t count = value_->is_list() ? value_->items.size() : 0;
      return Diagnostic{
          here(),
          walked() + " has no item [" + std::to_string(index) + "]: it is " +
              (value_->is_list() ? "a list of " + std::to_string(count) : describe(*value_)),
          {}};
    }
    value_ = &value_->items[index];
    key_ = {};
    rest_.remove_prefix(length + 1);
    return skip_dot();
  }

  std::optional<Diagnostic> skip_dot() {
    if (rest_.empty() || rest_.front() == '[') return std::nullopt;
    if (rest_.front() != '.') return Diagnostic{here(), "expected '.' or '[' in the path", {}};
    rest_.remove_prefix(1);
    if (rest_.empty()) return Diagnostic{here(), "a name is missing in the path", {}};
    return std::nullopt;
  }

  Value* value_;
  const Assignment& assignment_;
  std::string_view rest_;
  std::string_view key_;  // the key that led to value_
};

}  // namespace

std::optional<Diagnostic> assign(Value& root, const Assignment& assignment) {
  return Walk(root, assignment).run();
}

PathHead head_of(std::string_view path, const Value& root) {
  PathHead head;
  const std::size_t end = key_length(&root, {}, path);
  head.section = path.substr(0, end);
  const bool holds_things = head.section == "machines" || head.section == "devices" ||
                            head.section == "links" || head.section == "workloads";
  if (!holds_things || end == path.size() || path[end] != '.') return head;
  const std::string_view rest = path.substr(end + 1);
  const Value::Entry* const section = root.find(head.section);
  const std::size_t length =
      key_length(section != nullptr ? &section->value : nullptr, head.section, rest);
  head.thing = rest.substr(0, length);
  head.thing_offset = end + 1;
  head.inside_thing = length < rest.size();
  return head;
}

}  // namespace tapestry::app
