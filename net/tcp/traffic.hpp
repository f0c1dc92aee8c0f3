// What goes into a connection and comes out of it: packets below, bytes above.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet.hpp"
#include "core/time.hpp"
#include "net/socket_status.hpp"
#include "net/tcp/header.hpp"
#include "net/tcp/sequence.hpp"

namespace tapestry::net::tcp {

class Connection;

// Packets of a connection between TCP and the driver that frees them (sk_wmem_alloc). Outlives the
// connection as long as one is on its way.
class SendAccount final : public core::PacketOwner {
 public:
  explicit SendAccount(Connection& connection) : connection_(&connection) {}
  void account(core::Packet& packet, std::uint32_t bytes) {
    packet.set_owner(*this, bytes);
    bytes_ += bytes;
  }
  void packet_released(std::uint32_t bytes) override;
  void connection_gone();
  std::uint32_t bytes() const { return bytes_; }  // settled callers
  bool throttled = false;                         // TSQ_THROTTLED: told when bytes come back

 private:
  ~SendAccount() = default;
  Connection* connection_;
  std::uint32_t bytes_ = 0;
};

// A segment that has come in. The packet has its payload only.
struct Input {
  Header header;
  Sequence end;                // behind its SYN, payload and FIN
  std::uint32_t length = 0;    // of payload
  std::uint32_t segments = 1;  // on the wire: more than one if they were merged
  core::PacketPtr packet;
};

struct SendResult {
  SocketStatus status = SocketStatus::ok;
  std::size_t length = 0;
};

struct ReceiveResult {
  SocketStatus status = SocketStatus::ok;
  std::size_t length = 0;
  core::Instant born{};
  core::Instant stamp{};
};

}  // namespace tapestry::net::tcp
