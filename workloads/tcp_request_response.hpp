// TCP request and response, one outstanding per session: netperf's TCP_RR and sockperf's ping-pong
// on one connection, netperf's TCP_CRR with a new connection for each request.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "net/tcp/tcp.hpp"
#include "workloads/workload.hpp"

namespace tapestry::workloads {

struct TcpRequestResponseOptions {
  std::size_t request_bytes = 1;
  std::size_t response_bytes = 1;
  int sessions = 1;
  Window window;
  bool connect_each = false;  // TCP_CRR: connect, ask, be answered, close
  bool no_delay = false;      // TCP_NODELAY, on both ends
  std::uint16_t first_port = 12866;
};

class TcpRequestResponse final : public Workload {
 public:
  TcpRequestResponse(Place from, Place to, TcpRequestResponseOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  struct Session {
    FlowResult requests;
    FlowResult responses;
    std::uint64_t window_transactions = 0;
    std::uint64_t connections = 0;
  };

  void ask(Session& session, std::uint16_t port);
  std::unique_ptr<net::TcpSocket> connect(Session& session, std::uint16_t port);
  bool ask_once(Session& session, net::TcpSocket& socket);
  void answer(Session& session, std::uint16_t port);
  void serve(Session& session, net::TcpSocket& socket);
  bool receive_all(kernel::Machine& machine, net::TcpSocket& socket, std::size_t bytes);

  Place from_;
  Place to_;
  TcpRequestResponseOptions options_;
  std::deque<Session> sessions_;
  Latency latency_{Latency::Kind::round_trip};
  Attendance attendance_;
  bool started_ = false;
};

}  // namespace tapestry::workloads
