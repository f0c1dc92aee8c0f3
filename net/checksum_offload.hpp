// Unfinished transport checksums: the stack leaves the sum of the pseudo header in the field and
// marks where to go on; a device that can do it, or the framework before a device that cannot,
// finishes (CHECKSUM_PARTIAL, skb_checksum_help).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet.hpp"

namespace tapestry::net {

// Marks a checksum over [start, end of packet) as to be finished; its field, `offset` bytes behind
// `start`, already holds the sum of the pseudo header. `start` counts from the front.
void mark_unfinished_checksum(core::Packet& packet, std::size_t start, std::size_t offset);

// Finishes what is marked: the state becomes `none`, and the bytes are right. The field must be
// linear or within reach of make_linear.
void finish_checksum(core::Packet& packet);

// Is the frame, from its Ethernet header on, TCP or UDP over unfragmented IPv4 with a transport
// checksum that is there and right? What a card with receive checksum offload finds out.
bool has_good_checksum(const core::Packet& frame);

}  // namespace tapestry::net
