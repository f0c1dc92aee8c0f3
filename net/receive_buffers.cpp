// Packets for drivers with rings: allocated, freed and dropped many at a time, and paid for
// together.
#include "net/stack.hpp"

namespace tapestry::net {

using sched::Work;

std::size_t Allocator::allocate_receive_buffers(core::PacketBatch& into, std::size_t count) {
  std::size_t allocated = 0;
  for (; allocated < count; ++allocated) {
    core::PacketPtr packet = environment_.packets.allocate(core::Origin::host_copy);
    if (!packet) break;
    into.push_back(std::move(packet));
  }
  sched::Cpu& cpu = environment_.scheduler.cpu();
  if (allocated != 0) {
    cpu.charge(Work::receive_refill, static_cast<std::int64_t>(allocated));
    cpu.charge(Work::packet_alloc, static_cast<std::int64_t>(allocated));
  }
  cpu.settle();  // the ring is shared with the card
  return allocated;
}

void Allocator::free_transmitted(core::PacketBatch& sent) {
  if (sent.empty()) return;
  sched::Cpu& cpu = environment_.scheduler.cpu();
  const auto count = static_cast<std::int64_t>(sent.size());
  std::int64_t freed = 0;
  for (const core::Packet& packet : sent)
    freed += packet.shared ? 0 : 1;
  cpu.charge(Work::driver_clean, count);
  if (freed != 0) cpu.charge(Work::packet_free, freed);
  while (!sent.empty()) {
    cpu.settle();  // an owner may wake a thread
    core::consume(sent.take_front());
  }
  cpu.settle();
}

void Allocator::drop_all(core::PacketBatch& unsent, core::DropReason reason) {
  sched::Cpu& cpu = environment_.scheduler.cpu();
  while (!unsent.empty()) {
    core::PacketPtr packet = unsent.take_front();
    if (packet->length() == 0)
      free(std::move(packet));
    else
      drop(std::move(packet), reason);
  }
  cpu.settle();
}

}  // namespace tapestry::net
