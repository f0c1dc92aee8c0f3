// UDP request and response, one outstanding per session (netperf UDP_RR).
#pragma once

#include <cstdint>
#include <deque>

#include "net/udp.hpp"
#include "workloads/workload.hpp"

namespace tapestry::workloads {

struct UdpRequestResponseOptions {
  std::size_t request_bytes = 1;  // 0 .. 65,507
  std::size_t response_bytes = 1;
  int sessions = 1;
  Window window;
  std::uint16_t first_port = 12865;
};

class UdpRequestResponse final : public Workload {
 public:
  // A request without a response is sent again after this long, so that a lost datagram stops
  // nobody.
  static constexpr core::Nanos kRetry{1'000'000'000};
  // A server ends when its client has, and nothing has come for this long.
  static constexpr core::Nanos kPatience{50'000'000};

  UdpRequestResponse(Place from, Place to, UdpRequestResponseOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  struct Session {
    FlowResult requests;
    FlowResult responses;
    std::uint64_t window_transactions = 0;
    bool asking = true;
  };

  void ask(Session& session, std::uint16_t port);
  void answer(Session& session, std::uint16_t port);

  Place from_;
  Place to_;
  UdpRequestResponseOptions options_;
  std::deque<Session> sessions_;
  Latency latency_{Latency::Kind::round_trip};
  Attendance attendance_;
  bool started_ = false;
};

}  // namespace tapestry::workloads
