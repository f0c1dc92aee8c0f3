// The counters of `ethtool -S`: virtio_net's names and order, of each queue. Programs that look at
// packets before the stack does (XDP) do not exist here, so theirs stay at 0.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tapestry::transports {

struct VirtioNetStatistics {
  std::uint64_t rx_packets = 0, rx_bytes = 0, rx_drops = 0, rx_kicks = 0;
  std::uint64_t tx_packets = 0, tx_bytes = 0, tx_kicks = 0;

  // Behind "rx_queue_N_" and "tx_queue_N_".
  std::array<std::pair<std::string_view, std::uint64_t>, 8> received() const {
    return {{{"packets", rx_packets},
             {"bytes", rx_bytes},
             {"drops", rx_drops},
             {"xdp_packets", 0},
             {"xdp_tx", 0},
             {"xdp_redirects", 0},
             {"xdp_drops", 0},
             {"kicks", rx_kicks}}};
  }
  std::array<std::pair<std::string_view, std::uint64_t>, 5> sent() const {
    return {{{"packets", tx_packets},
             {"bytes", tx_bytes},
             {"xdp_tx", 0},
             {"xdp_tx_drops", 0},
             {"kicks", tx_kicks}}};
  }
};

}  // namespace tapestry::transports
