// The virtio driver's way out.
#include <utility>

#include "transports/virtio/virtio_net.hpp"

namespace tapestry::transports {

net::Transmit VirtioNet::transmit(core::PacketPtr& packet, net::TxQueue& queue) {
  const bool more = packet->more;
  const std::size_t bytes = packet->length();
  free_old();
  packet->orphan();
  if (!add_frame(packet)) {
    // Only a queue that is too small for the packet, or broken, has no room here.
    environment_.allocator.drop(std::move(packet), core::DropReason::full_ring);
    return net::Transmit::dropped;
  }
  ++statistics_.tx_packets;
  statistics_.tx_bytes += bytes;
  stop_if_crowded(queue);
  if (queue.must_ring(more) && port_.transmit.kick_prepare()) {
    ++statistics_.tx_kicks;
    port_.transmit_notify.ring(1);
  }
  return net::Transmit::ok;
}

// The header goes into the headroom, and so into one piece with the linear part.
bool VirtioNet::add_frame(core::PacketPtr& packet) {
  std::array<std::uint32_t, 1 + core::Packet::kFragmentsMax> pieces;
  std::size_t count = 0;
  pieces[count++] =
      host::virtqueue::kNetHeaderBytes + static_cast<std::uint32_t>(packet->linear_length());
  for (const core::PayloadRef& fragment : packet->fragments())
    pieces[count++] = static_cast<std::uint32_t>(fragment.length());
  return port_.transmit.add(packet, {pieces.data(), count}, host::virtqueue::Access::device_reads);
}

void VirtioNet::stop_if_crowded(net::TxQueue& queue) {
  if (port_.transmit.unused() >= kRoomForPacket) return;
  queue.stop();
  if (port_.transmit.enable_callbacks_delayed()) return;
  free_old();
  if (port_.transmit.unused() < kRoomForPacket) return;
  queue.start();
  port_.transmit.disable_callbacks();
}

void VirtioNet::free_old() {
  while (auto completed = port_.transmit.take_used()) {
    if (!completed->packet) continue;
    sent_.push_back(std::move(completed->packet));
    if (sent_.full()) environment_.allocator.free_transmitted(sent_);
  }
  environment_.allocator.free_transmitted(sent_);
}

// skb_xmit_done: whoever waits for room looks for it by itself.
void VirtioNet::transmit_done() {
  port_.transmit.disable_callbacks();
  environment_.device.queue().wake();
}

}  // namespace tapestry::transports
