// How one frame crosses the line between a kernel and the program behind a descriptor: by a copy.
//
// The copy is a packet of its own that stands in for the original: same bytes, same birth, flow and
// id, so that the records of capture points on both sides join, and the same weight. Payload blocks
// are shared, since they are immutable; what the copy costs in time is for the caller to charge.
//
// What a virtual header says (unfinished checksum, segmentation) crosses only if both sides agreed
// on one. Without it the bytes stay as they are: a checksum that was left to hardware stays
// unfinished, and nobody is told.
#pragma once

#include "core/packet.hpp"
#include "host/packet_io.hpp"

namespace tapestry::host {

// What of a packet's marks crosses beside the bytes.
enum class VnetHeader : std::uint8_t {
  none,     // nothing
  written,  // to the kernel: unfinished checksum, segmentation
  read  // from the kernel: these, and that the checksum was verified (VIRTIO_NET_HDR_F_DATA_VALID)
};

// Appends the whole of `frame` to `copy`, an empty packet, and makes it stand in for it. False,
// with `copy` as it was, if there is no payload block for bytes that must be copied.
bool copy_frame(const core::Packet& frame, core::Packet& copy, VnetHeader header);

// Ends `frame`, which the reader takes into its slot: as many bytes as the slot has room for; the
// rest is gone, as a short read leaves it. A slot without a packet loses all of it. Returns the
// bytes stored.
std::size_t store_frame(core::PacketPtr frame, ReceiveSlot& slot, VnetHeader header);

}  // namespace tapestry::host
