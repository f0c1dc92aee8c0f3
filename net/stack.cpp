#include "net/stack.hpp"

#include <algorithm>
#include <utility>

#include "net/arp.hpp"
#include "net/backlog.hpp"
#include "net/gro.hpp"
#include "net/headers.hpp"
#include "net/icmp.hpp"
#include "net/ipv4.hpp"
#include "net/tcp/tcp.hpp"
#include "net/transmit_softirq.hpp"
#include "net/tx_queue.hpp"
#include "net/udp.hpp"

namespace tapestry::net {

Stack::Stack(StackEnvironment environment, StackOptions options)
    : environment_(environment),
      options_(options),
      allocator_(environment),
      backlog_(std::make_unique<Backlog>(*this)),
      transmit_softirq_(std::make_unique<TransmitSoftirq>(environment.softirqs)),
      arp_(std::make_unique<ArpTable>(*this)),
      ipv4_(std::make_unique<Ipv4>(*this)),
      icmp_(std::make_unique<Icmp>(*this)),
      udp_(std::make_unique<Udp>(*this)),
      tcp_(std::make_unique<Tcp>(*this)) {
  environment_.napi.set_flush_hook({&Gro::flush_hook, this});
}

Stack::~Stack() = default;

Device& Stack::add_device(DeviceOptions options) {
  TAPESTRY_ASSERT(device(options.name) == nullptr, "devices of a machine differ in name");
  const auto number = static_cast<std::uint32_t>(devices_.size() + 1);
  devices_.push_back(std::make_unique<Device>(*this, std::move(options), number));
  return *devices_.back();
}

Device* Stack::device(std::string_view name) {
  for (const auto& device : devices_) {
    if (device->name() == name) return device.get();
  }
  return nullptr;
}

// --- addresses and routes ------------------------------------------------------------------------

void Stack::set_address(Device& device, Ipv4Prefix address) {
  TAPESTRY_ASSERT(address.length >= 0 && address.length <= 32, "a prefix of an IPv4 address");
  for (Interface& interface : interfaces_) {
    if (interface.device != &device) continue;
    interface.address = address;
    return;
  }
  interfaces_.push_back({&device, address});
}

void Stack::set_gateway(Ipv4Address gateway) { gateway_ = gateway; }

bool Stack::is_local(Ipv4Address address) const {
  if (address.value >> 24 == 127) return true;
  return std::ranges::any_of(interfaces_, [address](const Interface& interface) {
    return interface.address.address == address;
  });
}

bool Stack::is_for_us(Ipv4Address destination) const {
  if (destination.is_broadcast()) return true;
  return std::ranges::any_of(interfaces_, [destination](const Interface& interface) {
    return interface.address.address == destination || interface.address.is_broadcast(destination);
  });
}

std::optional<Ipv4Prefix> Stack::address_of(const Device& device) const {
  for (const Interface& interface : interfaces_) {
    if (interface.device == &device) return interface.address;
  }
  return std::nullopt;
}

std::optional<Route> Stack::route(Ipv4Address destination) const {
  if (is_local(destination)) return Route{nullptr, destination, destination, false};
  const bool everybody = destination.is_broadcast() || destination.is_multicast();
  const Interface* best = nullptr;
  for (const Interface& interface : interfaces_) {
    const bool fits = everybody || interface.address.contains(destination);
    if (!fits) continue;
    if (best == nullptr || (!everybody && interface.address.length > best->address.length))
      best = &interface;
  }
  if (best != nullptr) {
    const bool broadcast = destination.is_broadcast() || best->address.is_broadcast(destination);
    return Route{best->device, best->address.address, destination, broadcast};
  }
  if (!gateway_) return std::nullopt;
  for (const Interface& interface : interfaces_) {
    if (interface.address.contains(*gateway_))
      return Route{interface.device, interface.address.address, *gateway_, false};
  }
  return std::nullopt;
}

// --- up ------------------------------------------------------------------------------------------

void Stack::receive(Device& device, core::PacketPtr packet, bool kept_by_tap) {
  if (packet->protocol == ethernet::kIpv4) [[likely]] {
    packet->pull(ethernet::kBytes);
    ipv4_->receive(std::move(packet));
  } else if (packet->protocol == ethernet::kArp) {
    packet->pull(ethernet::kBytes);
    arp_->receive(device, std::move(packet));
  } else if (kept_by_tap) {
    // What nobody else takes is the last packet socket's own, which frees it when it is read.
    core::consume(std::move(packet));
  } else {
    device.count_receive_drop();
    allocator_.drop(std::move(packet), core::DropReason::unhandled_proto);
  }
}

void Stack::loop_back(core::PacketPtr packet) {
  packet->interface = 0;
  packet->packet_type = core::PacketType::host;
  cpu().charge(sched::Work::driver_transmit);
  backlog_->enqueue(std::move(packet));
}

void Stack::accept_from_backlog(core::PacketPtr packet) {
  if (packet->interface != 0) {
    // NOLINTNEXTLINE(bugprone-use-after-move): a refused push leaves it here
    devices_[packet->interface - 1]->accept(std::move(packet));
    return;
  }
  sched::Cpu& here = cpu();
  here.charge(sched::Work::netif_receive);
  here.settle();
  ++environment_.napi.figures(here.index()).processed;
  ipv4_->receive(std::move(packet));
}

}  // namespace tapestry::net
