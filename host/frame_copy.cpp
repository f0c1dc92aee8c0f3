#include "host/frame_copy.hpp"

#include <utility>

namespace tapestry::host {

bool copy_frame(const core::Packet& frame, core::Packet& copy, VnetHeader header) {
  TAPESTRY_ASSERT(copy.length() == 0, "a frame is copied into an empty packet");
  if (!copy.append_range(frame, 0, frame.length())) return false;
  copy.born = frame.born;
  copy.id = frame.id;
  copy.flow = frame.flow;
  copy.account(frame.weight());
  if (header == VnetHeader::none) return true;
  copy.gso_type = frame.gso_type;
  copy.gso_size = frame.gso_size;
  copy.gso_segments = frame.gso_segments;
  if (frame.checksum == core::ChecksumState::partial) {
    copy.checksum = core::ChecksumState::partial;
    copy.checksum_offset = frame.checksum_offset;
    copy.set_checksum_start(frame.checksum_start());
  } else if (header == VnetHeader::read) {
    copy.checksum = frame.checksum;
  }
  return true;
}

std::size_t store_frame(core::PacketPtr frame, ReceiveSlot& slot, VnetHeader header) {
  slot.truncated = frame->length() > slot.capacity;
  slot.length = 0;
  if (!slot.packet) {
    core::drop(std::move(frame), core::DropReason::nomem);
    return 0;
  }
  if (slot.truncated) frame->truncate_to(slot.capacity);
  if (!copy_frame(*frame, *slot.packet, header)) {
    core::drop(std::move(frame), core::DropReason::nomem);
    return 0;
  }
  slot.length = frame->length();
  core::consume(std::move(frame));
  return slot.length;
}

}  // namespace tapestry::host
