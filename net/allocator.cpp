#include <utility>

#include "net/socket_memory.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

using sched::Work;

core::PacketPtr Allocator::allocate(core::Origin origin, std::size_t buffer_bytes) {
  sched::Cpu& cpu = environment_.scheduler.cpu();
  cpu.charge(Work::packet_alloc);
  if (buffer_bytes > kPageBytes) cpu.charge(Work::packet_pages);
  return environment_.packets.allocate(origin);
}

void Allocator::let_go_of_owner(core::Packet& packet) {
  sched::Cpu& cpu = environment_.scheduler.cpu();
  if (!packet.shared) cpu.charge(Work::packet_free);
  if (!packet.has_owner()) return;
  cpu.settle();
  packet.orphan();
}

void Allocator::free(core::PacketPtr packet, core::Outcome outcome) {
  let_go_of_owner(*packet);
  core::consume(std::move(packet), outcome);
}

void Allocator::drop(core::PacketPtr packet, core::DropReason reason) {
  let_go_of_owner(*packet);
  core::drop(std::move(packet), reason);
}

}  // namespace tapestry::net
