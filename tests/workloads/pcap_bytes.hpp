// Capture files byte by byte, as any program may have written them, and frames to put into them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::tests {

struct PcapFormat {
  bool nanoseconds = true;
  bool big_endian = false;
  std::uint32_t snap_length = 262'144;
  std::uint32_t link_type = 1;  // Ethernet
};

class PcapBytes {
 public:
  explicit PcapBytes(PcapFormat format = {}) : format_(format) {
    add32(format.nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
    add16(2);
    add16(4);
    add32(0);
    add32(0);
    add32(format.snap_length);
    add32(format.link_type);
  }

  // `fraction` in the format's unit. By default nothing was cut off.
  PcapBytes& record(std::uint32_t seconds, std::uint32_t fraction, const std::string& frame) {
    return record(seconds, fraction, static_cast<std::uint32_t>(frame.size()),
                  static_cast<std::uint32_t>(frame.size()), frame);
  }
  PcapBytes& record(std::uint32_t seconds, std::uint32_t fraction, std::uint32_t captured,
                    std::uint32_t length, const std::string& bytes) {
    add32(seconds);
    add32(fraction);
    add32(captured);
    add32(length);
    text_ += bytes;
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  void add16(std::uint32_t value) { add(value, 2); }
  void add32(std::uint32_t value) { add(value, 4); }
  void add(std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int place = format_.big_endian ? bytes - 1 - i : i;
      text_ += static_cast<char>(value >> (8 * place) & 0xff);
    }
  }

  PcapFormat format_;
  std::string text_;
};

// An Ethernet frame of a protocol that nobody speaks, from a local MAC that ends in `source`.
inline std::string plain_frame(std::uint8_t source, std::size_t length = 60, char fill = 'x') {
  std::string frame("\x02\0\0\0\0\x63\x02\0\0\0\0", 11);
  frame += static_cast<char>(source);
  frame += "\x88\xb5";
  if (frame.size() < length) frame.append(length - frame.size(), fill);
  return frame;
}

}  // namespace tapestry::tests
