// TCP one way, as fast as the connection takes it: netperf's TCP_STREAM and, with the ends the
// other way round, TCP_MAERTS; iperf3 with other sizes and one more call for each message.
//
// The client connects in both directions. When the time is up the sender says so (FIN), the
// receiver takes what is still on its way, and both close; what does not come through within kDrain
// is abandoned. A connection that never opens counts as a failed one, and carries nothing.
#pragma once

#include <cstdint>
#include <deque>

#include "net/tcp/tcp.hpp"
#include "workloads/workload.hpp"

namespace tapestry::workloads {

enum class TcpDirection : std::uint8_t {
  transmit,  // the client sends: TCP_STREAM
  receive    // the client receives: TCP_MAERTS
};

// Whose system calls the two ends make.
enum class TcpProgram : std::uint8_t {
  netperf,  // sends or receives, and blocks in that
  // As version 3.12: select between two looks at the clock, then ten sends, or receives until a
  // message is whole; both block.
  iperf3
};

struct TcpStreamOptions {
  TcpDirection direction = TcpDirection::transmit;
  std::size_t send_bytes = 16'384;      // of each send: netperf takes the send buffer's first size
  std::size_t receive_bytes = 131'072;  // of each receive: likewise the receive buffer's
  int sessions = 1;                     // each with a connection and a port of its own
  Window window;
  TcpProgram program = TcpProgram::netperf;
  bool no_delay = false;  // TCP_NODELAY
  std::uint16_t first_port = 12866;
};

class TcpStream final : public Workload {
 public:
  static constexpr core::Nanos kDrain{1'000'000'000};

  TcpStream(Place client, Place server, TcpStreamOptions options);

  void start(core::Instant origin) override;
  bool finished() const override { return started_ && attendance_.nobody(); }
  Outcome outcome() const override;

 private:
  struct Session {
    FlowResult flow;
    std::uint64_t window_packets = 0, window_bytes = 0;  // a packet is a receive that got something
    core::Instant last_progress = core::kStart;
    core::Nanos longest_silence{0};
    bool connected = false;
  };

  void be_client(Session& session, std::uint16_t port);
  void be_server(Session& session, std::uint16_t port);
  void transfer(kernel::Machine& machine, Session& session, net::TcpSocket& socket, bool sends);
  void send(kernel::Machine& machine, Session& session, net::TcpSocket& socket);
  void receive(kernel::Machine& machine, Session& session, net::TcpSocket& socket);
  void note_progress(Session& session, core::Instant now);
  void send_selecting(kernel::Machine& machine, Session& session, net::TcpSocket& socket);
  void receive_selecting(kernel::Machine& machine, Session& session, net::TcpSocket& socket);
  void take(Session& session, std::size_t length, core::Instant now);
  void finish_sending(kernel::Machine& machine, net::TcpSocket& socket);
  core::Instant given_up() const { return options_.window.end() + kDrain; }

  Place client_;
  Place server_;
  TcpStreamOptions options_;
  std::deque<Session> sessions_;
  Attendance attendance_;
  bool started_ = false;
};

}  // namespace tapestry::workloads
