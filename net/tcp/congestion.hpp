// Congestion control: how large the window may be. The connection says what happened, an algorithm
// changes the window (struct tcp_congestion_ops). All in segments and whole numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "net/tcp/options.hpp"
#include "net/tcp/sequence.hpp"

namespace tapestry::net::tcp {

inline constexpr std::uint32_t kNoThreshold = 0x7fff'ffff;  // TCP_INFINITE_SSTHRESH

struct Window {
  std::uint32_t size = 10;                  // snd_cwnd
  std::uint32_t threshold = kNoThreshold;   // snd_ssthresh
  std::uint32_t counted = 0;                // snd_cwnd_cnt: acknowledged towards the next segment
  std::uint32_t size_max = UINT32_MAX / 2;  // snd_cwnd_clamp

  bool in_slow_start() const { return size < threshold; }
  // Grows by a segment for each one acknowledged, up to the threshold; what is left of `acked`.
  std::uint32_t slow_start(std::uint32_t acked);
  // Grows by one for every `each` acknowledged (tcp_cong_avoid_ai).
  void grow_by_one_for(std::uint32_t each, std::uint32_t acked);
};

// What an algorithm may know of its connection at an acknowledgement.
struct AckView {
  std::uint32_t acked = 0;  // segments, new
  std::int64_t now_us = 0;
  std::int64_t rtt_us = -1;     // of this acknowledgement; below 0: none
  Sequence acknowledged{};      // snd_una
  Sequence next{};              // snd_nxt
  bool window_limited = false;  // more would have been sent (tcp_is_cwnd_limited)
};

class CongestionAlgorithm {
 public:
  virtual ~CongestionAlgorithm() = default;
  virtual std::string_view name() const = 0;
  // The window after a loss; also begins a new epoch.
  virtual std::uint32_t threshold_after_loss(const Window& window) = 0;
  virtual void acknowledged(Window& window, const AckView& view) = 0;
  virtual void measured(Window&, const AckView&) {}                             // pkts_acked
  virtual void timed_out() {}                                                   // into state Loss
  virtual void restarted(std::int64_t /*now_us*/, std::int64_t /*idle_us*/) {}  // TX_START
};

// `hz`: of the machine's ticks, which cubic's time counts in.
std::unique_ptr<CongestionAlgorithm> make_algorithm(CongestionControl which, int hz);

// The largest number whose cube is at most `value`.
std::uint32_t cube_root(std::uint64_t value);

}  // namespace tapestry::net::tcp
