#include "net/icmp.hpp"

#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/ipv4.hpp"
#include "net/ping.hpp"
#include "net/stack.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net {

using core::DropReason;
using core::PacketPtr;
using sched::Work;

namespace {

constexpr core::Nanos kSecond{1'000'000'000};
// RFC 1812: an error message, headers included, has at most 576 bytes.
constexpr std::size_t kErrorMax = 576 - ipv4::kBytes - icmp::kBytes;

}  // namespace

Icmp::Icmp(Stack& stack) : stack_(stack) {}

void Icmp::receive(PacketPtr packet, Ipv4Address source, Ipv4Address destination) {
  sched::Cpu& cpu = stack_.cpu();
  cpu.charge(Work::icmp);
  ++figures_.in_messages;
  if (!packet->make_linear(icmp::kBytes)) {
    ++figures_.in_errors;
    stack_.allocator().drop(std::move(packet), DropReason::hdr_trunc);
    return;
  }
  if (packet->checksum != core::ChecksumState::unnecessary) {
    cpu.charge(Work::checksum, 1, static_cast<std::int64_t>(packet->length()));
    core::InternetChecksum checksum;
    core::add_packet_range(checksum, *packet, 0, packet->length());
    if (checksum.finish() != 0) {
      ++figures_.in_checksum_errors;
      ++figures_.in_errors;
      stack_.allocator().drop(std::move(packet), DropReason::icmp_csum);
      return;
    }
  }
  switch (packet->data()[icmp::kType]) {
    case icmp::kEchoRequest:
      ++figures_.in_echo_requests;
      reply_to_echo(std::move(packet), source, destination);
      return;
    case icmp::kEchoReply:
      ++figures_.in_echo_replies;
      deliver_reply(std::move(packet));
      return;
    case icmp::kUnreachable:
      ++figures_.in_unreachables;
      deliver_error(std::move(packet));
      return;
    default:
      break;
  }
  stack_.allocator().free(std::move(packet));
}

// The reply shares the request's payload. Its checksum follows from the request's: only the type
// has changed. Broadcasts are not answered (icmp_echo_ignore_broadcasts).
void Icmp::reply_to_echo(PacketPtr request, Ipv4Address source, Ipv4Address destination) {
  const std::size_t payload = request->length() - icmp::kBytes;
  PacketPtr reply =
      stack_.is_local(destination) ? stack_.allocator().allocate(core::Origin::stack) : PacketPtr();
  if (!reply) {
    stack_.allocator().free(std::move(request));
    return;
  }
  reply->reach(core::Milestone::socket_sent);
  reply->born = request->born;
  reply->flow = request->flow;
  const bool appended = reply->append_range(*request, 0, request->length());
  if (!appended || !reply->make_linear(icmp::kBytes)) {
    stack_.allocator().drop(std::move(reply), DropReason::nomem);
    stack_.allocator().free(std::move(request));
    return;
  }
  reply->account(payload);
  stack_.cpu().charge(Work::checksum, 1, static_cast<std::int64_t>(request->length()));
  std::uint8_t* header = reply->data();
  header[icmp::kType] = icmp::kEchoReply;
  core::store_be16(header + icmp::kChecksum,
                   core::replaced_word(core::load_be16(header + icmp::kChecksum),
                                       icmp::kEchoRequest << 8, icmp::kEchoReply << 8));
  stack_.allocator().free(std::move(request));
  ++figures_.out_echo_replies;
  send(std::move(reply), destination, source, false);
}

void Icmp::deliver_reply(PacketPtr packet) {
  stack_.cpu().settle();
  const std::uint16_t id = core::load_be16(packet->data() + icmp::kIdentifier);
  const auto socket = std::ranges::find(sockets_, id, &PingSocket::id);
  if (socket == sockets_.end()) {
    stack_.allocator().drop(std::move(packet), DropReason::no_socket);
    return;
  }
  if (!(*socket)->body_->enqueue(packet))
    stack_.allocator().drop(std::move(packet), DropReason::socket_rcvbuff);
}

void Icmp::send(PacketPtr packet, Ipv4Address source, Ipv4Address destination, bool dont_fragment) {
  ++figures_.out_messages;
  const std::optional<Route> route = stack_.route(destination);
  if (!route) {
    ++stack_.ipv4().figures().out_no_routes;
    stack_.allocator().drop(std::move(packet), DropReason::ip_outnoroutes);
    return;
  }
  stack_.ipv4().send(std::move(packet), *route,
                     {.source = source,
                      .destination = destination,
                      .protocol = ipv4::kIcmp,
                      .dont_fragment = dont_fragment});
}

// --- errors --------------------------------------------------------------------------------------

// inet_peer_xrlim_allow: time since the last message is saved up, to at most six messages' worth.
bool Icmp::may_send_error(Ipv4Address destination) {
  const irq::JiffyTimers& timers = stack_.environment().jiffies;
  const std::uint64_t now = timers.jiffies();
  const std::uint64_t price = timers.to_jiffies(kSecond);
  auto known = std::ranges::find(allowances_, destination, &Allowance::destination);
  if (known == allowances_.end()) {
    if (allowances_.size() < kDestinationsMax) {
      allowances_.push_back({destination, kBurst * price, now});
    } else {  // forget who has been quiet for longest
      known = std::ranges::min_element(allowances_, {}, &Allowance::since);
      *known = {destination, kBurst * price, now};
    }
    known = std::ranges::find(allowances_, destination, &Allowance::destination);
  }
  known->jiffies = std::min(kBurst * price, known->jiffies + (now - known->since));
  known->since = now;
  if (known->jiffies < price) return false;
  known->jiffies -= price;
  return true;
}

// icmp_unreach: the message quotes the IP header that it is about, and eight bytes more.
void Icmp::deliver_error(PacketPtr packet) {
  constexpr std::size_t kQuoted = 8;
  const std::uint8_t code = packet->data()[icmp::kCode];
  bool whole = packet->make_linear(icmp::kBytes + ipv4::kBytes);
  std::size_t ip_bytes = 0;
  if (whole) {
    ip_bytes = std::size_t{4} * (packet->data()[icmp::kBytes] & 0xfu);
    whole = ip_bytes >= ipv4::kBytes && packet->make_linear(icmp::kBytes + ip_bytes + kQuoted);
  }
  if (!whole) {
    ++figures_.in_errors;
    stack_.allocator().drop(std::move(packet), DropReason::hdr_trunc);
    return;
  }
  const std::uint8_t* ip = packet->data() + icmp::kBytes;
  const std::uint8_t* quoted = ip + ip_bytes;
  if (ip[ipv4::kProtocol] == ipv4::kTcp) {
    const Endpoint local{Ipv4Address{core::load_be32(ip + ipv4::kSource)}, core::load_be16(quoted)};
    const Endpoint remote{Ipv4Address{core::load_be32(ip + ipv4::kDestination)},
                          core::load_be16(quoted + 2)};
    stack_.tcp().receive_error(local, remote, tcp::Sequence{core::load_be32(quoted + 4)}, code);
  }
  stack_.allocator().free(std::move(packet));
}

// Never about broadcasts, nor about fragments other than the first.
void Icmp::send_unreachable(const core::Packet& about, std::uint8_t code) {
  const std::uint8_t* ip = about.network_header();
  const Ipv4Address source{core::load_be32(ip + ipv4::kSource)};
  const Ipv4Address destination{core::load_be32(ip + ipv4::kDestination)};
  stack_.cpu().settle();
  if (!stack_.is_local(destination) || about.packet_type != core::PacketType::host) return;
  if (!may_send_error(source)) {
    ++figures_.rate_limited;
    return;
  }
  stack_.cpu().charge(Work::icmp);
  PacketPtr message = stack_.allocator().allocate(core::Origin::stack);
  if (!message) return;
  // The IP header of that packet lies in front of what is left of it.
  const auto stripped = static_cast<std::size_t>(about.data() - ip);
  const std::size_t quoted = std::min(kErrorMax - stripped, about.length());
  core::store_be64(message->put(icmp::kBytes).data(), 0);
  std::ranges::copy(std::span(ip, stripped), message->put(stripped).begin());
  if (!message->append_range(about, 0, quoted)) {
    stack_.allocator().drop(std::move(message), DropReason::nomem);
    return;
  }
  std::uint8_t* header = message->data();
  header[icmp::kType] = icmp::kUnreachable;
  header[icmp::kCode] = code;
  core::InternetChecksum checksum;
  core::add_packet_range(checksum, *message, 0, message->length());
  core::store_be16(header + icmp::kChecksum, checksum.finish());
  stack_.cpu().charge(Work::checksum, 1, static_cast<std::int64_t>(message->length()));
  ++figures_.out_unreachables;
  send(std::move(message), destination, source, false);
}

}  // namespace tapestry::net
