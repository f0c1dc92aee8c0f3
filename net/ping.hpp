// A socket for echo requests: what ping(8) uses (net/ipv4/ping.c).
//
// The payload of a request is the pattern 0, 1, 2, ..., 255, 0, ...; the reply's is compared.
// Socket functions run in process context inside a system call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "net/address.hpp"
#include "net/socket_body.hpp"
#include "net/socket_status.hpp"

namespace tapestry::net {

class Stack;

class PingSocket {
 public:
  // The largest payload: 65,535 - 20 - 8.
  static constexpr std::size_t kPayloadMax = 65'507;
  // Requests whose departure is remembered; a reply to an older one has no round-trip time.
  static constexpr std::size_t kRemembered = 1024;

  // `id` tells the sockets of a machine apart: in_use if one has it already.
  explicit PingSocket(Stack& stack);
  ~PingSocket();  // drops what nobody has read
  PingSocket(const PingSocket&) = delete;
  PingSocket& operator=(const PingSocket&) = delete;

  SocketStatus open(std::uint16_t id);

  // One request with `bytes` of payload, at most kPayloadMax; in fragments if it must.
  SocketStatus send(Ipv4Address destination, std::uint16_t sequence, std::size_t bytes,
                    std::uint32_t flow = 0);

  struct Reply {
    SocketStatus status = SocketStatus::ok;
    std::uint16_t sequence = 0;
    std::uint8_t time_to_live = 0;
    std::size_t bytes = 0;  // of payload
    Ipv4Address from;
    bool intact = false;     // the payload is the pattern
    bool duplicate = false;  // of a request that was answered before
    bool has_round_trip = false;
    core::Nanos round_trip{0};  // from the call of send until the reply was on the socket's queue
  };
  // Waits for a reply until `deadline` (kNever: for ever; now: does not wait).
  Reply receive(core::Instant deadline = core::kNever);

  std::uint16_t id() const { return id_; }

 private:
  friend class Icmp;

  struct Request {
    bool sent = false;
    bool answered = false;
    std::uint16_t sequence = 0;
    core::Instant at{};
  };
  Request& request(std::uint16_t sequence) { return requests_[sequence % kRemembered]; }
  void account_round_trip(Reply& reply, core::Instant arrived);

  Stack& stack_;
  SocketBody* body_;
  bool open_ = false;
  std::uint16_t id_ = 0;
  std::array<Request, kRemembered> requests_{};
};

}  // namespace tapestry::net
