// The virtio driver's way in.
#include <algorithm>
#include <utility>

#include "transports/virtio/queue_pair.hpp"

namespace tapestry::transports {

using host::virtqueue::DriverSide;
using host::virtqueue::kNetHeaderBytes;

// virtqueue_napi_schedule. Callbacks are off before anybody can poll and turn them on again.
void VirtioQueuePair::schedule_poll() {
  if (napi_.enabled() && !napi_.scheduled()) port_.receive.disable_callbacks();
  napi_.schedule();
}

int VirtioQueuePair::poll(int budget) {
  const auto most = static_cast<std::size_t>(budget);
  const std::size_t received = receive(most);
  if (most > 0 && must_fill(most)) fill_or_come_back();
  if (received == most) return budget;
  // What was used between the last look and the request is never told: look again.
  const std::uint16_t prepared = port_.receive.enable_callbacks_prepare();
  if (!napi_.complete_done(static_cast<int>(received)))
    port_.receive.disable_callbacks();
  else if (port_.receive.used_since(prepared))
    schedule_poll();
  return static_cast<int>(received);
}

std::size_t VirtioQueuePair::receive(std::size_t most) {
  std::size_t received = 0;
  for (; received < most; ++received) {
    auto completed = port_.receive.take_used();
    if (!completed) break;
    receive_buffer(std::move(*completed));
  }
  return received;
}

void VirtioQueuePair::receive_buffer(DriverSide::Completed completed) {
  core::PacketPtr packet = std::move(completed.packet);
  if (!packet) return environment_.device.count_receive_drop();
  const bool whole = !features_.mrg_rxbuf || merge(*packet, completed.num_buffers);
  const std::size_t bytes = packet->length();
  if (!whole || completed.bytes < kNetHeaderBytes + kEthernetHeader || bytes < kEthernetHeader)
    return drop_received(std::move(packet));
  ++statistics_.rx_packets;
  statistics_.rx_bytes += bytes;
  if (features_.mrg_rxbuf) {
    const auto length = static_cast<std::uint32_t>(bytes);
    average_bytes_ = average_bytes_ == 0 ? length : (average_bytes_ * 63 + length) / 64;
  }
  environment_.device.receive(std::move(packet), &napi_);
}

// Takes the further buffers of a frame. False if one is missing or nothing can hold them.
bool VirtioQueuePair::merge(core::Packet& frame, std::uint16_t buffers) {
  bool whole = buffers >= 1;
  for (std::uint16_t i = 1; i < buffers; ++i) {
    auto more = port_.receive.take_used();
    if (!more || !more->packet) return false;
    whole = whole && frame.append_range(*more->packet, 0, more->packet->length());
    environment_.allocator.free(std::move(more->packet), core::Outcome::merged);
  }
  return whole;
}

void VirtioQueuePair::drop_received(core::PacketPtr packet) {
  ++statistics_.rx_drops;
  environment_.device.count_receive_drop();
  environment_.allocator.drop(std::move(packet), core::DropReason::dev_hdr);
}

// --- buffers -----------------------------------------------------------------------------------

std::size_t VirtioQueuePair::choose_pieces() {
  if (features_.mrg_rxbuf) {
    const std::uint32_t length =
        kNetHeaderBytes + std::clamp(average_bytes_, kGoodPacket, kPage - kNetHeaderBytes);
    pieces_[0] = (length + kCacheLine - 1) / kCacheLine * kCacheLine;
    return 1;
  }
  if (features_.guest_tso4) {
    pieces_.fill(kPage);
    pieces_[0] = kNetHeaderBytes;
    return kBigPieces;
  }
  pieces_[0] = kNetHeaderBytes + kGoodPacket;
  return 1;
}

bool VirtioQueuePair::must_fill(std::size_t budget) const {
  return port_.receive.unused() > std::min(budget, port_.receive.size()) / 2;
}

// Gives the device as many buffers as it has room for. False if memory ran out.
bool VirtioQueuePair::fill() {
  DriverSide& ring = port_.receive;
  const std::size_t pieces = choose_pieces();
  bool memory = true;
  while (memory && ring.unused() >= pieces && !ring.broken()) {
    const std::size_t wanted = std::min(ring.unused() / pieces, buffers_.capacity());
    memory = environment_.allocator.allocate_receive_buffers(buffers_, wanted) == wanted;
    while (!buffers_.empty()) {
      core::PacketPtr buffer = buffers_.take_front();
      if (ring.add(buffer, {pieces_.data(), pieces}, host::virtqueue::Access::device_writes))
        continue;
      environment_.allocator.free(std::move(buffer));
    }
  }
  if (ring.kick_prepare()) {
    ++statistics_.rx_kicks;
    port_.receive_notify.ring(0);
  }
  return memory;
}

void VirtioQueuePair::fill_or_come_back() {
  if (!fill()) refill_timer_.modify(environment_.jiffies.jiffies() + 1);
}

}  // namespace tapestry::transports
