// The virtio network driver (drivers/net/virtio_net.c), one queue pair, before its transmit side
// had a NAPI of its own.
//
// Transmit: free what the device has used, add, stop if the next packet might not fit, notify if
// the device wants to know and no more is promised. Nobody frees the last packets of a burst until
// the next one comes, so packets are orphaned before they are added: their socket is told at once.
// A stopped queue asks for an interrupt late, after three quarters of what is outstanding, and
// looks again if that has passed already.
//
// Receive: the interrupt turns callbacks off and schedules the poll; the poll takes what is used,
// gives buffers when half of them are gone, and with budget left asks for callbacks again,
// completes, and looks once more. Buffers are of three kinds:
//
//   mergeable   MRG_RXBUF: as long as packets are on average; a long frame takes several
//   big         GUEST_TSO4 without it: 64 KiB in 19 descriptors each
//   small       else: one frame of 1518 bytes
#pragma once

#include <array>
#include <cstdint>

#include "host/doorbell.hpp"
#include "host/virtqueue/net_features.hpp"
#include "host/virtqueue/queue.hpp"
#include "transports/environment.hpp"
#include "transports/virtio/statistics.hpp"

namespace tapestry::transports {

// What the driver talks to: a queue and its notification register for each direction.
struct VirtioNetPort {
  host::virtqueue::DriverSide& receive;
  host::virtqueue::DriverSide& transmit;
  host::Doorbell& receive_notify;
  host::Doorbell& transmit_notify;
};

class VirtioNet final : public net::Driver, public irq::InterruptHandler, public irq::NapiPoller {
 public:
  static constexpr std::size_t kFragmentsMax = 17;  // MAX_SKB_FRAGS
  // Free descriptors below which no packet may come, and from which on they may again.
  static constexpr std::size_t kRoomForPacket = 2 + kFragmentsMax;
  static constexpr std::uint32_t kEthernetHeader = 14;
  static constexpr std::uint32_t kGoodPacket = 1518;  // GOOD_PACKET_LEN: with one VLAN header
  static constexpr std::uint32_t kPage = 4096;
  static constexpr std::uint32_t kCacheLine = 64;
  static constexpr std::size_t kBigPieces = 2 + kFragmentsMax;  // header, then pages

  // `features` are what was negotiated. The queues outlive it.
  VirtioNet(DriverEnvironment environment, VirtioNetPort port,
            host::virtqueue::NetFeatures features);

  // One for both queues, as virtio-mmio has it. Routed to the device by whoever builds the machine.
  irq::IrqLine& line() { return line_; }
  irq::Napi& napi() { return napi_; }
  const VirtioNetStatistics& statistics() const { return statistics_; }

  std::string_view kind() const override { return "virtio_net"; }
  net::Features features() const override;
  void open() override;
  void close() override;
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override;
  void for_each_statistic(
      const std::function<void(std::string_view, std::uint64_t)>& visit) const override;
  void interrupt() override;
  int poll(int budget) override;

 private:
  // transmit.cpp
  bool add_frame(core::PacketPtr& packet);
  void stop_if_crowded(net::TxQueue& queue);
  void free_old();
  void transmit_done();

  // receive.cpp
  void schedule_poll();
  std::size_t receive(std::size_t most);
  void receive_buffer(host::virtqueue::DriverSide::Completed completed);
  bool merge(core::Packet& frame, std::uint16_t buffers);
  void drop_received(core::PacketPtr packet);
  std::size_t choose_pieces();
  bool fill();
  void fill_or_come_back();
  bool must_fill(std::size_t budget) const;

  DriverEnvironment environment_;
  VirtioNetPort port_;
  host::virtqueue::NetFeatures features_;
  irq::IrqLine& line_;
  irq::Napi napi_;
  irq::JiffyTimer refill_timer_;                    // when there was no memory: delayed work
  core::PacketBatch sent_;                          // being freed
  core::PacketBatch buffers_;                       // being given to the device
  std::array<std::uint32_t, kBigPieces> pieces_{};  // of one receive buffer
  std::uint32_t average_bytes_ = 0;                 // of received frames: an EWMA of weight 64
  VirtioNetStatistics statistics_;
};

}  // namespace tapestry::transports
