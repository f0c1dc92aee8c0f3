#include "observe/capture.hpp"

#include <algorithm>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/stack.hpp"

namespace tapestry::observe {

Capture::Capture(net::Device& device, std::unique_ptr<PcapWriter> writer, CaptureOptions options)
    : writer_(std::move(writer)),
      options_(options),
      timeline_(device.stack().timeline()),
      watcher_(device.on_frame.watch(
          [this](const core::Packet& packet, core::Direction) { frame(packet); })) {}

void Capture::frame(const core::Packet& packet) {
  const bool finish =
      options_.complete_checksums && packet.checksum == core::ChecksumState::partial;
  const std::size_t length = packet.length();
  // A checksum covers the whole frame, whatever is kept of it.
  bytes_.resize(finish ? length : std::min<std::size_t>(length, options_.snap_length));
  packet.copy_out(0, bytes_);
  if (finish) {
    const std::size_t start = packet.checksum_start();
    const std::span<const std::uint8_t> covered(bytes_.data() + start, length - start);
    std::uint16_t sum = core::internet_checksum(covered);
    if (sum == 0) sum = 0xffff;  // in UDP, 0 says that there is none
    core::store_be16(bytes_.data() + start + packet.checksum_offset, sum);
  }
  const std::size_t kept = std::min<std::size_t>(bytes_.size(), options_.snap_length);
  writer_->write(timeline_.now(), {bytes_.data(), kept}, length);
}

}  // namespace tapestry::observe
