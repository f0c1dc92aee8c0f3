// UML's first network driver on a tap (arch/um/drivers/net_kern.c): one host call per packet, both
// ways.
//
// Transmit writes the frame at once, in the caller's context; a tap that cannot take it loses it.
// Receive reads in the interrupt handler until the tap is empty, each frame into a fresh buffer of
// one MTU, and leaves the rest to the backlog. No ring, no NAPI, no offloads: a frame longer than
// the buffer is cut, and a checksum that the host left to its device arrives unfinished. A tap that
// cannot be read any more takes the device down.
#pragma once

#include "host/packet_io.hpp"
#include "transports/environment.hpp"

namespace tapestry::transports {

class LegacyTap final : public net::Driver,
                        public irq::InterruptHandler,
                        public host::ReadinessListener {
 public:
  static constexpr std::size_t kEthernetHeader = 14;

  LegacyTap(DriverEnvironment environment, host::PacketIo& tap);

  std::string_view kind() const override { return "uml-netdev"; }
  net::Features features() const override { return {}; }
  void open() override;
  void close() override;
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override;
  void transmit_timed_out() override;
  core::Nanos watchdog_time() const override { return core::Nanos{500'000'000}; }  // HZ >> 1

  void interrupt() override;
  void readable() override { line_.raise(); }
  void writable() override {}

  irq::IrqLine& line() { return line_; }

 private:
  // Reads one frame; false when there was none.
  bool receive_one();
  void give_up();

  DriverEnvironment environment_;
  host::PacketIo& tap_;
  irq::IrqLine& line_;
  core::PacketBatch one_;  // the frame being written
  bool open_ = false;
  bool broken_ = false;  // the tap failed: the device is going down
};

}  // namespace tapestry::transports
