// Reading captures: classic pcap of either byte order, with microseconds or nanoseconds.
//
// The magic number says which, and every record is held to it: a fraction of a second beyond its
// range is an error, not a time. A file that ends in the middle of a record gives all whole records
// and a warning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"

namespace tapestry::workloads {

struct CapturedFrame {
  core::Nanos at{0};                // since the first frame of the file, never less than 0
  std::vector<std::uint8_t> bytes;  // as captured
  std::uint32_t length = 0;         // on the wire; more than bytes.size() if a snap length cut it
};

struct CaptureFile {
  std::vector<CapturedFrame> frames;
  std::string warning;  // empty: none
};

// The whole file, at most this much of it.
inline constexpr std::uint64_t kCaptureBytesMax = std::uint64_t{1} << 30;

// Errors name the file: not there, not a capture, not Ethernet, broken record, too large.
core::Result<CaptureFile> read_capture(const std::string& path);

}  // namespace tapestry::workloads
