// ICMP: answers echo requests, tells senders that nobody listens, and hands echo replies to the
// sockets that wait for them; what it hears of connections that are being opened ends them
// (net/ipv4/icmp.c, ping.c).
#pragma once

#include <cstdint>
#include <vector>

#include "core/packet.hpp"
#include "net/address.hpp"

namespace tapestry::net {

class PingSocket;
class Stack;

class Icmp {
 public:
  // Messages about errors to one destination: one second apart, after a first few that come at
  // once (icmp_ratelimit, XRLIM_BURST_FACTOR). Destinations that are remembered: 256.
  static constexpr std::uint64_t kBurst = 6;
  static constexpr std::size_t kDestinationsMax = 256;

  explicit Icmp(Stack& stack);

  // From IPv4: the packet begins at its ICMP header; settled or owing input costs, softirq context.
  void receive(core::PacketPtr packet, Ipv4Address source, Ipv4Address destination);

  // icmp_send: destination unreachable, about a packet that was received; its IP header is marked.
  void send_unreachable(const core::Packet& about, std::uint8_t code);

  struct Figures {  // /proc/net/snmp Icmp:
    std::uint64_t in_messages = 0, in_errors = 0, in_checksum_errors = 0;
    std::uint64_t in_echo_requests = 0, in_echo_replies = 0, in_unreachables = 0;
    std::uint64_t out_messages = 0, out_echo_requests = 0, out_echo_replies = 0;
    std::uint64_t out_unreachables = 0, rate_limited = 0;
  };
  const Figures& figures() const { return figures_; }

 private:
  friend class PingSocket;

  struct Allowance {  // of messages about errors to one destination
    Ipv4Address destination;
    std::uint64_t jiffies = 0;  // saved up
    std::uint64_t since = 0;    // jiffy
  };

  void reply_to_echo(core::PacketPtr request, Ipv4Address source, Ipv4Address destination);
  void deliver_reply(core::PacketPtr packet);
  void deliver_error(core::PacketPtr packet);
  void send(core::PacketPtr packet, Ipv4Address source, Ipv4Address destination,
            bool dont_fragment);
  bool may_send_error(Ipv4Address destination);

  Stack& stack_;
  std::vector<PingSocket*> sockets_;
  std::vector<Allowance> allowances_;
  Figures figures_;
};

}  // namespace tapestry::net
