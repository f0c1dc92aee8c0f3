// What differs between the TCPs of different kernels, and the sysctls of net.ipv4.tcp_*.
// The defaults are those of Linux 6.1; an era turns off what came later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"

namespace tapestry::net {

enum class CongestionControl : std::uint8_t { reno, cubic };

struct TcpOptions {
  bool timestamps = true;               // tcp_timestamps
  bool window_scaling = true;           // tcp_window_scaling
  bool selective_acks = true;           // tcp_sack
  std::uint32_t initial_window = 10;    // segments; 3 before 2.6.39 (RFC 6928)
  bool rack = true;                     // loss by time, since 4.4 (tcp_recovery)
  bool tail_loss_probe = true;          // since 3.10 (tcp_early_retrans)
  bool autosize = true;                 // size of segmentation packets by rate, since 3.12
  bool autosize_by_rtt = true;          // more for near peers, since 5.18 (tcp_tso_rtt_log 9)
  bool small_queues = true;             // TSQ, since 3.6
  bool autocork = true;                 // since 3.14 (tcp_autocorking)
  bool proportional_reduction = true;   // PRR, since 3.2; before: the window falls at once
  bool moderate_receive_buffer = true;  // tcp_moderate_rcvbuf
  bool restart_after_idle = true;       // tcp_slow_start_after_idle
  CongestionControl congestion_control = CongestionControl::cubic;  // the default since 2.6.19

  // Bytes of packet memory: least, at first, most (tcp_rmem, tcp_wmem).
  std::array<std::uint32_t, 3> receive_memory{4096, 131'072, 6'291'456};
  std::array<std::uint32_t, 3> send_memory{4096, 16'384, 4'194'304};
  std::uint32_t limit_output_bytes = 1'048'576;  // TSQ: 128 KiB in 3.6, 256 KiB in 4.3, 1 MiB
  std::uint32_t reordering = 3;                  // tcp_reordering, segments
  int syn_retries = 6;                           // tcp_syn_retries
  int syn_ack_retries = 5;                       // tcp_synack_retries
  int retries = 15;                              // tcp_retries2
  int orphan_retries = 8;                        // tcp_orphan_retries, as 0 is understood
  core::Nanos least_timeout{200'000'000};        // TCP_RTO_MIN
  core::Nanos fin_timeout{60'000'000'000};       // tcp_fin_timeout, and of TIME_WAIT
  core::Nanos delayed_ack{40'000'000};           // TCP_DELACK_MIN = TCP_ATO_MIN; 0: none is delayed
  std::size_t connections_max = 65'536;          // beyond: nobody connects (tcp_max_orphans etc.)
  std::size_t time_waits_max = 16'384;           // tcp_max_tw_buckets; beyond: they end at once
};

}  // namespace tapestry::net
