#include "net/tcp/rtt.hpp"

#include <algorithm>

namespace tapestry::net::tcp {

namespace {

constexpr std::int64_t kLeastWindowUs = 300'000'000;  // tcp_min_rtt_wlen

}  // namespace

void RttEstimator::add(std::int64_t rtt_us, Sequence acknowledged, Sequence next) {
  rtt_us = std::max<std::int64_t>(rtt_us, 1);
  if (srtt_8_ == 0) {
    srtt_8_ = rtt_us * 8;
    deviation_4_ = rtt_us * 2;
    variance_us_ = deviation_max_ = std::max(deviation_4_, least_us_);
    round_end_ = next;
    return;
  }
  std::int64_t error = rtt_us - srtt_8_ / 8;
  srtt_8_ = std::max<std::int64_t>(srtt_8_ + error, 1);
  if (error < 0) {
    // A round trip that became shorter is no reason to wait longer: an eighth of the gain.
    error = -error - deviation_4_ / 4;
    if (error > 0) error /= 8;
  } else {
    error -= deviation_4_ / 4;
  }
  deviation_4_ += error;
  if (deviation_4_ > deviation_max_) {
    deviation_max_ = deviation_4_;
    variance_us_ = std::max(variance_us_, deviation_max_);
  }
  if (acknowledged > round_end_) {
    if (deviation_max_ < variance_us_) variance_us_ -= (variance_us_ - deviation_max_) / 4;
    round_end_ = next;
    deviation_max_ = least_us_;
  }
}

void RttEstimator::note_least(std::int64_t rtt_us, std::int64_t now_us) {
  if (rtt_us > least_rtt_us_ && now_us - least_since_us_ < kLeastWindowUs) return;
  least_rtt_us_ = std::max<std::int64_t>(rtt_us, 1);
  least_since_us_ = now_us;
}

}  // namespace tapestry::net::tcp
