// The round-trip time and what follows from it: how long to wait before sending again
// (tcp_rtt_estimator: RFC 6298, but with variance that falls slowly and never below 200 ms).
#pragma once

#include <array>
#include <cstdint>

#include "net/tcp/sequence.hpp"

namespace tapestry::net::tcp {

class RttEstimator {
 public:
  explicit RttEstimator(std::int64_t least_timeout_us) : least_us_(least_timeout_us) {}

  // A measurement; `acknowledged` and `next` are the sender's window: variance may fall once in
  // each round.
  void add(std::int64_t rtt_us, Sequence acknowledged, Sequence next);
  // The least of the last five minutes, for RACK and TLP.
  void note_least(std::int64_t rtt_us, std::int64_t now_us);

  bool known() const { return srtt_8_ != 0; }
  std::int64_t smoothed_us() const { return srtt_8_ / 8; }
  std::int64_t smoothed_8_us() const { return srtt_8_; }  // in eighths, as the kernel keeps it
  std::int64_t variance_us() const { return variance_us_; }
  std::int64_t least_us() const { return least_rtt_us_; }
  // srtt + 4 mdev; 1 s before the first measurement.
  std::int64_t timeout_us() const { return known() ? srtt_8_ / 8 + variance_us_ : 1'000'000; }

 private:
  static constexpr std::int64_t kUnknown = INT64_MAX;

  std::int64_t least_us_;
  std::int64_t srtt_8_ = 0;
  std::int64_t deviation_4_ = 0;  // mdev, in quarters
  std::int64_t deviation_max_ = 0;
  std::int64_t variance_us_ = 1'000'000;
  Sequence round_end_;
  std::int64_t least_rtt_us_ = kUnknown;
  std::int64_t least_since_us_ = 0;
};

}  // namespace tapestry::net::tcp
