#include "host/sim/packet_socket.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/assert.hpp"
#include "host/frame_copy.hpp"
#include "host/sim/host_packet.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"

namespace tapestry::host::sim {

using sched::Work;

namespace {

constexpr std::size_t kHeaderBytes = 14;
constexpr std::size_t kVlanBytes = 4;  // a tagged frame may be this much longer

}  // namespace

// The receive buffer bounds the queue: each packet takes at least an empty one's memory, and one
// may go beyond.
PacketSocket::PacketSocket(net::Device& device, PacketSocketOptions options)
    : device_(device),
      options_(options),
      queue_(options.receive_buffer_bytes / net::socket_memory_bytes(0) + 1),
      send_buffer_(SendBuffer::make(options.send_buffer_bytes, readiness_)) {
  device_.add_tap(*this);
}

PacketSocket::~PacketSocket() {
  device_.remove_tap(*this);
  queue_.drop_all(core::DropReason::queue_purge);
}

sched::Cpu& PacketSocket::cpu() const { return device_.stack().cpu(); }

IoCapabilities PacketSocket::capabilities() const {
  return {.multi_send = true,
          .multi_receive = true,
          .vnet_header = options_.vnet_header,
          .transmit_checksum = options_.vnet_header,
          .transmit_segmentation = options_.vnet_header};
}

// --- sending -----------------------------------------------------------------------------------

IoResult PacketSocket::send(const core::PacketBatch& batch, std::size_t count) {
  count = std::min({count, batch.size(), kMessagesMax});
  TAPESTRY_ASSERT(count > 0, "there is a frame to send");
  cpu().charge(Work::packet_send_call);
  std::size_t sent = 0;
  IoStatus status = IoStatus::ok;
  while (sent < count && status == IoStatus::ok) {
    status = send_one(batch[sent]);
    if (status == IoStatus::ok) ++sent;
  }
  if (sent != 0) return {IoStatus::ok, sent};
  return {status, 0};
}

IoStatus PacketSocket::send_frame(const core::Packet& frame) {
  cpu().charge(Work::socket_call);
  return send_one(frame);
}

// packet_snd
IoStatus PacketSocket::send_one(const core::Packet& frame) {
  cpu().settle();
  if (!device_.running()) return IoStatus::failed;
  const std::size_t longest = device_.mtu_bytes() + kHeaderBytes + kVlanBytes;
  if (frame.length() > longest && !(options_.vnet_header && frame.gso_size != 0))
    return IoStatus::failed;
  if (!send_buffer_->has_room()) {
    readiness_.refused_writer();
    return IoStatus::would_block;
  }
  const VnetHeader header = options_.vnet_header ? VnetHeader::written : VnetHeader::none;
  core::PacketPtr packet = copy_into_host(device_.stack(), frame, header);
  if (!packet) return IoStatus::no_buffers;
  send_buffer_->charge(*packet);
  charge_copy_into_host(cpu(), *packet, frame.payload_owner);
  cpu().charge(Work::packet_send);
  cpu().settle();
  const bool taken = options_.qdisc_bypass ? device_.transmit_past_qdisc(std::move(packet))
                                           : device_.transmit(std::move(packet));
  return taken ? IoStatus::ok : IoStatus::no_buffers;
}

// --- receiving ---------------------------------------------------------------------------------

bool PacketSocket::is_ignored(const core::Packet& packet) const {
  if (!options_.ignored_source || packet.length() < kHeaderBytes) return false;
  std::array<std::uint8_t, 6> source{};
  packet.copy_out(6, source);
  return source == options_.ignored_source->bytes;
}

// packet_rcv
bool PacketSocket::frame(const core::Packet& packet, core::Direction) {
  if (packet.owner() == send_buffer_.get()) return false;
  cpu().charge(Work::packet_tap);
  cpu().settle();
  if (is_ignored(packet)) {
    ++figures_.filtered;
    return false;
  }
  ++figures_.packets;
  core::PacketPtr copy;
  if (receive_memory_bytes_ < options_.receive_buffer_bytes) copy = packet.clone();
  if (!copy) {
    ++figures_.drops;
    return false;
  }
  receive_memory_bytes_ += net::socket_memory_bytes(copy->length());
  copy->reach(core::Milestone::ring_queued);
  const bool taken = queue_.push(std::move(copy));
  TAPESTRY_ASSERT(taken, "the receive buffer bounds the queue");
  readiness_.became_readable();
  return true;
}

IoResult PacketSocket::receive(std::span<ReceiveSlot> slots) {
  TAPESTRY_ASSERT(!slots.empty(), "a receive call has a buffer");
  const VnetHeader header = options_.vnet_header ? VnetHeader::read : VnetHeader::none;
  cpu().charge(Work::packet_receive_call);
  std::size_t count = 0;
  while (count < std::min(slots.size(), kMessagesMax)) {
    cpu().settle();
    if (error_) {
      if (count != 0) break;
      error_ = false;
      return {IoStatus::failed, 0};
    }
    core::PacketPtr packet = queue_.pop();
    if (!packet) break;
    receive_memory_bytes_ -= net::socket_memory_bytes(packet->length());
    const core::CacheOwner from = packet->payload_owner;
    ReceiveSlot& slot = slots[count++];
    store_frame(std::move(packet), slot, header);
    cpu().charge(Work::packet_receive);
    charge_copy_out_of_host(cpu(), slot, from);
  }
  if (count == 0) return {IoStatus::would_block, 0};
  return {IoStatus::ok, count};
}

}  // namespace tapestry::host::sim
