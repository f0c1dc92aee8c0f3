// IPv4: headers, delivery to the protocols above, fragments (net/ipv4/ip_input.c, ip_output.c).
//
// A host, not a router: what is not for this machine is dropped. Packets longer than the MTU are
// cut into fragments, which share the payload; the Don't Fragment bit is set on those that fit, as
// with IP_PMTUDISC_WANT.
#pragma once

#include <cstdint>

#include "core/packet.hpp"
#include "net/address.hpp"
#include "net/reassembly.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

class SocketBody;

// What the header of a packet to be sent says.
struct Ipv4Fields {
  Ipv4Address source;
  Ipv4Address destination;
  std::uint8_t protocol = 0;
  std::uint8_t type_of_service = 0;
  std::uint8_t time_to_live = 64;  // net.ipv4.ip_default_ttl
  bool dont_fragment = true;       // set on what fits the MTU
};

class Ipv4 {
 public:
  explicit Ipv4(Stack& stack);

  // The largest packet, without IP header, that goes this way in one piece.
  std::size_t unfragmented_max(const Route& route) const;

  // The packet begins at its transport header. Charges, settles, sends; `account` pays for it while
  // it is on its way. An unfinished checksum is finished here if the packet must be cut.
  void send(core::PacketPtr packet, const Route& route, const Ipv4Fields& fields,
            SocketBody* account = nullptr);

  // From a device or ourselves: begins at its IP header; settled, softirq context.
  void receive(core::PacketPtr packet);

  struct Figures {  // /proc/net/snmp Ip:
    std::uint64_t in_receives = 0, in_header_errors = 0, in_address_errors = 0;
    std::uint64_t in_unknown_protocols = 0, in_delivers = 0;
    std::uint64_t out_requests = 0, out_no_routes = 0;
    std::uint64_t fragmented = 0, fragmenting_failed = 0, fragments_made = 0;  // FragOKs ...
  };
  const Figures& figures() const { return figures_; }
  Figures& figures() { return figures_; }
  const Reassembly& reassembly() const { return reassembly_; }

 private:
  void push_header(core::Packet& packet, const Ipv4Fields& fields, std::uint16_t identification,
                   std::uint16_t fragment);
  void transmit(core::PacketPtr packet, const Route& route);
  void send_fragments(core::PacketPtr packet, const Route& route, const Ipv4Fields& fields,
                      SocketBody* account);
  bool make_fragments(const core::Packet& packet, std::size_t piece_bytes, const Ipv4Fields& fields,
                      core::PacketQueue& fragments);
  core::DropReason why_not_accept(core::Packet& packet);
  void deliver(core::PacketPtr packet);
  void drop_received(core::PacketPtr packet, core::DropReason reason);

  Stack& stack_;
  Reassembly reassembly_;
  std::uint16_t next_identification_ = 1;
  Figures figures_;
};

}  // namespace tapestry::net
