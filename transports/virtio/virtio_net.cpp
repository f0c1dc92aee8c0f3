#include "transports/virtio/virtio_net.hpp"

#include "core/assert.hpp"

namespace tapestry::transports {

VirtioNet::VirtioNet(DriverEnvironment environment, VirtioNetPort port,
                     host::virtqueue::NetFeatures features)
    : environment_(environment),
      port_(port),
      features_(features),
      line_(environment.interrupts.add_line(environment.device.name(), irq::Trigger::edge, *this)),
      napi_(environment.napi, environment.device.name(), *this),
      refill_timer_(
          environment.jiffies,
          [](void* driver) { static_cast<VirtioNet*>(driver)->schedule_poll(); }, this),
      sent_(core::PacketBatch::kCapacityMax),
      buffers_(core::PacketBatch::kCapacityMax) {
  TAPESTRY_ASSERT(features.consistent(), "segmentation comes with unfinished checksums");
}

net::Features VirtioNet::features() const {
  return {.scatter_gather = true,
          .transmit_checksum = features_.csum,
          .segmentation = features_.host_tso4,
          .receive_checksum = features_.guest_csum,
          .gro = true};
}

// The first poll takes what came while nobody asked for callbacks.
void VirtioNet::open() {
  fill_or_come_back();
  napi_.enable();
  schedule_poll();
}

// Buffers stay with the device.
void VirtioNet::close() {
  refill_timer_.cancel();
  napi_.disable();
}

void VirtioNet::for_each_statistic(
    const std::function<void(std::string_view, std::uint64_t)>& visit) const {
  for (const auto& [name, value] : statistics_.named())
    visit(name, value);
}

void VirtioNet::interrupt() {
  if (port_.receive.has_used()) schedule_poll();
  if (port_.transmit.has_used()) transmit_done();
}

}  // namespace tapestry::transports
