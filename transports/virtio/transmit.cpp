// The virtio driver's way out.
#include <utility>

#include "transports/virtio/queue_pair.hpp"

namespace tapestry::transports {

net::Transmit VirtioQueuePair::transmit(core::PacketPtr& packet, net::TxQueue& queue) {
  const bool more = packet->more;
  const std::size_t bytes = packet->length();
  clean_before(more);
  if (!transmit_polls_) packet->orphan();
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
    port_.transmit_notify.ring(static_cast<std::uint32_t>(2 * number_ + 1));
  }
  return net::Transmit::ok;
}

// With a poll, the last packet of a train also asks for the interrupt that starts it; if that is
// late already, it frees once more.
void VirtioQueuePair::clean_before(bool more) {
  if (!transmit_polls_) {
    free_old();
    return;
  }
  do
    port_.transmit.disable_callbacks();
  while (free_old() && !more && !port_.transmit.enable_callbacks_delayed());
}

// The header goes into the headroom, and so into one piece with the linear part.
bool VirtioQueuePair::add_frame(core::PacketPtr& packet) {
  std::array<std::uint32_t, 1 + core::Packet::kFragmentsMax> pieces;
  std::size_t count = 0;
  pieces[count++] =
      host::virtqueue::kNetHeaderBytes + static_cast<std::uint32_t>(packet->linear_length());
  for (const core::PayloadRef& fragment : packet->fragments())
    pieces[count++] = static_cast<std::uint32_t>(fragment.length());
  return port_.transmit.add(packet, {pieces.data(), count}, host::virtqueue::Access::device_reads);
}

// With a poll, another CPU may have freed everything before the queue was stopped, and found
// nobody to wake: so there is one more look at the room.
void VirtioQueuePair::stop_if_crowded(net::TxQueue& queue) {
  if (port_.transmit.unused() >= kRoomForPacket) return;
  queue.stop();
  if (port_.transmit.enable_callbacks_delayed()) {
    if (transmit_polls_ && port_.transmit.unused() >= kRoomForPacket) queue.start();
    return;
  }
  if (transmit_polls_) {
    schedule_transmit_poll();
    return;
  }
  free_old();
  if (port_.transmit.unused() < kRoomForPacket) return;
  queue.start();
  port_.transmit.disable_callbacks();
}

// False if somebody else is at it (the transmit lock, tried).
bool VirtioQueuePair::free_old() {
  if (cleaning_) return false;
  cleaning_ = true;
  while (auto completed = port_.transmit.take_used()) {
    if (!completed->packet) continue;
    sent_.push_back(std::move(completed->packet));
    if (sent_.full()) environment_.allocator.free_transmitted(sent_);
  }
  environment_.allocator.free_transmitted(sent_);
  cleaning_ = false;
  return true;
}

// --- after the interrupt -----------------------------------------------------------------------

// skb_xmit_done: whoever waits for room looks for it by itself.
void VirtioQueuePair::transmit_done() {
  if (transmit_polls_) return schedule_transmit_poll();
  port_.transmit.disable_callbacks();
  queue().wake();
}

void VirtioQueuePair::schedule_transmit_poll() {
  irq::Napi& napi = transmit_side_.napi;
  if (napi.enabled() && !napi.scheduled()) port_.transmit.disable_callbacks();
  napi.schedule();
}

void VirtioQueuePair::wake_if_roomy() {
  if (queue().stopped() && port_.transmit.unused() >= kRoomForPacket) queue().wake();
}

// virtnet_poll_tx
int VirtioQueuePair::TransmitSide::poll(int) {
  host::virtqueue::DriverSide& ring = pair.port_.transmit;
  ring.disable_callbacks();
  pair.free_old();
  pair.wake_if_roomy();
  const std::uint16_t prepared = ring.enable_callbacks_prepare();
  if (!napi.complete_done(0))
    ring.disable_callbacks();
  else if (ring.used_since(prepared))
    pair.schedule_transmit_poll();
  return 0;
}

// virtnet_poll_cleantx
void VirtioQueuePair::clean_beside_receive() {
  if (!transmit_polls_) return;
  do
    port_.transmit.disable_callbacks();
  while (free_old() && !port_.transmit.enable_callbacks_delayed());
  wake_if_roomy();
}

}  // namespace tapestry::transports
