// Adaptive interrupt moderation, after ixgbe since Linux 4.15 (ixgbe_update_itr): from what a poll
// found since the last interrupt, how long the card shall keep quiet after the next one.
//
// Few packets and bytes (below 4 and below 9,000) mean that latency counts: the time follows the
// size of the packets, halved. 4 to 47 packets: 2 us more. 48 to 95: just right. 96 to 255: half.
// More: by size. Sizes stand for rates from 50,000 (60 bytes) down to about 8,000 interrupts a
// second (full frames), so that what comes between two of them fits a socket's send buffer. Times
// lie between 10 and 126 us where packets are counted, and in steps of 2 us.
#pragma once

#include <cstdint>

namespace tapestry::transports {

class Moderation {
 public:
  static constexpr std::uint32_t kStepUsecs = 2;     // IXGBE_ITR_ADAPTIVE_MIN_INC
  static constexpr std::uint32_t kUsecsMin = 10;     // IXGBE_ITR_ADAPTIVE_MIN_USECS
  static constexpr std::uint32_t kUsecsMax = 126;    // IXGBE_ITR_ADAPTIVE_MAX_USECS
  static constexpr std::uint32_t kUsecsAtOpen = 50;  // IXGBE_20K_ITR

  void reset() { *this = Moderation(); }
  void received(std::uint64_t packets, std::uint64_t bytes) { receive_.count(packets, bytes); }
  void sent(std::uint64_t packets, std::uint64_t bytes) { transmit_.count(packets, bytes); }

  // At the end of a poll: true if the card must be told a new time. `now_jiffies`: the tick.
  bool update(std::uint64_t now_jiffies);
  std::uint32_t usecs() const { return usecs_; }

 private:
  struct Direction {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t next_update = 0;  // the tick after the last update
    std::uint32_t usecs = kUsecsMax;
    bool latency = true;  // what decides is latency, not bulk

    void count(std::uint64_t more_packets, std::uint64_t more_bytes) {
      packets += more_packets;
      bytes += more_bytes;
    }
    void update(std::uint64_t now_jiffies, std::uint32_t present_usecs);
    void decide(std::uint32_t present_usecs);
    void by_size(bool for_latency);
    // The kernel compares the two directions with the latency flag as the highest bit.
    std::uint32_t rank() const { return usecs | (latency ? 0x80u : 0); }
  };

  Direction receive_;
  Direction transmit_;
  std::uint32_t usecs_ = kUsecsAtOpen;
};

}  // namespace tapestry::transports
