// Paths such as `devices.guest.vec0.depth`: how --set and a matrix name a place in the tree.
//
// Keys may contain dots themselves (guest.vec0, net.core.netdev_budget). A path is split by what is
// there: at each map the longest key that fits is taken. Where nothing is there yet, the key of a
// device has one dot, a sysctl or matrix key is all that remains, and any other key ends at the
// next dot.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

struct Assignment {
  std::string path;
  Position at;  // of the path's first character
  Value value;
};

// Puts the value at the path, over whatever is there, making maps on the way; the value keeps the
// path that messages name it by. Returns a fault if the path runs through something that is no map
// or list, or past the end of a list.
std::optional<Diagnostic> assign(Value& root, const Assignment& assignment);

// The first key of a path and, in the sections that hold named things, the thing's name: "devices"
// and "guest.vec0". `thing` is empty in other sections or if the path ends before it.
struct PathHead {
  std::string section;
  std::string thing;
  std::size_t thing_offset = 0;  // of `thing` in the path
  bool inside_thing = false;     // the path goes on behind `thing`
};
PathHead head_of(std::string_view path, const Value& root);

}  // namespace tapestry::app
