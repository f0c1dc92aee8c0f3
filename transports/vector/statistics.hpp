// The counters of `ethtool -S vec0`: the real driver's names, order and habits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tapestry::transports {

struct VectorStatistics {
  std::uint64_t rx_queue_max = 0;
  std::uint64_t rx_queue_running_average = 0;
  std::uint64_t tx_queue_max = 0;
  std::uint64_t tx_queue_running_average = 0;
  std::uint64_t rx_encaps_errors = 0;
  std::uint64_t tx_timeout_count = 0;
  std::uint64_t tx_restart_queue = 0;  // sendmmsg took fewer than offered
  std::uint64_t tx_kicks =
      0;  // by the timer; before NAPI, by the tasklet, a full ring, a small packet
  std::uint64_t tx_flow_control_xon = 0;
  std::uint64_t tx_flow_control_xoff = 0;
  std::uint64_t rx_csum_offload_good = 0;
  std::uint64_t rx_csum_offload_errors = 0;
  std::uint64_t sg_ok = 0;  // packets sent in more than one piece
  std::uint64_t sg_linearized = 0;

  // What opening the device resets: all but the checksums, which the real driver forgets.
  void reset() {
    *this = {.rx_csum_offload_good = rx_csum_offload_good,
             .rx_csum_offload_errors = rx_csum_offload_errors};
  }
  void count_received(std::uint64_t messages) {
    rx_queue_max = std::max(rx_queue_max, messages);
    rx_queue_running_average = (rx_queue_running_average + messages) >> 1;
  }
  void count_sent(std::uint64_t messages) {
    tx_queue_max = std::max(tx_queue_max, messages);
    tx_queue_running_average = (tx_queue_running_average + messages) >> 1;
  }

  std::array<std::pair<std::string_view, std::uint64_t>, 14> named() const {
    return {{{"rx_queue_max", rx_queue_max},
             {"rx_queue_running_average", rx_queue_running_average},
             {"tx_queue_max", tx_queue_max},
             {"tx_queue_running_average", tx_queue_running_average},
             {"rx_encaps_errors", rx_encaps_errors},
             {"tx_timeout_count", tx_timeout_count},
             {"tx_restart_queue", tx_restart_queue},
             {"tx_kicks", tx_kicks},
             {"tx_flow_control_xon", tx_flow_control_xon},
             {"tx_flow_control_xoff", tx_flow_control_xoff},
             {"rx_csum_offload_good", rx_csum_offload_good},
             {"rx_csum_offload_errors", rx_csum_offload_errors},
             {"sg_ok", sg_ok},
             {"sg_linearized", sg_linearized}}};
  }
};

}  // namespace tapestry::transports
