// Everything of a run that is neither kernel nor workload: taps, packet sockets, cables, cards, and
// the drivers on top of them, wired as the scenario says.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "app/scenario/scenario.hpp"
#include "host/charged/doorbell.hpp"
#include "host/charged/driver_queue.hpp"
#include "host/charged/packet_io.hpp"
#include "host/sim/hybrid_port.hpp"
#include "host/sim/link.hpp"
#include "host/sim/lkl_virtio.hpp"
#include "host/sim/nic.hpp"
#include "host/sim/packet_socket.hpp"
#include "host/sim/tap.hpp"
#include "host/sim/veth.hpp"
#include "kernel/world.hpp"
#include "net/bridge.hpp"
#include "transports/legacy_tap/legacy_tap.hpp"
#include "transports/nic/nic.hpp"
#include "transports/vector/vector.hpp"
#include "transports/virtio/virtio_net.hpp"

namespace tapestry::app {

class Hardware {
 public:
  // Adds every device of the scenario to its machine; `machines` in the scenario's order.
  Hardware(const Scenario& scenario, kernel::World& world,
           const std::vector<kernel::Machine*>& machines);

  net::Device& device(std::size_t index) { return *devices_[index]; }
  const std::vector<net::Device*>& devices() const { return devices_; }
  // The ports through which guests reach their hosts.
  const std::deque<host::charged::PacketIo>& ports() const { return ports_; }
  const std::deque<host::sim::Nic>& cards() const { return cards_; }
  std::deque<host::sim::Nic>& cards() { return cards_; }
  const std::deque<host::sim::Link>& links() const { return links_; }  // in the scenario's order

 private:
  void add_device(const Device& device);
  void wire(std::size_t index, const TapDevice& tap);
  void wire(std::size_t index, const LegacyTapDevice& legacy);
  void wire(std::size_t index, const VectorDevice& vector);
  void wire(std::size_t index, const VethDevice& veth);
  void wire(std::size_t index, const NicDevice& nic);
  void wire(std::size_t index, const BridgeDevice& bridge);
  void connect_bridges();
  void wire(std::size_t index, const LklVirtioDevice& virtio);
  host::PacketIo& vector_port(std::size_t index, const VectorDevice& vector);
  host::charged::PacketIo& charged(std::size_t guest_device, host::PacketIo& inner);
  host::sim::Tap& tap_of(std::size_t device) { return *taps_[device]; }
  kernel::Machine& machine_of(std::size_t device) {
    return *machines_[scenario_.devices[device].machine.index];
  }
  transports::DriverEnvironment environment(std::size_t device);

  const Scenario& scenario_;
  kernel::World& world_;
  const std::vector<kernel::Machine*>& machines_;
  std::vector<net::Device*> devices_;                  // in the scenario's order
  std::vector<std::unique_ptr<host::sim::Tap>> taps_;  // by device; null where it is none
  std::deque<host::sim::Link> links_;                  // in the scenario's order
  std::vector<bool> first_end_taken_;                  // by link
  std::deque<host::sim::Veth> veths_;
  std::deque<std::unique_ptr<host::sim::TapDescriptor>> descriptors_;
  std::deque<host::sim::PacketSocket> sockets_;
  std::deque<host::sim::HybridPort> hybrids_;
  std::deque<host::sim::Nic> cards_;
  std::deque<host::charged::PacketIo> ports_;
  std::deque<host::charged::Doorbell> doorbells_;
  std::deque<host::sim::LklVirtio> virtio_devices_;
  std::deque<host::charged::DriverQueue> driver_queues_;
  std::deque<std::unique_ptr<net::Driver>> drivers_;
};

}  // namespace tapestry::app
