// Writes captures as pcapng (draft-ietf-opsawg-pcapng): one interface per capture point, and with
// each frame its direction, the packet's number, its queue and perhaps a comment. libpcap reads the
// format but cannot write it.
//
// Blocks are written whole, in the byte order of this machine, with times in nanoseconds. What the
// disk refuses is remembered and told by close().
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "observe/capture_file.hpp"

namespace tapestry::observe {

class PcapngWriter final : public CaptureFile {
 public:
  // Creates or replaces the file. `application` and `comment` go into the section header: who wrote
  // it, and from what scenario.
  static core::Result<std::unique_ptr<PcapngWriter>> create(const std::string& path,
                                                            std::string_view application,
                                                            std::string_view comment);
  ~PcapngWriter() override;

  // Before the first frame of that point. `snap_length`: bytes kept of each frame, at least 1.
  std::size_t add_point(std::string_view name, std::string_view description,
                        std::uint32_t snap_length = kWholeFrames);

  void write(std::size_t point, core::Instant at, std::span<const std::uint8_t> bytes,
             std::size_t length, const Notes& notes) override;
  std::string close() override;

 private:
  class Block;
  explicit PcapngWriter(std::string path) : path_(std::move(path)) {}
  void put(Block& block);

  std::string path_;
  std::vector<char> buffer_;
  std::FILE* file_ = nullptr;
  int error_ = 0;  // errno of the first write that failed
  std::vector<std::uint32_t> snap_lengths_;
  std::vector<std::uint8_t> block_;  // reused
};

}  // namespace tapestry::observe
