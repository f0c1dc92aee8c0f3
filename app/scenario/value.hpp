// A scenario as a tree: YAML without its types, with a position and a path at every value.
//
// Maps keep the order of the file. Scalars stay text: whether `on` or `1.10` is a name, a flag or a
// number is decided by the attribute that reads it, never by its looks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/diagnostic.hpp"

namespace tapestry::app {

struct Value {
  enum class Kind : unsigned char {
    empty,   // nothing was written
    scalar,  // `text`
    list,    // `items`
    map      // `entries`
  };

  struct Entry;

  Kind kind = Kind::empty;
  bool quoted = false;  // a scalar in quotes or in a block; only the way to JSON cares
  Position at;          // of an empty value: where its key stands
  std::string path;     // "devices.guest.vec0.depth", "expect[2].that"; "" for the whole scenario
  std::string text;
  std::vector<Value> items;
  std::vector<Entry> entries;

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_empty() const { return kind == Kind::empty; }

  // The entry of a map under `key`; nothing if there is none or this is no map.
  Entry* find(std::string_view key);
  const Entry* find(std::string_view key) const;

  static Value scalar(std::string text, Position at, std::string path);
};

struct Value::Entry {
  std::string key;
  Position key_at;
  Value value;
};

// "devices" + "guest.vec0" is "devices.guest.vec0"; "" + "seed" is "seed".
std::string join_path(std::string_view parent, std::string_view key);

// Renames `value` and everything below it: it is now reached by `path`.
void move_to_path(Value& value, std::string_view path);

// "a map", "a list", "'text'" or "nothing": what somebody found where something else belongs.
std::string describe(const Value& value);

// `text` in single quotes, control characters made visible, cut to a length that fits a message.
std::string quote(std::string_view text);

}  // namespace tapestry::app
