// struct tcp_info: what a connection says of itself.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapestry::net::tcp {

enum class State : std::uint8_t {
  closed,
  listen,
  syn_sent,
  syn_received,
  established,
  fin_wait_1,
  fin_wait_2,
  close_wait,
  closing,
  last_ack,
  time_wait
};
std::string_view state_name(State state);  // as ss prints it: "ESTAB", "TIME-WAIT"

struct Info {
  State state = State::closed;
  std::uint32_t snd_mss = 0, rcv_mss = 0, advmss = 0;            // bytes
  std::uint32_t snd_cwnd = 0, snd_ssthresh = 0;                  // segments
  std::uint32_t unacked = 0, sacked = 0, lost = 0, retrans = 0;  // segments, now
  std::int64_t rtt_us = 0, rttvar_us = 0, min_rtt_us = 0, rto_us = 0, ato_us = 0;
  std::uint8_t snd_wscale = 0, rcv_wscale = 0;
  bool sack = false, timestamps = false;
  std::uint32_t rcv_space = 0, rcv_ssthresh = 0, snd_wnd = 0, rcv_wnd = 0;  // bytes
  std::uint32_t receive_buffer = 0, send_buffer = 0;  // bytes of packet memory
  std::int64_t pacing_rate = 0;                       // bytes per second
  std::uint32_t backoff = 0;
  std::uint64_t total_retrans = 0;  // segments sent again, ever
  std::uint64_t timeouts = 0, fast_recoveries = 0, loss_probes = 0;
  std::uint64_t bytes_acked = 0, bytes_received = 0;
  std::uint64_t segs_out = 0, segs_in = 0, data_segs_out = 0, data_segs_in = 0;
  std::uint64_t packets_out = 0;  // handed to IP, whatever their size
  std::uint64_t acks_out = 0;     // of these without data
};

}  // namespace tapestry::net::tcp
