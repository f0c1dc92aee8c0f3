// What every datagram socket has behind its face: a receive queue and a send account, both bounded
// in packet memory, and who waits for them.
//
// A body outlives its socket as long as a packet that the socket has sent is still on its way
// somewhere, or somebody who is just putting a packet on its queue waits for the CPU.
#pragma once

#include <cstdint>

#include "core/packet.hpp"
#include "core/time.hpp"
#include "net/socket_status.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::net {

class Stack;

class SocketBody final : public core::PacketOwner {
 public:
  SocketBody(Stack& stack, std::uint32_t receive_buffer, std::uint32_t send_buffer);

  // The socket is gone: drops what nobody has read. The body goes when the last packet has.
  void close();

  // --- sending -----------------------------------------------------------------------------------
  // Waits while as much as the send buffer is on its way (sock_alloc_send_skb). Returns settled.
  SocketStatus wait_for_send_space(bool nonblocking);
  // The packet is on its way from here on, until it ends or is orphaned. Settled.
  void account(core::Packet& packet);
  // The packet has ended. Wakes writers when half of the send buffer is free, as sock_wfree.
  void packet_released(std::uint32_t bytes) override;
  bool packet_segmented(std::uint32_t more_bytes) override {
    send_memory_ += more_bytes;
    return true;
  }
  bool wait_writable(core::Instant deadline);

  // --- receiving ---------------------------------------------------------------------------------
  // Puts the packet on the queue, charges socket_enqueue and wakes a reader; false, and the packet
  // is still the caller's, if the receive buffer is full. Settled.
  bool enqueue(core::PacketPtr& packet);
  // The next packet, settled; empty, with the reason in `status`, if none comes until `deadline`.
  core::PacketPtr take(core::Instant deadline, SocketStatus& status);
  bool wait_readable(core::Instant deadline);
  bool readable() const { return !queue_.empty(); }

  void set_receive_buffer(std::uint32_t bytes) { receive_buffer_ = bytes; }
  void set_send_buffer(std::uint32_t bytes) { send_buffer_ = bytes; }
  std::uint32_t receive_memory() const { return receive_memory_; }
  std::uint32_t send_memory() const { return send_memory_; }

 private:
  // Keeps the body where control may be lost while it is used.
  class Hold {
   public:
    explicit Hold(SocketBody& body) : body_(body) { ++body_.holds_; }
    ~Hold() {
      --body_.holds_;
      body_.end_if_unused();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    SocketBody& body_;
  };

  ~SocketBody() = default;
  void end_if_unused();
  bool may_send() const { return send_memory_ < send_buffer_; }
  bool writable() const { return send_memory_ < send_buffer_ / 2; }

  Stack* stack_;  // null: the socket is closed
  core::PacketQueue queue_;
  std::uint32_t receive_buffer_;  // bytes of packet memory, as SO_RCVBUF doubled
  std::uint32_t send_buffer_;
  std::uint32_t receive_memory_ = 0;
  std::uint32_t send_memory_ = 0;
  std::uint32_t holds_ = 0;
  sched::WaitQueue readers_{"socket data"};
  sched::WaitQueue writers_{"socket send space"};
};

}  // namespace tapestry::net
