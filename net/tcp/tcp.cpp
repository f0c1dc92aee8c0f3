// The protocol: what comes from IPv4, and which connection or listener it is for.
#include "net/tcp/tcp.hpp"

#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/checksum_offload.hpp"
#include "net/headers.hpp"
#include "net/ipv4.hpp"
#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/listener.hpp"

namespace tapestry::net {

using core::ChecksumState;
using core::DropReason;
using core::PacketPtr;
using sched::Work;
using tcp::Connection;
using tcp::Header;
using tcp::Listener;
using tcp::State;

Tcp::Tcp(Stack& stack)
    : stack_(stack),
      throttled_tasklet_(stack.environment().tasklets, &Tcp::run_throttled, this),
      sequences_(stack.scheduler().seed(), stack.scheduler().name() + ".tcp") {}

// The world has ended: nobody is inside of a connection, and nothing more is sent.
Tcp::~Tcp() {
  for (Connection*& bucket : buckets_) {
    while (bucket != nullptr) {
      Connection* connection = bucket;
      bucket = connection->next_in_bucket;
      if (connection->owned_by_socket)
        connection->let_go();  // its socket is still there
      else
        delete connection;
    }
  }
}

std::unique_ptr<TcpSocket> Tcp::open() { return std::unique_ptr<TcpSocket>(new TcpSocket(*this)); }

const TcpOptions& Tcp::options() const { return stack_.options().tcp; }

// --- the table -----------------------------------------------------------------------------------

std::size_t Tcp::bucket_of(Endpoint local, Endpoint remote) const {
  std::uint32_t hash = remote.address.value * 0x9e37'79b1u;
  hash ^= local.address.value * 0x85eb'ca6bu;
  hash ^= (std::uint32_t{local.port} << 16 | remote.port) * 0xc2b2'ae35u;
  return (hash ^ hash >> 15) % kBuckets;
}

void Tcp::link(Connection& connection) {
  stack_.timeline().require_settled("the table of TCP connections");
  Connection*& bucket = buckets_[bucket_of(connection.local(), connection.remote())];
  connection.next_in_bucket = std::exchange(bucket, &connection);
  connection.in_table = true;
  connection.hold();
  ++connections_;
}

void Tcp::unlink(Connection& connection) {
  if (!connection.in_table) return;
  Connection** at = &buckets_[bucket_of(connection.local(), connection.remote())];
  while (*at != &connection)
    at = &(*at)->next_in_bucket;
  *at = std::exchange(connection.next_in_bucket, nullptr);
  connection.in_table = false;
  --connections_;
  connection.let_go();
}

Connection* Tcp::look_up(Endpoint local, Endpoint remote) {
  stack_.timeline().require_settled("the table of TCP connections");
  Connection* connection = buckets_[bucket_of(local, remote)];
  while (connection != nullptr && (connection->local() != local || connection->remote() != remote))
    connection = connection->next_in_bucket;
  return connection;
}

Listener* Tcp::look_up_listener(Endpoint local) {
  Listener* any = nullptr;
  for (const auto& listener : listeners_) {
    if (listener->closed || listener->local.port != local.port) continue;
    if (listener->local.address == local.address) return listener.get();
    if (listener->local.address.is_any()) any = listener.get();
  }
  return any;
}

// --- ports ---------------------------------------------------------------------------------------

bool Tcp::is_bound(Endpoint local) const {
  for (const TcpSocket* socket = bound_; socket != nullptr; socket = socket->next_bound_) {
    if (socket->bound_->port != local.port) continue;
    const Ipv4Address address = socket->bound_->address;
    if (address == local.address || address.is_any() || local.address.is_any()) return true;
  }
  return false;
}

// One that nobody is bound to; for a connection, one that makes it the only one of its kind.
std::optional<std::uint16_t> Tcp::ephemeral_port(Ipv4Address address,
                                                 std::optional<Endpoint> remote) {
  for (int tries = kEphemeralFirst; tries <= kEphemeralLast; ++tries) {
    const std::uint16_t port = next_ephemeral_;
    next_ephemeral_ =
        port == kEphemeralLast ? kEphemeralFirst : static_cast<std::uint16_t>(port + 1);
    if (is_bound({address, port})) continue;
    if (remote && look_up({address, port}, *remote) != nullptr) continue;
    return port;
  }
  return std::nullopt;
}

// --- TCP small queues ----------------------------------------------------------------------------

void Tcp::throttled_may_send(Connection& connection) {
  if (connection.queued_as_throttled) return;
  connection.queued_as_throttled = true;
  connection.hold();
  connection.next_throttled = std::exchange(throttled_, &connection);
  throttled_tasklet_.schedule();
}

void Tcp::run_throttled(void* object) {
  Tcp& tcp = *static_cast<Tcp*>(object);
  tcp.stack_.cpu().settle();
  while (Connection* connection = tcp.throttled_) {
    tcp.throttled_ = std::exchange(connection->next_throttled, nullptr);
    connection->queued_as_throttled = false;
    connection->bytes_came_back();
    connection->let_go();
    tcp.stack_.cpu().settle();
  }
}

// --- receiving -----------------------------------------------------------------------------------

bool Tcp::checksum_is_wrong(core::Packet& packet, Ipv4Address source, Ipv4Address destination) {
  stack_.cpu().charge(Work::checksum, 1, static_cast<std::int64_t>(packet.length()));
  stack_.cpu().charge_cold_read(packet.payload_owner, static_cast<std::int64_t>(packet.length()));
  packet.payload_owner = stack_.cpu().cache_owner();
  core::InternetChecksum checksum;
  core::add_ipv4_pseudo_header(checksum, source.value, destination.value, ipv4::kTcp,
                               static_cast<std::uint16_t>(packet.length()));
  core::add_packet_range(checksum, packet, 0, packet.length());
  return checksum.finish() != 0;
}

// tcp_v4_err: the answer to a SYN ends the attempt. An established connection lives on; its timers
// find out for themselves.
void Tcp::receive_error(Endpoint local, Endpoint remote, tcp::Sequence sequence,
                        std::uint8_t code) {
  stack_.cpu().settle();
  Connection* connection = look_up(local, remote);
  if (connection == nullptr) return;
  switch (code) {
    case icmp::kProtocolUnreachable:
    case icmp::kPortUnreachable:
      connection->undeliverable(sequence, SocketStatus::refused);
      break;
    case icmp::kNetworkUnreachable:
    case icmp::kHostUnreachable:
      connection->undeliverable(sequence, SocketStatus::unreachable);
      break;
    default:
      break;
  }
}

// Everything up to the look-up is private to this packet.
void Tcp::receive(PacketPtr packet, Ipv4Address source, Ipv4Address destination) {
  sched::Cpu& cpu = stack_.cpu();
  cpu.charge(Work::tcp_input);
  figures_.in_segs += std::max<std::uint32_t>(packet->gso_segments, 1);
  const std::size_t bytes =
      packet->make_linear(tcp::kHeaderBytes) ? tcp::header_bytes(packet->data()) : 0;
  Header header;
  if (bytes < tcp::kHeaderBytes || !packet->make_linear(bytes) ||
      !tcp::parse({packet->data(), bytes}, header)) [[unlikely]] {
    ++figures_.in_errs;
    stack_.allocator().drop(std::move(packet), DropReason::pkt_too_small);
    return;
  }
  if (packet->checksum == ChecksumState::none && checksum_is_wrong(*packet, source, destination))
      [[unlikely]] {
    ++figures_.in_csum_errors;
    ++figures_.in_errs;
    stack_.allocator().drop(std::move(packet), DropReason::tcp_csum);
    return;
  }
  const Endpoint from{source, header.source};
  const Endpoint to{destination, header.destination};
  cpu.settle();
  Connection* connection = look_up(to, from);
  Listener* listener = nullptr;
  if (connection != nullptr && connection->state() == State::time_wait && header.syn &&
      !header.ack && !header.rst && connection->gives_way_to(header)) {
    listener = look_up_listener(to);
    if (listener != nullptr) {
      connection->end_quietly();
      connection = nullptr;
    }
  }
  if (connection != nullptr) [[likely]] {
    connection->arrived(std::move(packet));
    return;
  }
  if (listener == nullptr) listener = look_up_listener(to);
  if (listener != nullptr && header.syn && !header.ack && !header.rst) {
    receive_syn(*listener, std::move(packet), header, from, to);
    return;
  }
  const auto length = static_cast<std::uint32_t>(packet->length() - bytes);
  if (!header.rst) send_reset_for(*packet, header, length, from, to);
  stack_.allocator().drop(std::move(packet),
                          listener != nullptr ? DropReason::tcp_flags : DropReason::no_socket);
}

// tcp_conn_request
void Tcp::receive_syn(Listener& listener, PacketPtr packet, const Header& header, Endpoint from,
                      Endpoint to) {
  const std::optional<Route> route = stack_.route(from.address);
  const bool full = listener.is_full();
  const bool crowded = listener.being_set_up.size() > listener.backlog;
  if (full || crowded || !route || connections_ >= options().connections_max) {
    if (full) ++figures_.listen_overflows;
    ++figures_.listen_drops;
    stack_.allocator().drop(std::move(packet), DropReason::tcp_flags);
    return;
  }
  auto* connection = new Connection(*this, to, from, *route);
  connection->hold();
  link(*connection);
  listener.being_set_up.push_back(connection);
  stack_.allocator().free(std::move(packet));
  connection->open_passively(header, listener);
  connection->let_go();
}

void Tcp::listener_has(Listener& listener, Connection& connection) {
  std::erase(listener.being_set_up, &connection);
  listener.ready.push_back(&connection);
  connection.hold();
  ++figures_.passive_opens;
  if (listener.acceptors.anyone_waits()) listener.acceptors.wake_one(stack_.cpu());
}

// A reset for a segment that nobody wants (tcp_v4_send_reset).
void Tcp::send_reset_for(const core::Packet& packet, const Header& header, std::uint32_t length,
                         Endpoint from, Endpoint to) {
  const std::optional<Route> route = stack_.route(from.address);
  if (!route) return;
  stack_.cpu().charge(Work::tcp_ack_send);
  PacketPtr reply = stack_.allocator().allocate(core::Origin::stack);
  if (!reply) return;
  Header answer;
  answer.source = to.port;
  answer.destination = from.port;
  answer.rst = true;
  if (header.ack) {
    answer.sequence = header.acknowledgement;
  } else {
    answer.ack = true;
    answer.acknowledgement =
        header.sequence + length + (header.syn ? 1u : 0u) + (header.fin ? 1u : 0u);
  }
  reply->born = packet.born;
  tcp::emit(answer, reply->put(answer.bytes()));
  core::InternetChecksum pseudo;
  core::add_ipv4_pseudo_header(pseudo, to.address.value, from.address.value, ipv4::kTcp,
                               static_cast<std::uint16_t>(reply->length()));
  core::store_be16(reply->data() + tcp::kChecksumOffset, pseudo.sum());
  mark_unfinished_checksum(*reply, 0, tcp::kChecksumOffset);
  ++figures_.out_segs;
  ++figures_.out_rsts;
  stack_.ipv4().send(std::move(reply), *route,
                     {.source = to.address, .destination = from.address, .protocol = ipv4::kTcp});
}

}  // namespace tapestry::net
