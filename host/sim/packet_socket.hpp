// An AF_PACKET socket, SOCK_RAW, on one device of a host: sees the frames that pass the device, and
// sends frames through it (net/packet/af_packet.c).
//
// It takes copies of what passes in both directions, but not of what it sent itself. Its filter is
// the one that UML's drivers attach: six instructions that refuse frames from one source address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/packet.hpp"
#include "host/packet_io.hpp"
#include "host/sim/readiness.hpp"
#include "host/sim/send_buffer.hpp"
#include "net/address.hpp"
#include "net/device.hpp"

namespace tapestry::host::sim {

struct PacketSocketOptions {
  bool vnet_header = true;                             // PACKET_VNET_HDR
  bool qdisc_bypass = false;                           // PACKET_QDISC_BYPASS
  std::optional<net::MacAddress> ignored_source = {};  // the filter
  // Packet memory, as SO_RCVBUF and SO_SNDBUF doubled: net.core.rmem_default and wmem_default.
  std::uint32_t receive_buffer_bytes = 212'992;
  std::uint32_t send_buffer_bytes = 212'992;
};

class PacketSocket final : public PacketIo, private net::Device::Tap {
 public:
  // What one sendmmsg or recvmmsg takes (UIO_MAXIOV).
  static constexpr std::size_t kMessagesMax = core::PacketBatch::kCapacityMax;

  // Listens from now on, until it is destroyed; the device outlives it.
  PacketSocket(net::Device& device, PacketSocketOptions options);
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;
  ~PacketSocket() override;

  IoCapabilities capabilities() const override;
  // sendmmsg. What stops it after the first message is told by the count only; the next call finds
  // out for itself. A message that the device's queue refused is gone, though not counted.
  IoResult send(const core::PacketBatch& batch, std::size_t count) override;
  // send(2): one frame in a call of its own.
  IoStatus send_frame(const core::Packet& frame);
  // recvmmsg. What stops it after the first message is told by the next call.
  IoResult receive(std::span<ReceiveSlot> slots) override;
  void listen(ReadinessListener* listener) override { readiness_.listen(listener); }
  void watch_writable(bool wanted) override {
    readiness_.watch_writable(wanted, send_buffer_->is_writable());
  }

  // The device has gone down (ENETDOWN): the next receive fails, once.
  void report_error() { error_ = true; }

  std::size_t waiting() const { return queue_.size(); }
  // PACKET_STATISTICS
  struct Figures {
    std::uint64_t packets = 0;  // passed the filter, dropped ones included
    std::uint64_t drops = 0;    // the receive buffer was full
    std::uint64_t filtered = 0;
  };
  const Figures& figures() const { return figures_; }

 private:
  bool frame(const core::Packet& packet, core::Direction direction) override;
  bool is_ignored(const core::Packet& packet) const;
  IoStatus send_one(const core::Packet& frame);
  sched::Cpu& cpu() const;

  net::Device& device_;
  PacketSocketOptions options_;
  core::PacketQueue queue_;
  std::uint64_t receive_memory_bytes_ = 0;
  Readiness readiness_;
  SendBuffer::Pointer send_buffer_;
  bool error_ = false;
  Figures figures_;
};

}  // namespace tapestry::host::sim
