#include "host/sim/veth.hpp"

#include <utility>

#include "core/assert.hpp"
#include "net/stack.hpp"

namespace tapestry::host::sim {

namespace {

// is_skb_forwardable: the header and a VLAN tag go on top of what the receiver may take.
bool fits(const core::Packet& packet, const net::Device& receiver) {
  return packet.gso_size != 0 || packet.length() <= receiver.mtu_bytes() + 14 + 4;
}

}  // namespace

Veth::Veth(net::Device& left, net::Device& right) : left_(left, right), right_(right, left) {
  TAPESTRY_ASSERT(&left.stack() == &right.stack(), "both ends belong to one machine");
}

// veth_xmit
net::Transmit Veth::End::transmit(core::PacketPtr& packet, net::TxQueue&) {
  sched::Cpu& cpu = own_.stack().cpu();
  cpu.charge(sched::Work::veth);
  cpu.settle();
  const bool fitting = fits(*packet, peer_);
  if (!fitting || !peer_.running()) {
    own_.count_transmit_drop(1, packet->length());
    core::drop(std::move(packet),
               fitting ? core::DropReason::link_down : core::DropReason::pkt_too_big);
    return net::Transmit::ok;
  }
  // It begins anew on the other side.
  packet->more = false;
  packet->queue = 0;
  packet->direction = core::Direction::unknown;
  packet->packet_type = core::PacketType::host;
  peer_.receive_later(std::move(packet));
  return net::Transmit::ok;
}

}  // namespace tapestry::host::sim
