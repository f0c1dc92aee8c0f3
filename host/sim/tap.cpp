#include "host/sim/tap.hpp"

#include <utility>

#include "core/assert.hpp"
#include "host/frame_copy.hpp"
#include "host/sim/host_packet.hpp"
#include "net/stack.hpp"
#include "sched/guards.hpp"

namespace tapestry::host::sim {

using sched::Work;

Tap::Tap(net::Device& device, TapOptions options) : device_(device), options_(options) {
  device.set_driver(*this);
}

Tap::~Tap() { TAPESTRY_ASSERT(descriptor_ == nullptr, "a tap outlives its descriptor"); }

std::unique_ptr<TapDescriptor> Tap::open_reader(bool vnet_header,
                                                std::optional<TapOffloads> offloads) {
  if (descriptor_ != nullptr) return nullptr;
  if (offloads && !set_offloads(*offloads)) return nullptr;
  return std::unique_ptr<TapDescriptor>(new TapDescriptor(*this, vnet_header));
}

bool Tap::set_offloads(TapOffloads offloads) {
  const bool segments =
      offloads.tcp4_segmentation || offloads.tcp6_segmentation || offloads.udp_segmentation;
  if (segments && !offloads.checksum) return false;
  offloads_ = offloads;
  device_.update_features();
  return true;
}

net::Features Tap::features() const {
  return {.scatter_gather = true,
          .transmit_checksum = offloads_.checksum,
          .segmentation = offloads_.tcp4_segmentation,
          .udp_segmentation = offloads_.udp_segmentation,
          .lockless = true};
}

// tun_net_xmit. The packet may wait for its reader for a long time, so its sender is told now.
net::Transmit Tap::transmit(core::PacketPtr& packet, net::TxQueue&) {
  packet->orphan();
  sched::Cpu& cpu = device_.stack().cpu();
  cpu.charge(Work::tap_queue);
  cpu.settle();
  if (descriptor_ == nullptr) {
    device_.count_transmit_drop(1, packet->length());
    core::drop(std::move(packet), core::DropReason::no_reader);
  } else if (!descriptor_->queue(std::move(packet))) {
    // NOLINTNEXTLINE(bugprone-use-after-move): a refused push leaves it here
    device_.count_transmit_drop(1, packet->length());
    core::drop(std::move(packet), core::DropReason::full_ring);
  }
  return net::Transmit::ok;
}

// --- the descriptor ----------------------------------------------------------------------------

TapDescriptor::TapDescriptor(Tap& tap, bool vnet_header)
    : tap_(tap),
      vnet_header_(vnet_header),
      queue_(tap.options().queue_packets),
      send_buffer_(SendBuffer::make(tap.options().send_buffer_bytes, readiness_)) {
  tap_.descriptor_ = this;
}

TapDescriptor::~TapDescriptor() {
  tap_.descriptor_ = nullptr;
  queue_.drop_all(core::DropReason::queue_purge);
}

sched::Cpu& TapDescriptor::cpu() const { return tap_.device().stack().cpu(); }

IoCapabilities TapDescriptor::capabilities() const {
  return {.vnet_header = vnet_header_,
          .transmit_checksum = vnet_header_,
          .transmit_segmentation = vnet_header_};
}

bool TapDescriptor::queue(core::PacketPtr&& packet) {
  cpu().timeline().require_settled("a tap's queue");
  packet->reach(core::Milestone::ring_queued);
  if (!queue_.push(std::move(packet))) return false;
  readiness_.became_readable();
  return true;
}

// tun_get_user
IoResult TapDescriptor::send(const core::PacketBatch& batch, std::size_t count) {
  TAPESTRY_ASSERT(count > 0 && !batch.empty(), "there is a frame to write");
  cpu().settle();
  net::Device& device = tap_.device();
  if (!device.running()) return {IoStatus::failed, 0};
  if (!send_buffer_->has_room()) {
    readiness_.refused_writer();
    return {IoStatus::would_block, 0};
  }
  const VnetHeader header = vnet_header_ ? VnetHeader::written : VnetHeader::none;
  core::PacketPtr packet = copy_into_host(device.stack(), batch[0], header);
  if (!packet) {
    device.count_receive_drop();
    return {IoStatus::failed, 0};
  }
  if (tap_.options().send_buffer_bytes != SendBuffer::kUnlimited) send_buffer_->charge(*packet);
  charge_copy_into_host(cpu(), *packet, batch[0].payload_owner);
  cpu().charge(Work::tap_write);
  if (tap_.options().receives_inline) {
    sched::BottomHalvesOff bottom_halves(cpu());
    device.receive(std::move(packet));
  } else {
    cpu().settle();
    device.receive_later(std::move(packet));
  }
  return {IoStatus::ok, 1};
}

// tun_do_read
IoResult TapDescriptor::receive(std::span<ReceiveSlot> slots) {
  TAPESTRY_ASSERT(!slots.empty(), "a read has a buffer");
  cpu().settle();
  core::PacketPtr packet = queue_.pop();
  if (!packet) return {IoStatus::would_block, 0};
  const core::CacheOwner from = packet->payload_owner;
  store_frame(std::move(packet), slots[0], vnet_header_ ? VnetHeader::read : VnetHeader::none);
  cpu().charge(Work::tap_read);
  charge_copy_out_of_host(cpu(), slots[0], from);
  return {IoStatus::ok, 1};
}

}  // namespace tapestry::host::sim
