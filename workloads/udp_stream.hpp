// UDP one way: as fast as the sender can, or at a rate (iperf3 -u).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/units.hpp"
#include "net/udp.hpp"
#include "workloads/workload.hpp"

namespace tapestry::workloads {

struct UdpStreamOptions {
  std::size_t payload_bytes = 1472;  // 0 .. 65,507
  int sessions = 1;                  // each with a sender, a receiver and a port of its own
  Window window;
  std::optional<core::BitRate> rate;  // payload bits a second and session; none: as fast as it goes
  // System calls that the sender makes per datagram, the send included: iperf3 asks select and the
  // clock, too.
  int calls_per_datagram = 1;
  std::uint16_t first_port = 5201;
};

class UdpStream final : public Workload {
 public:
  // A receiver gives up when the senders have ended and nothing has come for this long.
  static constexpr core::Nanos kPatience{50'000'000};

  UdpStream(Place from, Place to, UdpStreamOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  struct Session {
    FlowResult flow;
    std::uint64_t window_packets = 0, window_bytes = 0;
    std::uint64_t next_sequence = 0;  // the receiver expects
    bool listening = false;
    bool sending = true;
  };

  void send(Session& session, std::uint16_t port);
  void receive(Session& session, std::uint16_t port);
  void pause_until_due(core::Instant start, std::uint64_t sent);

  Place from_;
  Place to_;
  UdpStreamOptions options_;
  std::deque<Session> sessions_;
  Latency latency_{Latency::Kind::one_way};
  Attendance attendance_;
  bool started_ = false;
};

}  // namespace tapestry::workloads
