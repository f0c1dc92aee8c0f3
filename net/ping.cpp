#include "net/ping.hpp"

#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/icmp.hpp"
#include "net/ipv4.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

using core::PacketPtr;
using sched::Work;

PingSocket::PingSocket(Stack& stack)
    : stack_(stack),
      body_(new SocketBody(stack, stack.options().rmem_default, stack.options().wmem_default)) {}

PingSocket::~PingSocket() {
  std::erase(stack_.icmp().sockets_, this);
  body_->close();
}

SocketStatus PingSocket::open(std::uint16_t id) {
  stack_.timeline().require_settled("the table of ping sockets");
  TAPESTRY_ASSERT(!open_, "a ping socket is opened once");
  std::vector<PingSocket*>& sockets = stack_.icmp().sockets_;
  if (std::ranges::find(sockets, id, &PingSocket::id) != sockets.end()) return SocketStatus::in_use;
  id_ = id;
  open_ = true;
  sockets.push_back(this);
  return SocketStatus::ok;
}

SocketStatus PingSocket::send(Ipv4Address destination, std::uint16_t sequence, std::size_t bytes,
                              std::uint32_t flow) {
  TAPESTRY_ASSERT(open_, "a ping socket is open before it sends");
  if (bytes > kPayloadMax) return SocketStatus::too_long;
  stack_.cpu().charge(Work::socket_call);
  if (const SocketStatus status = body_->wait_for_send_space(false); status != SocketStatus::ok)
    return status;
  const std::optional<Route> route = stack_.route(destination);
  if (!route) {
    ++stack_.ipv4().figures().out_no_routes;
    return SocketStatus::unreachable;
  }
  const core::Instant now = stack_.timeline().now();
  request(sequence) = {true, false, sequence, now};
  stack_.cpu().charge(Work::icmp);
  PacketPtr packet = stack_.allocator().allocate(core::Origin::stack);
  if (!packet) return SocketStatus::no_buffers;
  packet->reach(core::Milestone::socket_sent);
  std::uint8_t* header = packet->put(icmp::kBytes).data();
  core::store_be32(header, std::uint32_t{icmp::kEchoRequest} << 24);
  core::store_be16(header + icmp::kIdentifier, id_);
  core::store_be16(header + icmp::kSequence, sequence);
  if (bytes != 0) {
    core::PayloadRef payload = stack_.packets().allocate_payload(bytes);
    if (!payload) {
      stack_.allocator().drop(std::move(packet), core::DropReason::nomem);
      return SocketStatus::no_buffers;
    }
    std::uint8_t next = 0;
    std::ranges::generate(payload.writable(), [&next] { return next++; });
    packet->append_payload(std::move(payload));
  }
  packet->payload_owner = stack_.cpu().cache_owner();
  stack_.environment().user_memory.charge_copy(bytes, packet->payload_owner);
  stack_.cpu().charge(Work::checksum, 1, static_cast<std::int64_t>(packet->length()));
  core::InternetChecksum checksum;
  core::add_packet_range(checksum, *packet, 0, packet->length());
  core::store_be16(header + icmp::kChecksum, checksum.finish());
  packet->born = now;
  packet->flow = flow;
  packet->account(bytes);
  Icmp& icmp = stack_.icmp();
  ++icmp.figures_.out_messages;
  ++icmp.figures_.out_echo_requests;
  stack_.ipv4().send(std::move(packet), *route,
                     {.source = route->source, .destination = destination, .protocol = ipv4::kIcmp},
                     body_);
  return SocketStatus::ok;
}

void PingSocket::account_round_trip(Reply& reply, core::Instant arrived) {
  Request& asked = request(reply.sequence);
  if (!asked.sent || asked.sequence != reply.sequence) return;
  reply.has_round_trip = true;
  reply.round_trip = arrived - asked.at;
  reply.duplicate = std::exchange(asked.answered, true);
}

PingSocket::Reply PingSocket::receive(core::Instant deadline) {
  Reply reply;
  stack_.cpu().charge(Work::socket_call);
  PacketPtr packet = body_->take(deadline, reply.status);
  if (!packet) return reply;
  stack_.cpu().charge(Work::socket_receive);
  const std::uint8_t* ip = packet->network_header();
  reply.sequence = core::load_be16(packet->data() + icmp::kSequence);
  reply.time_to_live = ip[ipv4::kTimeToLive];
  reply.from = Ipv4Address{core::load_be32(ip + ipv4::kSource)};
  reply.bytes = packet->length() - icmp::kBytes;
  reply.intact = true;
  std::size_t at = 0;
  packet->for_each_piece(icmp::kBytes, reply.bytes, [&](std::span<const std::uint8_t> piece) {
    for (const std::uint8_t byte : piece)
      reply.intact = reply.intact && byte == static_cast<std::uint8_t>(at++);
  });
  account_round_trip(reply, packet->stamp);
  stack_.environment().user_memory.charge_copy(packet->length(), packet->payload_owner);
  stack_.cpu().charge(Work::packet_free);
  core::deliver(std::move(packet));
  return reply;
}

}  // namespace tapestry::net
