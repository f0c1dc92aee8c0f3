// Timelines of one connection, in the manner of packetdrill: a machine under test, and a peer that
// the script plays.
//
//     Script script;
//     script.play(R"(
//       +0     connect
//       +0     > S 0:0(0) win 64240 <mss 1460,sackOK,TS,wscale 7>
//       +.010  < S. 0:0(0) ack 1 win 65535 <mss 1460>
//       +0     > . 1:1(0) ack 1
//       +.100  write 1000
//       +0     > P. 1:1001(1000) ack 1
//     )");
//
// "+t": seconds after the line before; "t": since the start. ">": the machine sends this, "<": the
// peer does. Sequence numbers count from each side's first. What a line does not mention (ack, win,
// options) is not compared; everything that is sent up to the last line must be in the script, in
// this order, at this time (to a millisecond, a tick). "segs 10": a packet of so many segments. "<
// icmp 3 of 0": a router's message, code 3, that our segment 0 is unreachable. Calls: connect,
// listen, accept, write N, read N, close, shutdown, cork on, nodelay on, quickack on, delack
// (nothing but time), each with "= result" if that matters; checks: cwnd = 10, ssthresh, state =
// ESTAB, and counters by name. One process makes all calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/tcp/header.hpp"
#include "net/tcp/tcp.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests {

namespace script {
inline constexpr std::uint16_t kPeerPort = 8080;  // of the peer
inline constexpr std::uint16_t kListenPort = 80;  // of a listener under test
std::string trimmed(std::string text);
std::uint32_t number(const std::string& text);
}  // namespace script

struct ScriptOptions {
  net::TcpOptions tcp{};
  bool segmentation = false;   // of the device
  std::uint32_t iss = 0;       // our first sequence number
  std::uint32_t peer_iss = 0;  // the peer's
  sched::SettleMode mode = sched::SettleMode::seams;
  std::uint32_t receive_buffer = 0, send_buffer = 0;
  bool checksummed = true;    // the peer's segments say that they were checked
  bool frees_at_once = true;  // the device frees what it has sent
};

class Script {
 public:
  explicit Script(ScriptOptions options = {});
  // Plays it and compares. To be called once.
  void play(const std::string& text);

  net::Tcp& tcp() { return machine.stack.tcp(); }

 private:
  ScriptOptions options_;

 public:
  World world;
  NetMachine& machine;

 private:
  struct Line {
    std::int64_t at_ns = 0;
    std::string text;  // without the time
    int number = 0;
  };
  struct Sent {
    std::int64_t at_ns = 0;
    net::tcp::Header header;
    std::uint32_t length = 0;
    std::uint32_t segments = 1;
  };

  std::vector<Line> parse(const std::string& text);
  void record(const core::Packet& packet);
  net::tcp::Header header_of(const Line& line, std::uint32_t& length,
                             std::uint32_t& segments) const;
  void inject(const Line& line);
  void inject_error(const Line& line);
  void call(const Line& line);
  std::string do_call(const std::string& word, const std::string& argument);
  std::string figure(const std::string& name) const;
  std::string told(const Sent& sent, const std::string& like) const;
  std::string story() const;

  // Gone with the world, after its threads and before its machines.
  struct Sockets {
    std::unique_ptr<net::TcpSocket> connected;
    std::unique_ptr<net::TcpSocket> listening;
  };
  Sockets& sockets_;
  std::unique_ptr<net::TcpSocket>& socket_;
  std::unique_ptr<net::TcpSocket>& listener_;
  std::vector<Sent> sent_;
  std::uint16_t own_port_ = 0;
};

}  // namespace tapestry::tests
