// The hash that a card gives to the frames of one flow (RSS), over addresses and ports.
//
// Cards hash with a key that the kernel draws at random when it starts; here is one fixed mixing
// function in its place.
#pragma once

#include <cstdint>

#include "core/packet.hpp"

namespace tapestry::net {

// Of a frame from its Ethernet header on: never 0 for IPv4, where fragments have that of their
// addresses alone; 0 for anything else.
std::uint32_t flow_hash(const core::Packet& frame);

}  // namespace tapestry::net
