// One packet of a trace, encoded in place. Events are most of a trace, and
// a trace must not take longer than the run it is of.
#pragma once

#include <protozero/types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tapestry::observe {

// Appends to an area that has room; a message inside of another one is opened and closed. Messages
// are shorter than 128 bytes, so that their length, known when they are closed, takes one byte.
class EventWriter {
 public:
  explicit EventWriter(char* area) : end_(area) {}

  void add(protozero::pbf_tag_type tag, std::uint64_t value) {
    key(tag, protozero::pbf_wire_type::varint);
    varint(value);
  }
  void add_fixed64(protozero::pbf_tag_type tag, std::uint64_t value) {
    key(tag, protozero::pbf_wire_type::fixed64);
    std::memcpy(end_, &value, sizeof value);  // little endian, as the processors that we run on
    end_ += sizeof value;
  }
  // Returns what `close` wants.
  char* open(protozero::pbf_tag_type tag) {
    key(tag, protozero::pbf_wire_type::length_delimited);
    return end_++;
  }
  void close(char* opened) { *opened = static_cast<char>(end_ - opened - 1); }
  char* end() const { return end_; }

 private:
  void key(protozero::pbf_tag_type tag, protozero::pbf_wire_type type) {
    varint(tag << 3 | static_cast<std::uint32_t>(type));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      *end_++ = static_cast<char>(value | 0x80);
    *end_++ = static_cast<char>(value);
  }

  char* end_;
};

}  // namespace tapestry::observe
