// Software segmentation (GSO): what a device cannot cut is cut here, as late as possible, into
// packets of gso_size payload bytes each.
//
// The segments share the payload's bytes. Each gets the headers of the whole with its own IP
// length, identification and checksum; TCP's sequence number goes on, FIN and PSH stay with the
// last segment and CWR with the first. Transport checksums are left unfinished (partial): who sends
// them finishes them, the device or the framework before it.
#pragma once

#include "core/packet.hpp"
#include "net/device.hpp"

namespace tapestry::net {

// May the packet go to a device with these features and limits as it is (netif_needs_gso,
// gso_features_check)? True for a packet that asks for no segmentation.
bool takes_whole(const Features& features, const DeviceOptions& options,
                 const core::Packet& packet);

// Cuts `packet`, an Ethernet frame with gso_size, and puts its segments behind those in `into`,
// whose bound is raised as needed. Its owner's charge passes on to the segments. False, and the
// packet is still the caller's, if it is no frame of its gso_type, has no more than one segment, or
// there is no memory. Charges gso_segment and packet_alloc for each segment; returns settled.
bool segment(Stack& stack, core::PacketPtr& packet, core::PacketQueue& into);

// How many segments the payload of such a frame gives; 0 if it is no frame of its gso_type.
std::size_t segment_count(const core::Packet& packet);

// The bytes of Ethernet, IP and transport headers in front of the payload, for gso_type tcpv4 and
// udp_l4; 0 if the packet is none. Looks at its first bytes only, wherever they lie.
std::size_t gso_header_bytes(const core::Packet& packet);

// Segment `index`, counted from 0 and below segment_count, of a packet with gso_header_bytes of
// `headers`, which are linear; its transport checksum is left partial.
// Not accountable yet. Empty if there is no memory. Charges nothing: hardware cuts with this too.
core::PacketPtr cut_segment(const core::Packet& packet, std::size_t headers, std::size_t index,
                            core::Origin origin);

// What of the packet's weight is that segment's: what it is accountable for lies at its end, and
// what is not payload goes with the first.
std::uint64_t segment_weight(const core::Packet& packet, std::size_t headers, std::size_t index);

}  // namespace tapestry::net
