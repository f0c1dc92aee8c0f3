// The counters of `ethtool -S`: virtio_net's names and order for one queue pair. Programs that look
// at packets before the stack does (XDP) do not exist here, so theirs stay at 0.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tapestry::transports {

struct VirtioNetStatistics {
  std::uint64_t rx_packets = 0, rx_bytes = 0, rx_drops = 0, rx_kicks = 0;
  std::uint64_t tx_packets = 0, tx_bytes = 0, tx_kicks = 0;

  std::array<std::pair<std::string_view, std::uint64_t>, 13> named() const {
    return {{{"rx_queue_0_packets", rx_packets},
             {"rx_queue_0_bytes", rx_bytes},
             {"rx_queue_0_drops", rx_drops},
             {"rx_queue_0_xdp_packets", 0},
             {"rx_queue_0_xdp_tx", 0},
             {"rx_queue_0_xdp_redirects", 0},
             {"rx_queue_0_xdp_drops", 0},
             {"rx_queue_0_kicks", rx_kicks},
             {"tx_queue_0_packets", tx_packets},
             {"tx_queue_0_bytes", tx_bytes},
             {"tx_queue_0_xdp_tx", 0},
             {"tx_queue_0_xdp_tx_drops", 0},
             {"tx_queue_0_kicks", tx_kicks}}};
  }
};

}  // namespace tapestry::transports
