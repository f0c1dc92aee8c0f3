// Capture points: every frame that passes a device, in both directions; and every packet that is
// dropped, wherever that happens.
//
// They hang on probes: no cost, no influence. A checksum that the device would still have filled in
// is filled in in the file, since a file full of "incorrect" checksums helps nobody; the frame
// itself stays as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/ledger.hpp"
#include "core/probe.hpp"
#include "core/timeline.hpp"
#include "net/device.hpp"
#include "observe/capture_file.hpp"

namespace tapestry::observe {

struct CaptureOptions {
  std::uint32_t snap_length = CaptureFile::kWholeFrames;
  bool complete_checksums = true;  // false: the bytes as they are at this point
};

class Capture {
 public:
  // The device outlives it. Several captures may share a file, each as a point of its own.
  Capture(net::Device& device, std::shared_ptr<CaptureFile> file, std::size_t point,
          CaptureOptions options);

  std::uint64_t frames() const { return frames_; }

 private:
  void frame(const core::Packet& packet, core::Direction direction);

  std::shared_ptr<CaptureFile> file_;
  std::size_t point_;
  CaptureOptions options_;
  const core::Timeline& timeline_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t frames_ = 0;
  core::ProbeHandle watcher_;
};

// Dropped packets as far as they are Ethernet frames, from their mac header on, each with the
// reason as its comment.
class DropCapture {
 public:
  // The ledger and the timeline outlive it.
  DropCapture(core::Ledger& ledger, const core::Timeline& timeline,
              std::shared_ptr<CaptureFile> file, std::size_t point);

  std::uint64_t frames() const { return frames_; }

 private:
  void dropped(const core::Packet& packet, core::DropReason reason);

  std::shared_ptr<CaptureFile> file_;
  std::size_t point_;
  const core::Timeline& timeline_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t frames_ = 0;
  core::ProbeHandle watcher_;
};

}  // namespace tapestry::observe
