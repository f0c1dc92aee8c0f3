// UML's vector driver (arch/um/drivers/vector_kern.c): many packets per host call where the
// transport can.
//
//   transport   receive        transmit        offloads
//   tap         one, readv     one, writev     checksum, segmentation
//   hybrid      recvmmsg       one, writev     checksum, segmentation
//   raw         recvmmsg       sendmmsg        checksum, segmentation
//
// Which of these it is, the port's capabilities say. Without vectors a packet is written at once
// and lost if the host cannot take it. With them it joins a ring; the ring is sent when no more
// packets are promised or it is full, and what the host did not take waits until it can: for the
// descriptor to become writable, or, where that says nothing (ENOBUFS), for the next tick, a
// bounded number of times.
//
// The driver of 6.1 has habits that this one has, too, if asked
// (VectorOptions::Behaviour::uml_6_1):
//   - While packets wait for the host, or the last call brought any, the poll schedules itself
//   again, and it
//     completes in any case, even with its whole budget used. So it spins until the host takes
//     them; a short sendmmsg and ENOBUFS are to it what EAGAIN is.
//   - Its coalescing timer is armed with a span where an instant belongs, and so fires at the next
//   tick whatever
//     is set; and once after opening.
//   - It believes in a promise of more even if the queue was stopped meanwhile, until that timer
//   fires.
//   - When a call fails it calls all packets sent.
// In one way it is never followed: once its descriptor has failed it asks the stack to keep each
// packet and come again, for ever; this one drops them. By contract it goes down.
#pragma once

#include <memory>

#include "host/packet_io.hpp"
#include "transports/environment.hpp"
#include "transports/vector/options.hpp"
#include "transports/vector/receive_slots.hpp"
#include "transports/vector/statistics.hpp"
#include "transports/vector/transmit_ring.hpp"

namespace tapestry::transports {

class Vector final : public net::Driver, public irq::NapiPoller, public host::ReadinessListener {
 public:
  static constexpr std::size_t kEthernetHeader = 14;
  static constexpr std::size_t kHeadroom = 2;
  static constexpr std::size_t kSafetyMargin = 32;
  static constexpr std::size_t kMergedBuffer = 65536;  // receive buffer with gro
  static constexpr std::size_t kSmallPacket = 128;     // TX_SMALL_PACKET
  static constexpr int kReceiveRounds = 64;            // MAX_ITERATIONS
  static constexpr int kRetriesMax = 10;  // of a full device queue (ENOBUFS), one tick apart

  Vector(DriverEnvironment environment, host::PacketIo& port, VectorOptions options);

  std::string_view kind() const override { return "uml-vector"; }
  net::Features features() const override;
  void open() override;
  void close() override;
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override;
  void transmit_timed_out() override;
  core::Nanos watchdog_time() const override { return core::Nanos{500'000'000}; }  // HZ >> 1
  void for_each_napi(const std::function<void(const irq::Napi&)>& visit) const override {
    visit(napi_);
  }
  void for_each_statistic(
      const std::function<void(std::string_view, std::uint64_t)>& visit) const override;

  int poll(int budget) override;
  void readable() override { receive_line_.raise(); }
  void writable() override { transmit_line_.raise(); }

  // ethtool -g: messages, 0 without a vector.
  std::size_t receive_ring() const { return vector_receive() ? options_.depth : 0; }
  std::size_t transmit_ring() const { return vector_transmit() ? options_.depth : 0; }
  // ethtool -c, -C: tx-usecs, in whole ticks and at least one.
  std::uint64_t transmit_usecs() const;
  void set_transmit_usecs(std::uint64_t usecs);

  const VectorOptions& options() const { return options_; }
  const VectorStatistics& statistics() const { return statistics_; }
  bool vector_receive() const { return slots_ != nullptr; }
  bool vector_transmit() const { return ring_ != nullptr; }
  irq::Napi& napi() { return napi_; }
  irq::IrqLine& receive_line() { return receive_line_; }
  irq::IrqLine& transmit_line() { return transmit_line_; }

 private:
  struct ReceiveInterrupt final : irq::InterruptHandler {
    explicit ReceiveInterrupt(Vector& driver) : vector(driver) {}
    void interrupt() override { vector.receive_interrupt(); }
    Vector& vector;
  };
  struct TransmitInterrupt final : irq::InterruptHandler {
    explicit TransmitInterrupt(Vector& driver) : vector(driver) {}
    void interrupt() override { vector.transmit_interrupt(); }
    Vector& vector;
  };

  bool keeps_contract() const { return options_.behaviour == VectorOptions::Behaviour::contract; }
  void fail();

  // transmit.cpp
  net::Transmit transmit_one(core::PacketPtr packet);
  void send_soon(net::TxQueue& queue, std::size_t length, bool more);
  void hold_back_for_more();
  std::size_t send_ring();
  bool send_reach();
  bool waits() const;
  bool wait_for_host(host::IoStatus status);
  bool retry_later();
  void release_sent(std::size_t count);
  void call_sent(std::size_t count);
  void drop_unsent(std::size_t count, core::DropReason reason);
  void resume_sending();
  void transmit_interrupt();
  void more_is_overdue();

  // receive.cpp
  void receive_interrupt();
  void receive_all();
  std::size_t receive(std::size_t most);
  std::size_t receive_one();
  void hand_up(host::ReceiveSlot& slot);
  std::size_t buffer_bytes() const;

  DriverEnvironment environment_;
  host::PacketIo& port_;
  VectorOptions options_;
  ReceiveInterrupt receive_interrupt_{*this};
  TransmitInterrupt transmit_interrupt_{*this};
  irq::IrqLine& receive_line_;
  irq::IrqLine& transmit_line_;
  irq::Napi napi_;
  irq::Tasklet send_tasklet_;   // before NAPI
  irq::JiffyTimer more_timer_;  // coalescing
  irq::JiffyTimer retry_timer_;
  std::unique_ptr<TransmitRing> ring_;   // none without vector transmit
  std::unique_ptr<ReceiveSlots> slots_;  // none without vector receive
  core::PacketBatch leaving_;            // out of the ring, being freed; the packet being written
  VectorStatistics statistics_;
  bool open_ = false;
  bool in_error_ = false;         // the descriptor failed: nothing is sent until it is opened again
  bool sending_ = false;          // somebody works on the ring
  bool waits_for_write_ = false;  // the host took less than it was offered
  int retries_ = 0;               // of the message at the head
};

}  // namespace tapestry::transports
