// UML's own way to describe a vector device: vec0:transport=tap,ifname=tap0,depth=128,gro=1
//
// Read exactly: a transport is one of its names, not something that begins like one; a key stands
// once and has a value; more pairs than the driver's table of 20 holds are refused. UML itself is
// more lenient, and people lose options that way.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::app {

inline constexpr std::size_t kMostVectorOptions = 20;  // the driver's table (vector_user.h)
inline constexpr int kHighestVectorIndex = 15;         // vec0 .. vec15

struct VectorOption {
  std::string key;             // one of vector_option_keys()
  std::string value;           // not empty
  std::size_t key_offset = 0;  // bytes from the beginning of the line
  std::size_t value_offset = 0;
};

struct VectorLine {
  std::optional<int> index;  // of "vec0:"; absent if the line begins with its options
  std::vector<VectorOption>
      options;  // in the order of the line, each key once; transport and ifname present
};

struct ParsedVectorLine {
  std::optional<VectorLine> line;
  std::string error;       // if there is no line: why not
  std::string hint;        // may be empty
  std::size_t offset = 0;  // of the fault, in bytes from the beginning of the line
};

ParsedVectorLine parse_vector_line(std::string_view text);

}  // namespace tapestry::app
