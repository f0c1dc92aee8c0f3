#include "app/builder/hardware.hpp"

#include "core/assert.hpp"

namespace tapestry::app {

Hardware::Hardware(const Scenario& scenario, kernel::World& world,
                   const std::vector<kernel::Machine*>& machines)
    : scenario_(scenario), world_(world), machines_(machines), taps_(scenario.devices.size()) {
  for (const Link& link : scenario.links) {
    links_.emplace_back(
        world.timeline(), world.packets(), link.name,
        host::sim::LinkOptions{.rate_bps = link.rate.bits_per_second(),
                               .delay = link.delay,
                               .queue_packets = static_cast<std::size_t>(link.queue),
                               .loss_per_billion = link.loss.parts_per_billion,
                               .seed = scenario.seed});
    first_end_taken_.push_back(false);
  }
  for (const Device& device : scenario.devices)
    add_device(device);
  // Hosts first: what a guest attaches to has its driver by then.
  for (const bool attached : {false, true}) {
    for (std::size_t i = 0; i < scenario.devices.size(); ++i) {
      const DeviceKind& kind = scenario.devices[i].kind;
      const bool attaches = std::holds_alternative<LegacyTapDevice>(kind) ||
                            std::holds_alternative<VectorDevice>(kind) ||
                            std::holds_alternative<LklVirtioDevice>(kind);
      if (attaches == attached) std::visit([&](const auto& concrete) { wire(i, concrete); }, kind);
    }
  }
  connect_bridges();
  for (std::size_t i = 0; i < scenario.devices.size(); ++i)
    if (scenario.devices[i].address)
      machine_of(i).stack().set_address(*devices_[i], *scenario.devices[i].address);
}

void Hardware::add_device(const Device& device) {
  const auto number = static_cast<std::uint32_t>(devices_.size() + 1);
  const bool has_queue = !std::holds_alternative<VethDevice>(device.kind) &&
                         !std::holds_alternative<BridgeDevice>(device.kind);
  net::DeviceOptions options{
      .name = device.interface,
      .mac = device.mac.value_or(net::MacAddress::local(number)),
      .mtu_bytes = static_cast<std::uint32_t>(device.mtu),
  };
  if (has_queue) options.txqueuelen = static_cast<std::uint32_t>(device.txqueuelen);
  devices_.push_back(&machines_[device.machine.index]->stack().add_device(std::move(options)));
}

transports::DriverEnvironment Hardware::environment(std::size_t device) {
  kernel::Machine& machine = machine_of(device);
  return {*devices_[device], machine.stack().allocator(), machine.interrupts(),
          machine.napi(),    machine.tasklets(),          machine.jiffies()};
}

host::charged::PacketIo& Hardware::charged(std::size_t guest_device, host::PacketIo& inner) {
  kernel::Machine& guest = machine_of(guest_device);
  return ports_.emplace_back(inner, guest.scheduler(), guest.host()->scheduler());
}

// --- the host's side
// --------------------------------------------------------------------------------------------

void Hardware::wire(std::size_t index, const TapDevice& tap) {
  const Device& device = scenario_.devices[index];
  host::sim::TapOptions options{
      .queue_packets = static_cast<std::size_t>(device.txqueuelen),
      .receives_inline = machine_of(index).era().tap_receives_inline,
  };
  if (tap.sndbuf) options.send_buffer_bytes = tap.sndbuf->count();
  taps_[index] = std::make_unique<host::sim::Tap>(*devices_[index], options);
  const bool set = taps_[index]->set_offloads({.checksum = tap.offloads.csum,
                                               .tcp4_segmentation = tap.offloads.tso4,
                                               .tcp6_segmentation = tap.offloads.tso6});
  TAPESTRY_ASSERT(set, "the loader has checked that segmentation comes with checksums");
}

// One of the two ends makes the pair.
void Hardware::wire(std::size_t index, const VethDevice& veth) {
  if (veth.peer.index > index) veths_.emplace_back(*devices_[index], *devices_[veth.peer.index]);
}

void Hardware::wire(std::size_t index, const NicDevice& nic) {
  const bool offload = nic.checksum == Checksum::offload;
  host::sim::Nic& card =
      cards_.emplace_back(world_.timeline(), world_.packets(),
                          host::sim::NicOptions{
                              .transmit_descriptors = static_cast<std::size_t>(nic.tx),
                              .receive_descriptors = static_cast<std::size_t>(nic.rx),
                              .receive_interval = nic.rx_usecs,
                              .transmit_interval = nic.tx_usecs,
                              .transmit_checksum = offload,
                              .receive_checksum = offload,
                              .segmentation = nic.tso,
                              .receive_hash = true,
                          });
  const host::NicPort bare = card.port();
  sched::Scheduler& machine = machine_of(index).scheduler();
  host::Doorbell& transmit = doorbells_.emplace_back(bare.transmit_doorbell, machine);
  host::Doorbell& receive = doorbells_.emplace_back(bare.receive_doorbell, machine);
  host::Doorbell& throttle = doorbells_.emplace_back(*bare.throttle, machine);
  auto driver = std::make_unique<transports::Nic>(
      environment(index),
      host::NicPort{bare.transmit_ring, bare.receive_ring, transmit, receive, &throttle},
      transports::NicOptions{.transmit_checksum = offload,
                             .receive_checksum = offload,
                             .segmentation = nic.tso,
                             .gro = nic.gro,
                             .napi = nic.napi,
                             .adaptive_moderation = nic.adaptive_rx});
  card.set_line(driver->line());
  const std::size_t link = nic.link.index;
  card.connect(links_[link],
               first_end_taken_[link] ? host::sim::Link::End::b : host::sim::Link::End::a);
  first_end_taken_[link] = true;
  devices_[index]->set_driver(*driver);
  drivers_.push_back(std::move(driver));
}

void Hardware::wire(std::size_t index, const BridgeDevice&) {
  drivers_.push_back(std::make_unique<net::Bridge>(*devices_[index]));
}

// When all devices have their drivers: a bridge asks its ports what they can do.
void Hardware::connect_bridges() {
  for (std::size_t i = 0; i < scenario_.devices.size(); ++i) {
    const auto* const bridge = std::get_if<BridgeDevice>(&scenario_.devices[i].kind);
    if (bridge == nullptr) continue;
    auto& driver = dynamic_cast<net::Bridge&>(devices_[i]->driver());
    for (const Reference<Device>& port : bridge->ports)
      driver.add_port(*devices_[port.index]);
  }
}

// --- the guest's side
// -------------------------------------------------------------------------------------------

void Hardware::wire(std::size_t index, const LegacyTapDevice& legacy) {
  // No virtual header, and no word about offloads: what an earlier user has set stays.
  descriptors_.push_back(tap_of(legacy.attach.index).open_reader(false));
  TAPESTRY_ASSERT(descriptors_.back(), "the loader has checked that a tap has one user");
  auto driver = std::make_unique<transports::LegacyTap>(environment(index),
                                                        charged(index, *descriptors_.back()));
  devices_[index]->set_driver(*driver);
  drivers_.push_back(std::move(driver));
}

void Hardware::wire(std::size_t index, const VectorDevice& vector) {
  kernel::Machine& guest = machine_of(index);
  transports::VectorOptions options{
      .depth = static_cast<std::size_t>(vector.depth),
      .gro = vector.gro,
      .vec = vector.vec,
      .napi = vector.napi,
      .behaviour = vector.behaviour == Behaviour::uml_6_1
                       ? transports::VectorOptions::Behaviour::uml_6_1
                       : transports::VectorOptions::Behaviour::contract,
  };
  if (vector.coalesce)
    options.coalesce_jiffies =
        std::max<std::uint64_t>(1, guest.jiffies().to_jiffies(*vector.coalesce));
  auto driver = std::make_unique<transports::Vector>(
      environment(index), charged(index, vector_port(index, vector)), options);
  devices_[index]->set_driver(*driver);
  drivers_.push_back(std::move(driver));
}

// What UML's vector_user.c opens: descriptors with a virtual header and all offloads; sockets with
// a filter that keeps the guest from receiving what it has sent itself.
host::PacketIo& Hardware::vector_port(std::size_t index, const VectorDevice& vector) {
  const std::size_t attach = vector.attach.index;
  if (vector.transport != Transport::raw) {
    descriptors_.push_back(tap_of(attach).open_reader(
        true, host::sim::TapOffloads{
                  .checksum = true, .tcp4_segmentation = true, .tcp6_segmentation = true}));
    TAPESTRY_ASSERT(descriptors_.back(), "the loader has checked that a tap has one user");
    if (vector.transport == Transport::tap) return *descriptors_.back();
  }
  host::sim::PacketSocket& socket = sockets_.emplace_back(
      *devices_[attach],
      host::sim::PacketSocketOptions{.qdisc_bypass = vector.transport == Transport::raw,
                                     .ignored_source = devices_[index]->mac()});
  if (vector.transport == Transport::raw) return socket;
  return hybrids_.emplace_back(socket, *descriptors_.back());
}

// The library opens the tap with a virtual header if there is anything to say in one, and sets what
// the tap may deliver to its guest. The device is called by the guest and by its poll thread.
void Hardware::wire(std::size_t index, const LklVirtioDevice& virtio) {
  kernel::Machine& guest = machine_of(index);
  const VirtioOffloads& wanted = virtio.offloads;
  const bool header = wanted.csum || wanted.guest_csum || wanted.mrg_rxbuf;
  const host::sim::TapOffloads offloads{.checksum = wanted.guest_csum,
                                        .tcp4_segmentation = wanted.guest_tso4};
  descriptors_.push_back(tap_of(virtio.attach.index).open_reader(header, offloads));
  TAPESTRY_ASSERT(descriptors_.back(), "the loader has checked that a tap has one user");
  host::PacketIo& tap = *descriptors_.back();
  sched::Scheduler& host = guest.host()->scheduler();
  host::PacketIo& from_guest = charged(index, tap);
  host::PacketIo& from_thread =
      ports_.emplace_back(tap, host, host, host::charged::HostCall::From::process);
  const host::virtqueue::NetFeatures features{
      .csum = wanted.csum,
      .guest_csum = wanted.guest_csum,
      .guest_tso4 = wanted.guest_tso4,
      .host_tso4 = wanted.host_tso4,
      .mrg_rxbuf = wanted.mrg_rxbuf,
  };
  host::sim::LklVirtio& device = virtio_devices_.emplace_back(
      guest, from_guest, from_thread, features, static_cast<std::size_t>(virtio.queue_depth));
  TAPESTRY_ASSERT(device.accepts(features), "the loader has checked that features are consistent");
  host::charged::DriverQueue& receive =
      driver_queues_.emplace_back(device.receive_queue(), guest.scheduler());
  host::charged::DriverQueue& transmit =
      driver_queues_.emplace_back(device.transmit_queue(), guest.scheduler());
  auto driver = std::make_unique<transports::VirtioNet>(
      environment(index),
      transports::VirtioNetPort{receive, transmit, device.receive_notify(),
                                device.transmit_notify()},
      features);
  device.set_line(driver->line());
  devices_[index]->set_driver(*driver);
  drivers_.push_back(std::move(driver));
}

}  // namespace tapestry::app
