// A capture point: writes every frame that passes a device, in both directions.
//
// It hangs on a probe: no cost, no influence. A checksum that the device would still have filled in
// is filled in in the file, since a file full of "incorrect" checksums helps nobody; the frame
// itself stays as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/probe.hpp"
#include "net/device.hpp"
#include "observe/pcap_writer.hpp"

namespace tapestry::observe {

struct CaptureOptions {
  std::uint32_t snap_length = PcapWriter::kWholeFrames;
  bool complete_checksums = true;  // false: the bytes as they are at this point
};

class Capture {
 public:
  // The device outlives it.
  Capture(net::Device& device, std::unique_ptr<PcapWriter> writer, CaptureOptions options);

  std::uint64_t frames() const { return writer_->frames(); }
  std::string close() { return writer_->close(); }

 private:
  void frame(const core::Packet& packet);

  std::unique_ptr<PcapWriter> writer_;
  CaptureOptions options_;
  const core::Timeline& timeline_;
  std::vector<std::uint8_t> bytes_;
  core::ProbeHandle watcher_;
};

}  // namespace tapestry::observe
