// The tree's few operations.
#include "app/scenario/value.hpp"

#include <algorithm>
#include <utility>

namespace tapestry::app {

Value::Entry* Value::find(std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

const Value::Entry* Value::find(std::string_view key) const {
  return const_cast<Value*>(this)->find(key);
}

Value Value::scalar(std::string text, Position at, std::string path) {
  Value value;
  value.kind = Kind::scalar;
  value.at = at;
  value.path = std::move(path);
  value.text = std::move(text);
  return value;
}

std::string join_path(std::string_view parent, std::string_view key) {
  std::string path(parent);
  if (!path.empty()) path += '.';
  return path += key;
}

void move_to_path(Value& value, std::string_view path) {
  value.path = path;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    move_to_path(value.items[i], value.path + "[" + std::to_string(i) + "]");
  }
  for (Value::Entry& entry : value.entries) {
    move_to_path(entry.value, join_path(value.path, entry.key));
  }
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::empty:
      return "nothing";
    case Value::Kind::scalar:
      return quote(value.text);
    case Value::Kind::list:
      return "a list";
    case Value::Kind::map:
      return "a map";
  }
  return "nothing";
}

std::string quote(std::string_view text) {
  constexpr std::size_t kMost = 60;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string shown = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += c;
    } else if (c == '\n') {
      shown += "\\n";
    } else {
      shown += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
    }
  }
  if (text.size() > kMost) {
    while ((static_cast<unsigned char>(shown.back()) & 0xc0) == 0x80)
      shown.pop_back();
    if (static_cast<unsigned char>(shown.back()) >= 0xc0) shown.pop_back();  // half a character
    shown += "...";
  }
  return shown += "'";
}

}  // namespace tapestry::app
