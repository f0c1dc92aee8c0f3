#include "observe/capture.hpp"

#include <algorithm>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/stack.hpp"

namespace tapestry::observe {

Capture::Capture(net::Device& device, std::shared_ptr<CaptureFile> file, std::size_t point,
                 CaptureOptions options)
    : file_(std::move(file)),
      point_(point),
      options_(options),
      timeline_(device.stack().timeline()),
      watcher_(device.on_frame.watch([this](const core::Packet& packet, core::Direction direction) {
        frame(packet, direction);
      })) {}

void Capture::frame(const core::Packet& packet, core::Direction direction) {
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
  file_->write(point_, timeline_.now(), {bytes_.data(), kept}, length,
               {.direction = direction, .id = packet.id, .queue = packet.queue});
  ++frames_;
}

DropCapture::DropCapture(core::Ledger& ledger, const core::Timeline& timeline,
                         std::shared_ptr<CaptureFile> file, std::size_t point)
    : file_(std::move(file)),
      point_(point),
      timeline_(timeline),
      watcher_(ledger.on_drop.watch([this](const core::Packet& packet, core::DropReason reason) {
        dropped(packet, reason);
      })) {}

void DropCapture::dropped(const core::Packet& packet, core::DropReason reason) {
  if (!packet.has_mac_header()) return;
  // Headers that were stripped are still there, in front of the front.
  const auto stripped = static_cast<std::size_t>(packet.data() - packet.mac_header());
  if (packet.mac_header() > packet.data()) return;
  const std::size_t length = stripped + packet.length();
  bytes_.resize(length);
  std::copy_n(packet.mac_header(), stripped, bytes_.begin());
  packet.copy_out(0, std::span(bytes_).subspan(stripped));
  const std::string comment = "dropped: " + std::string(core::name_of(reason));
  file_->write(point_, timeline_.now(), bytes_, length,
               {.direction = packet.direction, .id = packet.id, .queue = {}, .comment = comment});
  ++frames_;
}

}  // namespace tapestry::observe
