// ping: echo requests at an interval, their round-trip times.
#pragma once

#include <cstdint>

#include "net/ping.hpp"
#include "workloads/workload.hpp"

namespace tapestry::workloads {

struct PingOptions {
  std::size_t payload_bytes = 56;  // 0 .. 65,507
  int count = 20;
  core::Nanos interval{10'000'000};
};

class Ping final : public Workload {
 public:
  // How long the last replies are waited for (ping -W).
  static constexpr core::Nanos kLinger{1'000'000'000};

  Ping(Place from, net::Ipv4Address target, PingOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  void run();

  Place from_;
  net::Ipv4Address target_;
  PingOptions options_;
  FlowResult flow_;
  Latency latency_{Latency::Kind::round_trip};
  Attendance attendance_;
  core::Instant origin_{};
  core::Instant began_{};
  core::Instant last_{};  // the last reply
  bool started_ = false;
};

}  // namespace tapestry::workloads
