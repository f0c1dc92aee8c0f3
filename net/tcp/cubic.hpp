// CUBIC (RFC 9438) in the kernel's whole numbers (net/ipv4/tcp_cubic.c): time in 1/1024 s, beta
// 717/1024, C 0.4 as 410/1024, friendly to Reno, with HyStart's two ways out of slow start.
#pragma once

#include "net/tcp/congestion.hpp"

namespace tapestry::net::tcp {

class Cubic final : public CongestionAlgorithm {
 public:
  explicit Cubic(int hz) : hz_(hz) {}
  std::string_view name() const override { return "cubic"; }
  std::uint32_t threshold_after_loss(const Window& window) override;
  void acknowledged(Window& window, const AckView& view) override;
  void measured(Window& window, const AckView& view) override;
  void timed_out() override;
  void restarted(std::int64_t now_us, std::int64_t idle_us) override;

 private:
  void update(const Window& window, const AckView& view);
  void begin_epoch(const Window& window, std::uint32_t acked, std::int64_t now);
  std::uint32_t target(std::int64_t now) const;
  void be_friendly(std::uint32_t size);
  void begin_round(const AckView& view);
  void look_for_way_out(Window& window, const AckView& view);
  std::int64_t jiffies(std::int64_t us) const { return us * hz_ / 1'000'000; }

  int hz_;
  std::uint32_t each_ = 0;      // cnt: acknowledged segments for one more
  std::uint32_t last_max_ = 0;  // where the last loss was
  std::uint32_t last_size_ = 0;
  std::int64_t last_time_ = 0;  // jiffies
  std::int64_t epoch_ = 0;      // jiffies; 0: none has begun
  std::uint32_t origin_ = 0;
  std::uint32_t reach_ = 0;  // K: 1/1024 s from the epoch's start to the origin
  std::uint32_t acks_ = 0;
  std::uint32_t reno_size_ = 0;  // what Reno's window would be
  std::int64_t least_us_ = 0;    // delay_min; 0: not known

  // HyStart
  bool found_ = false;
  bool round_begun_ = false;
  std::uint32_t samples_ = 0;
  std::int64_t round_start_us_ = 0;
  std::int64_t last_ack_us_ = 0;
  std::int64_t round_least_us_ = 0;
  Sequence round_end_;
};

}  // namespace tapestry::net::tcp
