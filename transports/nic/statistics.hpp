// The counters of `ethtool -S` that the driver of an ixgbe keeps itself, with its names; what the
// card counts in registers is not among them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tapestry::transports {

struct NicStatistics {
  std::uint64_t tx_busy = 0;  // the stack gave a packet although the ring was full
  std::uint64_t alloc_rx_buff_failed = 0;
  // A packet that the card cut counts as its segments, and so do its bytes: with all headers.
  std::uint64_t tx_queue_0_packets = 0, tx_queue_0_bytes = 0;
  std::uint64_t rx_queue_0_packets = 0, rx_queue_0_bytes = 0;

  std::array<std::pair<std::string_view, std::uint64_t>, 6> named() const {
    return {{{"tx_busy", tx_busy},
             {"alloc_rx_buff_failed", alloc_rx_buff_failed},
             {"tx_queue_0_packets", tx_queue_0_packets},
             {"tx_queue_0_bytes", tx_queue_0_bytes},
             {"rx_queue_0_packets", rx_queue_0_packets},
             {"rx_queue_0_bytes", rx_queue_0_bytes}}};
  }
};

}  // namespace tapestry::transports
