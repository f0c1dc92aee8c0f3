#include "net/tcp/cubic.hpp"

#include <algorithm>

namespace tapestry::net::tcp {

namespace {

constexpr std::uint64_t kBeta = 717;  // of 1024
constexpr std::uint64_t kBetaUnit = 1024;
constexpr int kTimeBits = 10;              // BICTCP_HZ: time in 1/1024 s
constexpr std::uint64_t kScale = 41 * 10;  // C, of 1024, in time units
constexpr std::uint64_t kCubeFactor = (std::uint64_t{1} << (10 + 3 * kTimeBits)) / kScale;
// 8 * (1 + beta) / 3 / (1 - beta): acknowledged segments for one more of Reno's, in eighths.
constexpr std::uint64_t kFriendly = 8 * (kBetaUnit + kBeta) / 3 / (kBetaUnit - kBeta);

constexpr std::uint32_t kLowWindow = 16;      // hystart_low_window
constexpr std::int64_t kAckDeltaUs = 2000;    // hystart_ack_delta_us
constexpr std::uint32_t kSamples = 8;         // HYSTART_MIN_SAMPLES
constexpr std::int64_t kDelayLeastUs = 4000;  // HYSTART_DELAY_MIN
constexpr std::int64_t kDelayMostUs = 16'000;

}  // namespace

std::uint32_t Cubic::threshold_after_loss(const Window& window) {
  epoch_ = 0;
  // Fast convergence: a flow whose window shrinks leaves room for others.
  last_max_ = window.size < last_max_
                  ? static_cast<std::uint32_t>(window.size * (kBetaUnit + kBeta) / (2 * kBetaUnit))
                  : window.size;
  return std::max(static_cast<std::uint32_t>(window.size * kBeta / kBetaUnit), std::uint32_t{2});
}

void Cubic::timed_out() {
  const std::int64_t hz_kept = hz_;
  const std::uint32_t last_max = last_max_;
  *this = Cubic(static_cast<int>(hz_kept));
  last_max_ = last_max;
}

// Time in which nothing was sent does not count.
void Cubic::restarted(std::int64_t now_us, std::int64_t idle_us) {
  if (epoch_ == 0 || idle_us <= 0) return;
  epoch_ = std::min(epoch_ + jiffies(idle_us), jiffies(now_us));
}

void Cubic::acknowledged(Window& window, const AckView& view) {
  if (!view.window_limited) return;
  AckView rest = view;
  if (window.in_slow_start()) {
    rest.acked = window.slow_start(view.acked);
    if (rest.acked == 0) return;
  }
  update(window, rest);
  window.grow_by_one_for(each_, rest.acked);
}

// --- the curve -----------------------------------------------------------------------------------

void Cubic::begin_epoch(const Window& window, std::uint32_t acked, std::int64_t now) {
  epoch_ = std::max<std::int64_t>(now, 1);
  acks_ = acked;
  reno_size_ = window.size;
  if (last_max_ <= window.size) {
    reach_ = 0;
    origin_ = window.size;
  } else {
    reach_ = cube_root(kCubeFactor * (last_max_ - window.size));
    origin_ = last_max_;
  }
}

std::uint32_t Cubic::target(std::int64_t now) const {
  const std::int64_t delay = (least_us_ * hz_ + 999'999) / 1'000'000;
  const auto time = static_cast<std::uint64_t>(((now - epoch_ + delay) << kTimeBits) / hz_);
  const std::uint64_t away = time < reach_ ? reach_ - time : time - reach_;
  const std::uint64_t delta = (kScale * away * away * away) >> (10 + 3 * kTimeBits);
  const std::uint64_t least = std::min<std::uint64_t>(delta, origin_);
  return static_cast<std::uint32_t>(
      time < reach_ ? origin_ - least : std::min<std::uint64_t>(origin_ + delta, UINT32_MAX / 2));
}

void Cubic::update(const Window& window, const AckView& view) {
  const std::int64_t now = jiffies(view.now_us);
  acks_ += view.acked;
  if (last_size_ == window.size && now - last_time_ <= hz_ / 32) return;
  const bool again = epoch_ != 0 && now == last_time_;  // the curve moves once in a tick
  if (!again) {
    last_size_ = window.size;
    last_time_ = now;
    if (epoch_ == 0) begin_epoch(window, view.acked, now);
    const std::uint32_t aim = target(now);
    each_ = aim > window.size ? window.size / (aim - window.size) : 100 * window.size;
    // At first no maximum is known: at least 5% a round.
    if (last_max_ == 0 && each_ > 20) each_ = 20;
  }
  be_friendly(window.size);
  each_ = std::max<std::uint32_t>(each_, 2);
}

void Cubic::be_friendly(std::uint32_t size) {
  const auto delta =
      std::max<std::uint32_t>(static_cast<std::uint32_t>((size * kFriendly) >> 3), 1);
  if (acks_ > delta) {
    const std::uint32_t steps = (acks_ - 1) / delta;
    acks_ -= steps * delta;
    reno_size_ += steps;
  }
  if (reno_size_ > size) each_ = std::min(each_, size / (reno_size_ - size));
}

// --- HyStart -------------------------------------------------------------------------------------

void Cubic::begin_round(const AckView& view) {
  round_begun_ = true;
  round_start_us_ = last_ack_us_ = view.now_us;
  round_end_ = view.next;
  round_least_us_ = INT64_MAX;
  samples_ = 0;
}

void Cubic::measured(Window& window, const AckView& view) {
  if (view.rtt_us < 0) return;
  // What comes soon after the start of an epoch has queues of the recovery in it.
  if (epoch_ != 0 && jiffies(view.now_us) - epoch_ < hz_) return;
  const std::int64_t delay = std::max<std::int64_t>(view.rtt_us, 1);
  if (least_us_ == 0 || least_us_ > delay) least_us_ = delay;
  if (!found_ && window.in_slow_start() && window.size >= kLowWindow) {
    AckView own = view;
    own.rtt_us = delay;
    look_for_way_out(window, own);
  }
}

// Acknowledgements that come close together for half a round trip, or a round trip that grows: the
// pipe is full.
void Cubic::look_for_way_out(Window& window, const AckView& view) {
  if (!round_begun_ || view.acknowledged > round_end_) begin_round(view);
  if (view.now_us - last_ack_us_ <= kAckDeltaUs) {
    last_ack_us_ = view.now_us;
    if (view.now_us - round_start_us_ > least_us_ / 2) found_ = true;
  }
  round_least_us_ = std::min(round_least_us_, view.rtt_us);
  if (samples_ < kSamples) {
    ++samples_;
  } else {
    const std::int64_t margin = std::clamp(least_us_ / 8, kDelayLeastUs, kDelayMostUs);
    if (round_least_us_ > least_us_ + margin) found_ = true;
  }
  if (found_) window.threshold = window.size;
}

}  // namespace tapestry::net::tcp
