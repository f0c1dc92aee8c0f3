// A tap: a network device of a host whose wire is a descriptor (drivers/net/tun.c).
//
//   host stack -> Tap::transmit -> queue of the descriptor -> TapDescriptor::receive   (one a call)
//   TapDescriptor::send -> a packet of the host's -> the host's receive path, inside the call
//
// It takes no lock to transmit, but its queueing discipline is there, ahead of the descriptor's own
// queue (NETIF_F_LLTX without IFF_NO_QUEUE). It never stops that: what its reader's queue has no
// room for is lost.
//
// What a reader can take (TUNSETOFFLOAD) is state of the device, not of the descriptor: it outlives
// who set it. The host's stack leaves checksums and segmentation undone for a device that says it
// does them; a later reader without a virtual header then gets frames that are longer than its
// buffer and checksums that nobody finished, and isn't told. Reads of what is longer than the
// buffer cut it off silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/packet.hpp"
#include "host/packet_io.hpp"
#include "host/sim/readiness.hpp"
#include "host/sim/send_buffer.hpp"
#include "net/device.hpp"

namespace tapestry::host::sim {

class TapDescriptor;

struct TapOptions {
  std::size_t queue_packets =
      1000;  // txqueuelen: the descriptor's queue; 500 in kernels before 4.3
  std::uint64_t send_buffer_bytes = SendBuffer::kUnlimited;  // TUNSETSNDBUF
  bool receives_inline = true;  // a write runs the receive path itself; else through the backlog
};

// TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_UFO.
struct TapOffloads {
  bool checksum = false;
  bool tcp4_segmentation = false;
  bool tcp6_segmentation = false;
  bool udp_segmentation = false;
};

class Tap final : public net::Driver {
 public:
  // Becomes the driver of `device`. Outlives its descriptors; destroyed when nothing runs any more.
  Tap(net::Device& device, TapOptions options);
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  ~Tap() override;

  // /dev/net/tun and TUNSETIFF, with or without IFF_VNET_HDR; then TUNSETOFFLOAD, unless `offloads`
  // is empty: then those of whoever was here before stay. Null if somebody has it open (EBUSY) or
  // the offloads make no sense (EINVAL).
  std::unique_ptr<TapDescriptor> open_reader(bool vnet_header,
                                             std::optional<TapOffloads> offloads = {});
  // False, and nothing changed, if segmentation is asked for without checksums.
  bool set_offloads(TapOffloads offloads);
  TapOffloads offloads() const { return offloads_; }
  bool carrier() const { return descriptor_ != nullptr; }

  std::string_view kind() const override { return "tun"; }
  net::Features features() const override;
  void open() override {}
  void close() override {}
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override;

  net::Device& device() { return device_; }
  const TapOptions& options() const { return options_; }

 private:
  friend class TapDescriptor;

  net::Device& device_;
  TapOptions options_;
  TapOffloads offloads_;
  TapDescriptor* descriptor_ = nullptr;
};

class TapDescriptor final : public PacketIo {
 public:
  ~TapDescriptor() override;  // drops what nobody has read

  IoCapabilities capabilities() const override;
  // One frame a call. Not `ok`: the interface is down (EIO) or there is no memory: failed; more
  // than the send buffer is on its way: would_block.
  IoResult send(const core::PacketBatch& batch, std::size_t count) override;
  IoResult receive(std::span<ReceiveSlot> slots) override;
  void listen(ReadinessListener* listener) override { readiness_.listen(listener); }
  void watch_writable(bool wanted) override {
    readiness_.watch_writable(wanted, send_buffer_->is_writable());
  }

  std::size_t waiting() const { return queue_.size(); }

 private:
  friend class Tap;
  TapDescriptor(Tap& tap, bool vnet_header);
  bool queue(core::PacketPtr&& packet);
  sched::Cpu& cpu() const;

  Tap& tap_;
  bool vnet_header_;
  core::PacketQueue queue_;
  Readiness readiness_;
  SendBuffer::Pointer send_buffer_;
};

}  // namespace tapestry::host::sim
