// What a tap and a packet socket have in common: a frame becomes a packet of the host's, or stops
// being one, by a copy, and both cost the same.
#pragma once

#include "core/packet.hpp"
#include "host/frame_copy.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "sched/cpu.hpp"

namespace tapestry::host::sim {

// The frame as a packet of the host's, marked as what comes from a device or goes to one. Empty if
// there is no memory. Charges nothing, so that a caller that has just seen room in its send buffer
// can take it: charge_copy_into_host follows.
core::PacketPtr copy_into_host(net::Stack& stack, const core::Packet& frame, VnetHeader header);

inline void charge_copy_into_host(sched::Cpu& cpu, core::Packet& packet, core::CacheOwner from) {
  cpu.charge(sched::Work::packet_alloc);
  if (packet.length() > net::kPageBytes) cpu.charge(sched::Work::packet_pages);
  cpu.charge(sched::Work::user_copy_io, 1, static_cast<std::int64_t>(packet.length()));
  cpu.charge_cold_read(from, static_cast<std::int64_t>(packet.length()));
  packet.payload_owner = cpu.cache_owner();
}

// For a packet that was copied out to a reader's buffer and is freed. `from`: whose its bytes were.
inline void charge_copy_out_of_host(sched::Cpu& cpu, ReceiveSlot& slot, core::CacheOwner from) {
  cpu.charge(sched::Work::user_copy_io, 1, static_cast<std::int64_t>(slot.length));
  cpu.charge_cold_read(from, static_cast<std::int64_t>(slot.length));
  cpu.charge(sched::Work::packet_free);
  if (slot.packet) slot.packet->payload_owner = cpu.cache_owner();
}

}  // namespace tapestry::host::sim
