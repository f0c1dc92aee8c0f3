// Replay of a capture: each frame again, at its time, from the side that sent it.
//
// A frame's side is found by its source: the IPv4 address (also in ARP), or the MAC address, where
// every MAC that sent from a known IPv4 address counts as known. Frames go out as from a packet
// socket, through the device's queue. At the other side's device they are taken off before the
// protocols, so that nobody answers them a second time, and compared byte by byte with what was
// sent.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "core/units.hpp"
#include "core/wide.hpp"
#include "net/address.hpp"
#include "workloads/pcap_file.hpp"
#include "workloads/workload.hpp"

namespace tapestry::workloads {

struct ReplaySide {
  std::variant<net::Ipv4Address, net::MacAddress> source;
  kernel::Machine& machine;
  net::Device& device;
};

struct ReplayOptions {
  enum class Timing : std::uint8_t {
    original,  // the gaps of the capture
    scaled,    // times `scale_millionths` / 1,000,000
    fixed      // frame after frame at `rate`
  };
  Timing timing = Timing::original;
  std::uint64_t scale_millionths = 1'000'000;  // at least 1
  core::BitRate rate{1'000'000'000};           // of frame bits
  int loop = 1;
};

class Replay final : public Workload {
 public:
  // Two sides. Frames of neither are left out and counted.
  Replay(std::vector<ReplaySide> sides, CaptureFile file, ReplayOptions options);
  ~Replay() override;

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

  std::uint64_t frames_left_out() const { return left_out_; }
  std::uint64_t frames_altered() const { return altered_; }  // arrived and equal none that was sent

 private:
  struct Frame {
    const CapturedFrame* captured = nullptr;
    core::Nanos due{0};
    core::Instant sent{};
  };
  struct Direction {
    FlowResult flow;
    std::deque<Frame> frames;
    std::size_t next_arrival = 0;  // index of the frame that is expected next
  };

  static core::Nanos saturated(core::Wide ns);
  void assign();
  std::optional<std::size_t> side_of(const CapturedFrame& frame) const;
  std::optional<std::size_t> side_of_source(const CapturedFrame& frame) const;
  void learn_macs();
  core::Nanos due_of(const CapturedFrame& frame, std::uint64_t bytes_before) const;
  void send(std::size_t side);
  void send_frame(const ReplaySide& side, Frame& frame, Direction& direction);
  core::PacketPtr arrive(std::size_t side, core::PacketPtr packet);

  std::vector<ReplaySide> sides_;
  CaptureFile file_;
  ReplayOptions options_;
  std::vector<std::pair<net::MacAddress, std::size_t>> macs_;
  std::array<Direction, 2> directions_;  // by sending side
  std::uint64_t left_out_ = 0;
  std::uint64_t altered_ = 0;
  Latency latency_{Latency::Kind::one_way};
  Attendance attendance_;
  core::Instant origin_{};
  core::Instant last_{};
  bool started_ = false;
};

}  // namespace tapestry::workloads
