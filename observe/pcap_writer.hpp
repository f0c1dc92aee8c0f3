// Writes captures: classic pcap with nanoseconds, through libpcap, in records that are whole.
//
// The file is complete after every flush and when the writer is destroyed, on whatever path. What
// the disk refuses is remembered and told by close().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "observe/capture_file.hpp"

namespace tapestry::observe {

class PcapWriter final : public CaptureFile {
 public:
  // Creates or replaces the file. `snap_length`: bytes kept of each frame, at least 1.
  static core::Result<std::unique_ptr<PcapWriter>> create(const std::string& path,
                                                          std::uint32_t snap_length = kWholeFrames);
  ~PcapWriter() override;

  // `length`: of the frame, of which `bytes` are the first min(length, snap length).
  void write(core::Instant at, std::span<const std::uint8_t> bytes, std::size_t length);

  // A file of this format has one point and no room for notes.
  void write(std::size_t, core::Instant at, std::span<const std::uint8_t> bytes, std::size_t length,
             const Notes&) override {
    write(at, bytes, length);
  }

  std::uint32_t snap_length() const { return snap_length_; }
  std::uint64_t frames() const { return frames_; }

  // Empty if every record reached the file.
  std::string close() override;

 private:
  struct Handles;
  PcapWriter(std::string path, std::uint32_t snap_length, std::unique_ptr<Handles> handles);

  std::string path_;
  std::uint32_t snap_length_;
  std::unique_ptr<Handles> handles_;
  std::uint64_t frames_ = 0;
};

}  // namespace tapestry::observe
