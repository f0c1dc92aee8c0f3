// The protocol: what comes from IPv4, and which socket it is for.
#include "net/udp.hpp"

#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/icmp.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

using core::ChecksumState;
using core::DropReason;
using core::PacketPtr;
using sched::Work;

Udp::Udp(Stack& stack) : stack_(stack) {}

std::unique_ptr<UdpSocket> Udp::open() { return std::unique_ptr<UdpSocket>(new UdpSocket(stack_)); }

// --- ports ---------------------------------------------------------------------------------------

bool Udp::in_use(const UdpSocket& by_other_than, Endpoint local) {
  for (UdpSocket* socket = bucket_of(local.port); socket; socket = socket->next_in_bucket_) {
    if (socket == &by_other_than || socket->local_.port != local.port) continue;
    const Ipv4Address address = socket->local_.address;
    if (address == local.address || address.is_any() || local.address.is_any()) return true;
  }
  return false;
}

SocketStatus Udp::bind(UdpSocket& socket, Endpoint local) {
  stack_.timeline().require_settled("the table of UDP ports");
  if (in_use(socket, local)) return SocketStatus::in_use;
  socket.local_ = local;
  link(socket);
  return SocketStatus::ok;
}

SocketStatus Udp::bind_ephemeral(UdpSocket& socket, Ipv4Address address) {
  for (int tries = kEphemeralFirst; tries <= kEphemeralLast; ++tries) {
    const std::uint16_t port = next_ephemeral_;
    next_ephemeral_ =
        port == kEphemeralLast ? kEphemeralFirst : static_cast<std::uint16_t>(port + 1);
    if (bind(socket, {address, port}) == SocketStatus::ok) return SocketStatus::ok;
  }
  return SocketStatus::in_use;
}

void Udp::link(UdpSocket& socket) {
  UdpSocket*& bucket = bucket_of(socket.local_.port);
  socket.next_in_bucket_ = std::exchange(bucket, &socket);
}

void Udp::unlink(UdpSocket& socket) {
  UdpSocket** at = &bucket_of(socket.local_.port);
  while (*at != &socket)
    at = &(*at)->next_in_bucket_;
  *at = std::exchange(socket.next_in_bucket_, nullptr);
}

// compute_score: the socket that says most about the datagram it wants.
UdpSocket* Udp::look_up(Endpoint from, Endpoint to) {
  stack_.timeline().require_settled("the table of UDP ports");
  UdpSocket* best = nullptr;
  int best_score = -1;
  for (UdpSocket* socket = bucket_of(to.port); socket; socket = socket->next_in_bucket_) {
    if (socket->local_.port != to.port) continue;
    const bool bound = !socket->local_.address.is_any();
    if (bound && socket->local_.address != to.address) continue;
    if (socket->remote_ && *socket->remote_ != from) continue;
    const int score = (bound ? 1 : 0) + (socket->remote_ ? 2 : 0);
    if (score > best_score) {
      best = socket;
      best_score = score;
    }
  }
  return best;
}

// --- receiving -----------------------------------------------------------------------------------

// A checksum of 0: the sender did not make one. An unfinished one never left this machine, or its
// host's word says that it is as good as checked.
bool Udp::has_sound_checksum(const core::Packet& packet, Ipv4Address source,
                             Ipv4Address destination) {
  core::InternetChecksum checksum;
  core::add_ipv4_pseudo_header(checksum, source.value, destination.value, ipv4::kUdp,
                               static_cast<std::uint16_t>(packet.length()));
  core::add_packet_range(checksum, packet, 0, packet.length());
  return checksum.finish() == 0;
}

// Everything up to the look-up is private to this packet; the look-up and the queue are one act.
void Udp::receive(PacketPtr packet, Ipv4Address source, Ipv4Address destination) {
  sched::Cpu& cpu = stack_.cpu();
  cpu.charge(Work::udp_input);
  const std::size_t length =
      packet->make_linear(udp::kBytes) ? core::load_be16(packet->data() + udp::kLength) : 0;
  if (length < udp::kBytes || length > packet->length()) [[unlikely]] {
    ++figures_.in_errors;
    stack_.allocator().drop(std::move(packet), DropReason::pkt_too_small);
    return;
  }
  if (length < packet->length()) packet->trim_to(length);
  const std::uint8_t* header = packet->data();
  if (packet->checksum == ChecksumState::none && core::load_be16(header + udp::kChecksum) != 0) {
    cpu.charge(Work::checksum, 1, static_cast<std::int64_t>(length));
    cpu.charge_cold_read(packet->payload_owner, static_cast<std::int64_t>(length));
    packet->payload_owner = cpu.cache_owner();
    if (!has_sound_checksum(*packet, source, destination)) {
      ++figures_.in_errors;
      ++figures_.in_csum_errors;
      stack_.allocator().drop(std::move(packet), DropReason::udp_csum);
      return;
    }
  }
  const Endpoint from{source, core::load_be16(header + udp::kSource)};
  const Endpoint to{destination, core::load_be16(header + udp::kDestination)};
  cpu.settle();
  UdpSocket* socket = look_up(from, to);
  if (socket == nullptr) [[unlikely]] {
    ++figures_.no_ports;
    stack_.icmp().send_unreachable(*packet, icmp::kPortUnreachable);
    stack_.allocator().drop(std::move(packet), DropReason::no_socket);
    return;
  }
  packet->pull(udp::kBytes);
  if (socket->body_->enqueue(packet)) [[likely]]
    return;
  ++socket->figures_.receive_buffer_errors;
  ++figures_.rcvbuf_errors;
  ++figures_.in_errors;
  stack_.allocator().drop(std::move(packet), DropReason::socket_rcvbuff);
}

}  // namespace tapestry::net
