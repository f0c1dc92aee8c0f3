// pktgen: a kernel thread that makes UDP frames and hands them to a device as fast as that takes
// them (net/core/pktgen.c).
//
// One buffer is made, filled, and sent clone_skb times, each time as `burst` references to it; then
// it is let go and the next one made. A reference costs nothing to make and nothing to free, so
// what is left is the driver, and its doorbell divided by the burst. With clone_skb 0 and burst 1
// every packet is a buffer of its own, and whoever cleans the ring frees it.
//
// Frames go to the discard port of the other machine. They are taken off its device before the
// protocols, and counted.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/workload.hpp"

namespace tapestry::workloads {

enum class PktgenMode : std::uint8_t {
  start_xmit,  // to the driver, past the queueing discipline
  queue_xmit   // through it (dev_queue_xmit)
};

struct PktgenOptions {
  static constexpr std::size_t kHeaderBytes = 42;  // Ethernet, IPv4, UDP
  static constexpr std::size_t kMarkBytes = 16;    // what pktgen writes behind them
  static constexpr std::size_t kSizeMin = kHeaderBytes + kMarkBytes;

  std::uint64_t count = 1000;    // packets, at least 1
  std::size_t frame_bytes = 60;  // pkt_size: without check sequence; from kSizeMin to MTU + 14
  std::uint64_t clone_skb = 0;   // times that a buffer is sent; 0 counts as 1
  std::size_t burst = 1;         // references handed over together, at least 1
  core::Nanos delay{0};          // from the begin of one hand-over to the next
  PktgenMode mode = PktgenMode::start_xmit;
};

class Pktgen final : public Workload {
 public:
  struct End {
    Place place;
    net::Device& device;
  };

  Pktgen(End from, End to, PktgenOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  // skb->users of the buffer that is sent again and again: references still on their way.
  struct References final : core::PacketOwner {
    std::uint64_t count = 0;
    void packet_released(std::uint32_t) override { --count; }
  };

  void run();
  void send_all();
  void renew_buffer();
  core::PacketPtr make_frame();
  void fill_burst(core::PacketQueue& burst);
  bool hand_over(core::PacketQueue& burst);
  void spin_while_idle();
  core::PacketPtr arrive(core::PacketPtr packet);

  End from_;
  End to_;
  PktgenOptions options_;
  core::PacketPtr buffer_;
  References references_;
  std::uint64_t times_sent_ = 0;  // the buffer
  FlowResult flow_;
  PktgenFigures figures_;
  Attendance attendance_;
  core::Instant origin_{};
  core::Instant last_arrival_{};
  core::Instant began_{};
  bool started_ = false;
};

// The result as the kernel shows it in /proc/net/pktgen, two lines.
std::string pktgen_result(const PktgenFigures& figures);

}  // namespace tapestry::workloads
