// The sockets: what a process calls.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/checksum_offload.hpp"
#include "net/headers.hpp"
#include "net/ipv4.hpp"
#include "net/stack.hpp"
#include "net/udp.hpp"

namespace tapestry::net {

using core::PacketPtr;
using sched::Work;

UdpSocket::UdpSocket(Stack& stack)
    : stack_(stack),
      body_(new SocketBody(stack, stack.options().rmem_default, stack.options().wmem_default)) {}

UdpSocket::~UdpSocket() {
  if (is_bound()) stack_.udp().unlink(*this);
  body_->close();
}

SocketStatus UdpSocket::bind(Endpoint local) {
  stack_.cpu().settle();
  TAPESTRY_ASSERT(!is_bound(), "a socket is bound once");
  if (!local.address.is_any() && !stack_.is_local(local.address)) return SocketStatus::unreachable;
  if (local.port == 0) return stack_.udp().bind_ephemeral(*this, local.address);
  return stack_.udp().bind(*this, local);
}

SocketStatus UdpSocket::connect(Endpoint remote) {
  stack_.cpu().settle();
  const std::optional<Route> route = stack_.route(remote.address);
  if (!route) return SocketStatus::unreachable;
  if (!is_bound()) {
    const SocketStatus status = stack_.udp().bind_ephemeral(*this, route->source);
    if (status != SocketStatus::ok) return status;
  } else if (local_.address.is_any()) {
    local_.address = route->source;
  }
  remote_ = remote;
  return SocketStatus::ok;
}

// --- sending -------------------------------------------------------------------------------------

SocketStatus UdpSocket::send(std::span<const std::uint8_t> payload, std::uint32_t flow,
                             bool nonblocking) {
  TAPESTRY_ASSERT(remote_.has_value(), "a socket is connected, or told where to send to");
  return send_to(*remote_, payload, flow, nonblocking);
}

SocketStatus UdpSocket::send_to(Endpoint remote, std::span<const std::uint8_t> payload,
                                std::uint32_t flow, bool nonblocking) {
  stack_.cpu().charge(Work::socket_call);
  return send_one(remote, payload, flow, nonblocking);
}

std::size_t UdpSocket::send_many(std::span<const std::span<const std::uint8_t>> payloads,
                                 std::uint32_t flow, bool nonblocking) {
  TAPESTRY_ASSERT(remote_.has_value(), "a socket is connected, or told where to send to");
  stack_.cpu().charge(Work::packet_send_call);
  std::size_t sent = 0;
  while (sent < payloads.size() &&
         send_one(*remote_, payloads[sent], flow, nonblocking) == SocketStatus::ok)
    ++sent;
  return sent;
}

// Nothing is owed when send space and tables are looked at; then everything up to the neighbour
// table is paid at once, since it concerns this packet alone.
SocketStatus UdpSocket::send_one(Endpoint remote, std::span<const std::uint8_t> payload,
                                 std::uint32_t flow, bool nonblocking) {
  if (payload.size() > udp::kPayloadMax) return SocketStatus::too_long;
  const SocketStatus space = body_->wait_for_send_space(nonblocking);
  if (space != SocketStatus::ok) return space;
  const std::optional<Route> route = stack_.route(remote.address);
  if (!route) {
    ++stack_.ipv4().figures().out_no_routes;
    return SocketStatus::unreachable;
  }
  if (!is_bound()) {
    const SocketStatus status = stack_.udp().bind_ephemeral(*this, Ipv4Address{});
    if (status != SocketStatus::ok) return status;
  }
  const core::Instant born = stack_.timeline().now();
  stack_.cpu().charge(Work::udp_output);
  PacketPtr packet = make_packet(payload);
  if (!packet) return SocketStatus::no_buffers;
  packet->reach(core::Milestone::socket_sent);
  packet->born = born;
  packet->flow = flow;
  const Ipv4Address source = local_.address.is_any() ? route->source : local_.address;
  std::uint8_t* header = packet->push(udp::kBytes).data();
  const auto length = static_cast<std::uint16_t>(packet->length());
  core::store_be16(header + udp::kSource, local_.port);
  core::store_be16(header + udp::kDestination, remote.port);
  core::store_be16(header + udp::kLength, length);
  core::InternetChecksum pseudo;
  core::add_ipv4_pseudo_header(pseudo, source.value, remote.address.value, ipv4::kUdp, length);
  core::store_be16(header + udp::kChecksum, pseudo.sum());
  mark_unfinished_checksum(*packet, 0, udp::kChecksum);
  ++figures_.datagrams_out;
  figures_.bytes_out += payload.size();
  ++stack_.udp().figures_.out_datagrams;
  stack_.ipv4().send(std::move(packet), *route,
                     {.source = source,
                      .destination = remote.address,
                      .protocol = ipv4::kUdp,
                      .type_of_service = type_of_service_},
                     body_);
  return SocketStatus::ok;
}

// The user's bytes, copied. Empty if the pool has no packet or no block.
PacketPtr UdpSocket::make_packet(std::span<const std::uint8_t> payload) {
  PacketPtr packet = stack_.allocator().allocate(core::Origin::stack);
  if (!packet) return packet;
  packet->payload_owner = stack_.cpu().cache_owner();
  stack_.environment().user_memory.charge_copy(payload.size(), packet->payload_owner);
  if (payload.empty()) return packet;
  core::PayloadRef block = stack_.packets().allocate_payload(payload.size());
  if (!block) {
    stack_.allocator().drop(std::move(packet), core::DropReason::nomem);
    return {};
  }
  std::memcpy(block.writable().data(), payload.data(), payload.size());
  packet->append_payload(std::move(block));
  packet->account(payload.size());
  return packet;
}

// --- receiving -----------------------------------------------------------------------------------

UdpSocket::Received UdpSocket::receive(std::span<std::uint8_t> buffer, core::Instant deadline) {
  stack_.cpu().charge(Work::socket_call);
  return receive_one(buffer, deadline);
}

std::size_t UdpSocket::receive_many(std::span<const std::span<std::uint8_t>> buffers,
                                    std::span<Received> into, core::Instant deadline) {
  TAPESTRY_ASSERT(into.size() >= buffers.size(), "each buffer has a place for what it says");
  stack_.cpu().charge(Work::packet_receive_call);
  std::size_t count = 0;
  for (; count < buffers.size(); ++count) {
    into[count] = receive_one(buffers[count], count == 0 ? deadline : core::kStart);
    if (into[count].status != SocketStatus::ok) break;
  }
  return count;
}

UdpSocket::Received UdpSocket::receive_one(std::span<std::uint8_t> buffer, core::Instant deadline) {
  Received received;
  PacketPtr packet = body_->take(deadline, received.status);
  if (!packet) return received;
  stack_.cpu().charge(Work::socket_receive);
  received.length = packet->length();
  received.from = {Ipv4Address{core::load_be32(packet->network_header() + ipv4::kSource)},
                   core::load_be16(packet->transport_header() + udp::kSource)};
  received.born = packet->born;
  received.stamp = packet->stamp;
  received.flow = packet->flow;
  const std::size_t copied = std::min(buffer.size(), packet->length());
  packet->truncate_to(copied);
  packet->copy_out(0, buffer.first(copied));
  stack_.environment().user_memory.charge_copy(copied, packet->payload_owner);
  stack_.cpu().charge(Work::packet_free);
  ++figures_.datagrams_in;
  figures_.bytes_in += copied;
  ++stack_.udp().figures_.in_datagrams;
  core::deliver(std::move(packet));
  return received;
}

}  // namespace tapestry::net
