// A plain network card's driver, after e1000: one ring pair, two doorbells, one interrupt line,
// NAPI.
//
// Transmit: fill a descriptor, ring unless more is promised. Interrupt: mask the line, schedule the
// poll. Poll: clean what was sent (not counted, but more of it than one poll may clean means to be
// polled again), receive up to the budget, give buffers back on the way; with less than a budget
// done, complete, unmask, and look at the receive ring once more, so that what came between the
// last look and the unmasking need not wait for the interrupt that moderation grants it.
//
// Without NAPI, as e1000 was before 2.6.10: the interrupt handler itself cleans and receives, frame
// by frame onto the backlog of its CPU (netif_rx). The line is never masked.
#pragma once

#include "host/descriptor_ring.hpp"
#include "transports/environment.hpp"
#include "transports/nic/moderation.hpp"
#include "transports/nic/statistics.hpp"

namespace tapestry::transports {

struct NicOptions {
  bool transmit_checksum = false;    // ethtool -K tx
  bool receive_checksum = false;     // ethtool -K rx
  bool segmentation = false;         // ethtool -K tso; takes transmit_checksum
  bool gro = true;                   // ethtool -K gro; takes napi
  bool napi = true;                  // CONFIG_E1000_NAPI
  bool adaptive_moderation = false;  // ethtool -C adaptive-rx
};

class Nic final : public net::Driver, public irq::InterruptHandler, public irq::NapiPoller {
 public:
  // Buffers per doorbell (E1000_RX_BUFFER_WRITE); in a ring shorter than twice that, half of the
  // ring.
  static constexpr std::size_t kReceiveWrite = 16;
  // Sent packets that one poll cleans at most (IXGBE_DEFAULT_TX_WORK).
  static constexpr std::size_t kTransmitWork = 256;
  // Without NAPI: how often an interrupt handler looks at both rings, if it finds something
  // (E1000_MAX_INTR).
  static constexpr int kLooksMax = 10;

  Nic(DriverEnvironment environment, host::NicPort port, NicOptions options);

  // Routed to the card by whoever builds the machine.
  irq::IrqLine& line() { return line_; }
  irq::Napi& napi() { return napi_; }

  std::string_view kind() const override { return "nic"; }
  net::Features features() const override;
  void open() override;
  void close() override;
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override;
  void for_each_statistic(
      const std::function<void(std::string_view, std::uint64_t)>& visit) const override;
  void interrupt() override;
  int poll(int budget) override;
  void for_each_napi(const std::function<void(const irq::Napi&)>& visit) const override {
    if (options_.napi) visit(napi_);
  }
  bool frames_wait() const override { return port_.receive_ring.oldest_is_done(); }

  const NicStatistics& statistics() const { return statistics_; }
  const Moderation& moderation() const { return moderation_; }

 private:
  // What a packet is on the wire (ixgbe's gso_segs and bytecount).
  struct OnWire {
    std::uint64_t frames;
    std::uint64_t bytes;
  };
  OnWire on_wire(const core::Packet& packet) const;
  void throttle();
  void interrupt_without_napi();
  void begin_receiving();
  std::size_t clean_transmitted();  // how many: kTransmitWork at most
  int receive(int budget);
  void give_buffers(std::size_t count);
  void look_again();
  void empty(host::DescriptorRing& ring);

  DriverEnvironment environment_;
  host::NicPort port_;
  NicOptions options_;
  irq::IrqLine& line_;
  irq::Napi napi_;
  irq::JiffyTimer memory_timer_;  // when the card could not be given any buffer
  Moderation moderation_;
  NicStatistics statistics_;
  std::size_t receive_write_;
  std::size_t missing_ = 0;     // receive descriptors without a buffer
  core::PacketBatch sent_;      // being freed
  core::PacketBatch received_;  // being handed up
  core::PacketBatch buffers_;   // being given to the card
};

}  // namespace tapestry::transports
