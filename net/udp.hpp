// UDP and its sockets (net/ipv4/udp.c).
//
// Socket functions run in process context inside a system call (kernel::Machine::system_call makes
// one); they block the running thread where the kernel would. A payload is copied twice, in and
// out, and nowhere in between. Its checksum is left to the device, or to the framework in front of
// one that cannot; a received one is looked at before the socket is looked up, in softirq context.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/packet.hpp"
#include "net/address.hpp"
#include "net/socket_body.hpp"
#include "net/socket_status.hpp"

namespace tapestry::net {

class Stack;
class Udp;

class UdpSocket {
 public:
  // Unbinds; drops what nobody has read. Nobody waits in it, and its stack still stands.
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  SocketStatus bind(Endpoint local);      // port 0: an ephemeral one
  SocketStatus connect(Endpoint remote);  // default destination, and a filter on what is received
  Endpoint local() const { return local_; }

  // Copies the bytes in (charged) and sends one datagram, in fragments if it must. Blocks while
  // as much as the send buffer is on its way, unless `nonblocking`. The first binds the socket.
  SocketStatus send(std::span<const std::uint8_t> payload, std::uint32_t flow = 0,
                    bool nonblocking = false);
  SocketStatus send_to(Endpoint remote, std::span<const std::uint8_t> payload,
                       std::uint32_t flow = 0, bool nonblocking = false);
  // sendmmsg on a connected socket: as many datagrams as go, in one call. What stops it after the
  // first is told by the count only.
  std::size_t send_many(std::span<const std::span<const std::uint8_t>> payloads,
                        std::uint32_t flow = 0, bool nonblocking = false);

  struct Received {
    SocketStatus status = SocketStatus::ok;
    std::size_t length = 0;  // bytes of the datagram, perhaps more than the buffer holds
    Endpoint from;
    core::Instant born{};   // when its sender made it
    core::Instant stamp{};  // when it was put on this socket's queue
    std::uint32_t flow = 0;
  };
  // Waits for a datagram until `deadline` (kNever: for ever; now: does not wait) and copies it out
  // (charged). What the buffer does not hold is lost.
  Received receive(std::span<std::uint8_t> buffer, core::Instant deadline = core::kNever);
  // recvmmsg with MSG_WAITFORONE: waits for the first datagram until `deadline`, takes what else is
  // there, one for each buffer, and returns how many. `into[count]` says what stopped it.
  std::size_t receive_many(std::span<const std::span<std::uint8_t>> buffers,
                           std::span<Received> into, core::Instant deadline = core::kNever);
  bool readable() const { return body_->readable(); }
  // select/poll for one socket: waits, charges nothing for the call itself.
  bool wait_readable(core::Instant deadline) { return body_->wait_readable(deadline); }
  bool wait_writable(core::Instant deadline) { return body_->wait_writable(deadline); }

  void set_receive_buffer(std::uint32_t bytes) { body_->set_receive_buffer(bytes); }
  void set_send_buffer(std::uint32_t bytes) { body_->set_send_buffer(bytes); }
  void set_type_of_service(std::uint8_t value) { type_of_service_ = value; }  // IP_TOS

  struct Figures {
    std::uint64_t datagrams_in = 0, bytes_in = 0, datagrams_out = 0, bytes_out = 0;
    std::uint64_t receive_buffer_errors = 0;  // dropped: the receive buffer was full
  };
  const Figures& figures() const { return figures_; }

 private:
  friend class Udp;
  explicit UdpSocket(Stack& stack);

  bool is_bound() const { return local_.port != 0; }
  SocketStatus send_one(Endpoint remote, std::span<const std::uint8_t> payload, std::uint32_t flow,
                        bool nonblocking);
  Received receive_one(std::span<std::uint8_t> buffer, core::Instant deadline);
  core::PacketPtr make_packet(std::span<const std::uint8_t> payload);

  Stack& stack_;
  SocketBody* body_;
  Endpoint local_;
  std::optional<Endpoint> remote_;
  std::uint8_t type_of_service_ = 0;
  UdpSocket* next_in_bucket_ = nullptr;
  Figures figures_;
};

class Udp {
 public:
  explicit Udp(Stack& stack);
  std::unique_ptr<UdpSocket> open();

  // From IPv4: the packet begins at its transport header; softirq context. A datagram for a
  // broadcast address goes to one of the sockets that are bound to its port and to no address.
  void receive(core::PacketPtr packet, Ipv4Address source, Ipv4Address destination);

  struct Figures {  // /proc/net/snmp Udp:
    std::uint64_t in_datagrams = 0, no_ports = 0, in_errors = 0, out_datagrams = 0;
    std::uint64_t rcvbuf_errors = 0, in_csum_errors = 0;
  };
  const Figures& figures() const { return figures_; }

 private:
  friend class UdpSocket;

  static constexpr std::uint16_t kEphemeralFirst = 32768;  // net.ipv4.ip_local_port_range
  static constexpr std::uint16_t kEphemeralLast = 60999;
  static constexpr std::size_t kBuckets = 256;

  UdpSocket*& bucket_of(std::uint16_t port) { return buckets_[port % kBuckets]; }
  SocketStatus bind(UdpSocket& socket, Endpoint local);
  SocketStatus bind_ephemeral(UdpSocket& socket, Ipv4Address address);
  bool in_use(const UdpSocket& by_other_than, Endpoint local);
  void link(UdpSocket& socket);
  void unlink(UdpSocket& socket);
  UdpSocket* look_up(Endpoint from, Endpoint to);
  bool has_sound_checksum(const core::Packet& packet, Ipv4Address source, Ipv4Address destination);

  Stack& stack_;
  std::array<UdpSocket*, kBuckets> buckets_{};
  std::uint16_t next_ephemeral_ = kEphemeralFirst;
  Figures figures_;
};

}  // namespace tapestry::net
