// One queue pair of the virtio network driver: a receive queue and a transmit queue, each with a
// poll of its own.
//
// Transmit: free what the device has used, add, stop if the next packet might not fit, notify if
// the device wants to know and no more is promised. A stopped queue asks for an interrupt late,
// after three quarters of what is outstanding, and looks again if that has passed already.
//
//   orphaning        nobody frees the last packets of a burst until the next one comes, so packets
//                    are orphaned before they are added: their socket is told at once
//   NAPI (napi_tx)   packets keep their owner. Whoever sends asks for a late interrupt, the poll
//                    frees what was sent, and so does the poll of the receive queue on its way: the
//                    last packet is freed in bounded time
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
#include <string>

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

struct VirtioNetOptions {
  host::virtqueue::NetFeatures features{};  // what was negotiated
  bool transmit_napi = false;               // napi_tx: the driver's default since 5.3
  // An interrupt for each queue (MSI-X); else one for both queues of a pair, as virtio-mmio has it.
  bool interrupt_per_queue = false;
};

class VirtioQueuePair final : public irq::InterruptHandler, public irq::NapiPoller {
 public:
  static constexpr std::size_t kFragmentsMax = 17;  // MAX_SKB_FRAGS
  // Free descriptors below which no packet may come, and from which on they may again.
  static constexpr std::size_t kRoomForPacket = 2 + kFragmentsMax;
  static constexpr std::uint32_t kEthernetHeader = 14;
  static constexpr std::uint32_t kGoodPacket = 1518;  // GOOD_PACKET_LEN: with one VLAN header
  static constexpr std::uint32_t kPage = 4096;
  static constexpr std::uint32_t kCacheLine = 64;
  static constexpr std::size_t kBigPieces = 2 + kFragmentsMax;  // header, then pages

  // `number`: of the pair, and of its queue at the device. Its interrupts go to CPU `cpu`.
  VirtioQueuePair(DriverEnvironment environment, VirtioNetPort port,
                  const VirtioNetOptions& options, std::size_t number, std::size_t cpu);

  irq::IrqLine& receive_line() { return receive_line_; }
  irq::IrqLine& transmit_line() { return transmit_line_; }  // the same one, if they share it
  irq::Napi& napi() { return napi_; }
  irq::Napi& transmit_napi() { return transmit_side_.napi; }
  const VirtioNetStatistics& statistics() const { return statistics_; }

  void open();
  void close();
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue);
  void interrupt() override;      // of the receive queue, or of both
  int poll(int budget) override;  // the receive queue

 private:
  struct TransmitSide final : irq::InterruptHandler, irq::NapiPoller {
    TransmitSide(VirtioQueuePair& of, irq::NapiCore& core, std::string name)
        : pair(of), napi(core, std::move(name), *this) {}
    void interrupt() override { pair.transmit_done(); }
    int poll(int) override;
    VirtioQueuePair& pair;
    irq::Napi napi;
  };

  net::TxQueue& queue() { return environment_.device.queue(number_); }

  // transmit.cpp
  bool add_frame(core::PacketPtr& packet);
  void clean_before(bool more);
  void stop_if_crowded(net::TxQueue& queue);
  bool free_old();
  void clean_beside_receive();
  void wake_if_roomy();
  void transmit_done();
  void schedule_transmit_poll();

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
  bool transmit_polls_;
  std::size_t number_;
  TransmitSide transmit_side_;
  irq::IrqLine& receive_line_;
  irq::IrqLine& transmit_line_;
  irq::Napi napi_;
  irq::JiffyTimer refill_timer_;  // when there was no memory: delayed work
  core::PacketBatch sent_;        // being freed, by whoever is cleaning
  bool cleaning_ = false;
  core::PacketBatch buffers_;                       // being given to the device
  std::array<std::uint32_t, kBigPieces> pieces_{};  // of one receive buffer
  std::uint32_t average_bytes_ = 0;                 // of received frames: an EWMA of weight 64
  VirtioNetStatistics statistics_;
};

}  // namespace tapestry::transports
