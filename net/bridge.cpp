#include "net/bridge.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "net/headers.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

using core::DropReason;
using core::PacketPtr;
using sched::Work;

namespace {

constexpr std::size_t kVlanBytes = 4;  // a tagged frame may be this much longer

MacAddress mac_at(const core::Packet& packet, std::size_t offset) {
  MacAddress address;
  packet.copy_out(offset, address.bytes);
  return address;
}

// 01:80:c2:00:00:0x, which bridges keep to their own link; the first of them they flood when there
// is no spanning tree.
bool stays_on_link(const MacAddress& to) {
  const auto& byte = to.bytes;
  const bool group = byte[0] == 0x01 && byte[1] == 0x80 && byte[2] == 0xc2 && byte[3] == 0 &&
                     byte[4] == 0 && (byte[5] & 0xf0) == 0;
  return group && byte[5] != 0;
}

}  // namespace

Bridge::Bridge(Device& own, BridgeOptions options) : own_(own), options_(options) {
  own.set_driver(*this);
}

void Bridge::add_port(Device& device) {
  TAPESTRY_ASSERT(&device.stack() == &own_.stack() && &device != &own_,
                  "a port is another device of the machine");
  TAPESTRY_ASSERT(!device.has_receive_handler(), "a device is a port of one bridge");
  const std::size_t port = ports_.size();
  ports_.push_back(&device);
  device.set_receive_handler(
      [this, port](PacketPtr packet) { return receive(port, std::move(packet)); });
  device.set_features_listener([this] { own_.update_features(); });
  own_.update_features();
}

Features Bridge::features() const {
  Features all{.lockless = true};
  for (const Device* port : ports_) {
    const Features one = port->features();
    all.scatter_gather |= one.scatter_gather;
    all.transmit_checksum |= one.transmit_checksum;
    all.segmentation |= one.segmentation;
    all.fixed_id_segmentation |= one.fixed_id_segmentation;
    all.udp_segmentation |= one.udp_segmentation;
  }
  return all;
}

// --- who is where --------------------------------------------------------------------------------

bool Bridge::is_old(const Learned& entry) const {
  return own_.stack().timeline().now() - entry.heard >= options_.ageing;
}

bool Bridge::is_own(const MacAddress& address) const {
  return address == own_.mac() ||
         std::ranges::any_of(ports_, [&](const Device* port) { return port->mac() == address; });
}

// Only when there is no room: whoever looks sees by itself which ones are old.
void Bridge::forget_old() {
  std::erase_if(learned_, [this](const auto& entry) { return is_old(entry.second); });
}

// br_fdb_update. Settled.
void Bridge::learn(const MacAddress& source, std::size_t port) {
  if (is_own(source)) return;
  const core::Instant now = own_.stack().timeline().now();
  const auto found = learned_.find(source);
  if (found != learned_.end()) {
    found->second = {port, now};
    return;
  }
  if (learned_.size() >= options_.learned_max) forget_old();
  if (learned_.size() >= options_.learned_max) {
    ++figures_.not_learned;
    return;
  }
  learned_.emplace(source, Learned{port, now});
}

std::optional<std::size_t> Bridge::find(const MacAddress& address) const {
  const auto found = learned_.find(address);
  if (found == learned_.end() || is_old(found->second)) return std::nullopt;
  return found->second.port;
}

Device* Bridge::port_of(const MacAddress& address) const {
  own_.stack().timeline().require_settled("a bridge's table");
  const auto port = find(address);
  return port ? ports_[*port] : nullptr;
}

// --- frames --------------------------------------------------------------------------------------

// br_handle_frame: settled, bottom halves off. The frame begins at its mac header.
PacketPtr Bridge::receive(std::size_t port, PacketPtr packet) {
  Stack& stack = own_.stack();
  const MacAddress to = mac_at(*packet, ethernet::kDestination);
  const MacAddress from = mac_at(*packet, ethernet::kSource);
  if (from.is_multicast() || from == MacAddress{}) {
    stack.allocator().drop(std::move(packet), DropReason::mac_invalid_source);
    return {};
  }
  if (stays_on_link(to)) return packet;
  stack.cpu().charge(Work::bridge_forward);
  stack.cpu().settle();
  learn(from, port);
  if (to.is_multicast()) {
    flood(std::move(packet), port, own_.running());
  } else if (is_own(to)) {
    pass_up(std::move(packet));
  } else if (const auto known = find(to)) {
    if (delivers_to(*known, port)) {
      ++figures_.forwarded;
      forward(*known, std::move(packet));
    } else {
      stack.allocator().drop(std::move(packet), DropReason::bridge_port);
    }
  } else {
    flood(std::move(packet), port, false);
  }
  return {};
}

Transmit Bridge::transmit(PacketPtr& packet, TxQueue&) {
  sched::Cpu& cpu = own_.stack().cpu();
  cpu.charge(Work::bridge_forward);
  cpu.settle();
  const MacAddress to = mac_at(*packet, ethernet::kDestination);
  const auto known = to.is_multicast() ? std::nullopt : find(to);
  if (known && delivers_to(*known, kItself)) {
    ++figures_.forwarded;
    forward(*known, std::move(packet));
  } else if (known) {
    own_.stack().allocator().drop(std::move(packet), DropReason::bridge_port);
  } else {
    flood(std::move(packet), kItself, false);
  }
  return Transmit::ok;
}

// should_deliver: no frame goes back where it came from.
bool Bridge::delivers_to(std::size_t port, std::size_t from) const {
  return port != from && ports_[port]->running();
}

// br_dev_queue_push_xmit
void Bridge::forward(std::size_t port, PacketPtr packet) {
  Device& device = *ports_[port];
  const std::size_t longest = device.mtu_bytes() + ethernet::kBytes + kVlanBytes;
  if (packet->gso_size == 0 && packet->length() > longest) {
    own_.stack().allocator().drop(std::move(packet), DropReason::pkt_too_big);
    return;
  }
  packet->reach(core::Milestone::bridge_forward);
  packet->more = false;
  packet->queue = 0;
  own_.stack().cpu().settle();
  device.transmit(std::move(packet));
}

// br_flood: the port that was added last comes first; all but the last receiver get a clone.
void Bridge::flood(PacketPtr packet, std::size_t from, bool also_up) {
  sched::Cpu& cpu = own_.stack().cpu();
  ++figures_.flooded;
  std::optional<std::size_t> waiting;
  for (std::size_t i = ports_.size(); i-- > 0;) {
    if (!delivers_to(i, from)) continue;
    if (waiting) {
      cpu.charge(Work::packet_alloc);
      if (PacketPtr copy = packet->clone()) forward(*waiting, std::move(copy));
      cpu.settle();
    }
    waiting = i;
  }
  if (also_up) {
    if (waiting) {
      cpu.charge(Work::packet_alloc);
      if (PacketPtr copy = packet->clone()) forward(*waiting, std::move(copy));
    }
    pass_up(std::move(packet));
  } else if (waiting) {
    forward(*waiting, std::move(packet));
  } else {
    own_.stack().allocator().drop(std::move(packet), DropReason::bridge_port);
  }
}

// br_pass_frame_up
void Bridge::pass_up(PacketPtr packet) {
  ++figures_.passed_up;
  if (!own_.running()) {
    own_.stack().allocator().drop(std::move(packet), DropReason::dev_ready);
    return;
  }
  own_.receive(std::move(packet));
}

}  // namespace tapestry::net
