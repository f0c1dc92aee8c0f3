#include "core/packet_pool.hpp"

#include <algorithm>
#include <new>

namespace tapestry::core {

PacketPool::PacketPool(std::size_t packets, PayloadPool::Bounds payload)
    : bound_(packets), payload_(payload) {}

// Packets still alive here would point into memory that goes: their owner outlived the pool.
PacketPool::~PacketPool() {
  TAPESTRY_ASSERT(in_use_ == 0, "the pool outlives everybody who holds a packet");
}

bool PacketPool::grow() {
  const std::size_t made = slabs_.size() * kSlabPackets;
  const std::size_t packets = std::min(bound_ - std::min(made, bound_), kSlabPackets);
  if (packets == 0) return false;
  slabs_.emplace_back(new Packet[kSlabPackets]);
  Packet* slab = slabs_.back().get();
  for (std::size_t i = packets; i-- > 0;) {
    slab[i].pool_ = this;
    slab[i].next_ = std::exchange(free_, &slab[i]);
  }
  return true;
}

void PacketPool::FreeSlab::operator()(Packet* slab) const { delete[] slab; }

Balance PacketPool::close() const {
  Tally in_flight;
  for_each_live([&](const Packet& packet) {
    ++in_flight.packets;
    in_flight.bytes += packet.weight();
  });
  return ledger_.close(in_flight);
}

// A merged packet has told of its end when it said what it became a part of.
void PacketPool::tell_end(const Packet& packet, Outcome outcome) const {
  if (outcome == Outcome::delivered)
    packet.reach(Milestone::delivered);
  else if (outcome == Outcome::consumed)
    packet.reach(Milestone::consumed);
}

void PacketPtr::release_without_verdict(Packet* packet) {
  packet->pool().end_dropped(packet, DropReason::not_specified);
}

}  // namespace tapestry::core
