#include "net/ipv4.hpp"

#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/arp.hpp"
#include "net/checksum_offload.hpp"
#include "net/device.hpp"
#include "net/headers.hpp"
#include "net/icmp.hpp"
#include "net/socket_body.hpp"
#include "net/tcp/tcp.hpp"
#include "net/udp.hpp"
#include "sched/guards.hpp"

namespace tapestry::net {

using core::DropReason;
using core::PacketPtr;
using sched::Work;

namespace {

constexpr std::size_t kFragmentsMax = ipv4::kPacketMax / 8 + 1;

constexpr MacAddress multicast_mac(Ipv4Address group) {  // RFC 1112
  return {{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(group.value >> 16 & 0x7f),
           static_cast<std::uint8_t>(group.value >> 8), static_cast<std::uint8_t>(group.value)}};
}

}  // namespace

Ipv4::Ipv4(Stack& stack) : stack_(stack), reassembly_(stack) {}

std::size_t Ipv4::unfragmented_max(const Route& route) const {
  const std::size_t mtu = route.device != nullptr ? route.device->mtu_bytes() : ipv4::kPacketMax;
  return mtu - ipv4::kBytes;
}

// --- sending -------------------------------------------------------------------------------------

void Ipv4::send(PacketPtr packet, const Route& route, const Ipv4Fields& fields,
                SocketBody* account) {
  stack_.cpu().charge(Work::ip_output);
  // What is to be cut into segments below is longer than any of them.
  if (packet->gso_size == 0 && packet->length() > unfragmented_max(route)) [[unlikely]] {
    send_fragments(std::move(packet), route, fields, account);
    return;
  }
  const sched::BottomHalvesOff exclude(stack_.cpu());
  ++figures_.out_requests;
  const std::uint16_t identification = next_identification_;
  const int pieces = std::max<int>(packet->gso_segments, 1);  // each gets the next number
  next_identification_ = static_cast<std::uint16_t>(identification + pieces);
  push_header(*packet, fields, identification, fields.dont_fragment ? ipv4::kDontFragment : 0);
  if (account != nullptr) account->account(*packet);
  transmit(std::move(packet), route);
}

void Ipv4::push_header(core::Packet& packet, const Ipv4Fields& fields, std::uint16_t identification,
                       std::uint16_t fragment) {
  packet.set_transport_header();
  std::uint8_t* header = packet.push(ipv4::kBytes).data();
  packet.set_network_header();
  packet.protocol = ethernet::kIpv4;
  core::store_be16(header, static_cast<std::uint16_t>(0x4500 | fields.type_of_service));
  core::store_be16(header + ipv4::kTotalLength, static_cast<std::uint16_t>(packet.length()));
  core::store_be16(header + ipv4::kIdentification, identification);
  core::store_be16(header + ipv4::kFragment, fragment);
  core::store_be16(header + ipv4::kTimeToLive,
                   static_cast<std::uint16_t>(fields.time_to_live << 8 | fields.protocol));
  core::store_be16(header + ipv4::kChecksum, 0);
  core::store_be32(header + ipv4::kSource, fields.source.value);
  core::store_be32(header + ipv4::kDestination, fields.destination.value);
  core::store_be16(header + ipv4::kChecksum, core::internet_checksum({header, ipv4::kBytes}));
}

// ip_finish_output2: settled, bottom halves off.
void Ipv4::transmit(PacketPtr packet, const Route& route) {
  if (route.device == nullptr) {
    stack_.loop_back(std::move(packet));
    return;
  }
  if (!route.broadcast && !route.next_hop.is_multicast()) [[likely]] {
    stack_.arp().transmit(*route.device, route.next_hop, std::move(packet));
    return;
  }
  const MacAddress to = route.broadcast ? MacAddress::broadcast() : multicast_mac(route.next_hop);
  stack_.arp().transmit_to(*route.device, to, std::move(packet));
}

void Ipv4::send_fragments(PacketPtr packet, const Route& route, const Ipv4Fields& fields,
                          SocketBody* account) {
  sched::Cpu& cpu = stack_.cpu();
  if (packet->checksum == core::ChecksumState::partial) {
    const std::size_t covered = packet->length() - packet->checksum_start();
    cpu.charge(Work::checksum, 1, static_cast<std::int64_t>(covered));
    finish_checksum(*packet);
  }
  const std::size_t piece_bytes = unfragmented_max(route) / 8 * 8;
  const std::size_t pieces = (packet->length() + piece_bytes - 1) / piece_bytes;
  cpu.charge(Work::ip_fragment, static_cast<std::int64_t>(pieces));
  cpu.charge(Work::packet_alloc, static_cast<std::int64_t>(pieces));
  const sched::BottomHalvesOff exclude(cpu);
  ++figures_.out_requests;
  core::PacketQueue fragments(kFragmentsMax);
  if (!make_fragments(*packet, piece_bytes, fields, fragments)) {
    ++figures_.fragmenting_failed;
    fragments.drop_all(DropReason::nomem);
    stack_.allocator().drop(std::move(packet), DropReason::nomem);
    return;
  }
  ++figures_.fragmented;
  figures_.fragments_made += fragments.size();
  if (account != nullptr)
    fragments.for_each([account](core::Packet& fragment) { account->account(fragment); });
  stack_.allocator().free(std::move(packet), core::Outcome::segmented);
  while (PacketPtr fragment = fragments.pop()) {
    stack_.cpu().settle();
    transmit(std::move(fragment), route);
  }
}

// What the original is accountable for lies at its end (its headers are in front), and so it does
// in its fragments.
bool Ipv4::make_fragments(const core::Packet& packet, std::size_t piece_bytes,
                          const Ipv4Fields& fields, core::PacketQueue& fragments) {
  const std::uint16_t identification = next_identification_++;
  const std::size_t headers = packet.length() - std::min(packet.weight(), packet.length());
  for (std::size_t offset = 0; offset < packet.length(); offset += piece_bytes) {
    const std::size_t bytes = std::min(piece_bytes, packet.length() - offset);
    PacketPtr fragment = stack_.packets().allocate(core::Origin::segmentation);
    if (!fragment) return false;
    const std::uint64_t id = fragment->id;
    // NOLINTNEXTLINE(cppcoreguidelines-slicing): the marks alone are meant
    static_cast<core::PacketMarks&>(*fragment) = packet;
    fragment->id = id;
    const bool appended = fragment->append_range(packet, offset, bytes);
    if (appended) fragment->account(bytes - std::min(bytes, headers - std::min(headers, offset)));
    const bool last = offset + bytes == packet.length();
    push_header(*fragment, fields, identification,
                static_cast<std::uint16_t>(offset / 8 | (last ? 0 : ipv4::kMoreFragments)));
    (void)fragments.push(std::move(fragment));
    if (!appended) return false;
  }
  return true;
}

// --- receiving -----------------------------------------------------------------------------------

// ip_rcv_core and the route look-up. `not_specified`: nothing is wrong with it.
DropReason Ipv4::why_not_accept(core::Packet& packet) {
  if (!packet.make_linear(ipv4::kBytes)) return DropReason::pkt_too_small;
  const std::size_t header_bytes = std::size_t{packet.data()[0] & 0xfu} * 4;
  if (packet.data()[0] >> 4 != 4 || header_bytes < ipv4::kBytes) return DropReason::ip_inhdr;
  if (!packet.make_linear(header_bytes)) return DropReason::pkt_too_small;
  const std::uint8_t* header = packet.data();
  if (core::internet_checksum({header, header_bytes}) != 0) return DropReason::ip_csum;
  const std::size_t total = core::load_be16(header + ipv4::kTotalLength);
  if (total < header_bytes) return DropReason::ip_inhdr;
  if (total > packet.length()) return DropReason::pkt_too_small;
  if (total < packet.length()) packet.trim_to(total);  // Ethernet's padding
  const Ipv4Address source{core::load_be32(header + ipv4::kSource)};
  const Ipv4Address destination{core::load_be32(header + ipv4::kDestination)};
  if (source.is_multicast() || source.is_broadcast()) return DropReason::ip_invalid_source;
  if (packet.interface == 0) return DropReason::not_specified;
  if (destination.value >> 24 == 127) return DropReason::ip_localnet;
  if (!stack_.is_for_us(destination)) return DropReason::ip_inaddrerrors;
  if (stack_.is_local(source)) return DropReason::ip_local_source;
  return DropReason::not_specified;
}

void Ipv4::receive(PacketPtr packet) {
  packet->orphan();  // the sender of a packet to ourselves has got rid of it
  // At the door, before anything of IP is looked at or counted.
  if (packet->packet_type == core::PacketType::otherhost) [[unlikely]] {
    stack_.allocator().drop(std::move(packet), DropReason::otherhost);
    return;
  }
  stack_.cpu().charge(Work::ip_input);
  ++figures_.in_receives;
  packet->set_network_header();
  const DropReason reason = why_not_accept(*packet);
  if (reason != DropReason::not_specified) [[unlikely]] {
    drop_received(std::move(packet), reason);
    return;
  }
  const std::uint16_t fragment = core::load_be16(packet->data() + ipv4::kFragment);
  if ((fragment & (ipv4::kMoreFragments | ipv4::kOffsetMask)) != 0) [[unlikely]] {
    stack_.cpu().charge(Work::ip_reassemble);
    stack_.cpu().settle();
    packet = reassembly_.add(std::move(packet));
    if (!packet) return;
    packet->set_network_header();
  }
  deliver(std::move(packet));
}

void Ipv4::deliver(PacketPtr packet) {
  const std::uint8_t* header = packet->data();
  const std::uint8_t protocol = header[ipv4::kProtocol];
  const Ipv4Address source{core::load_be32(header + ipv4::kSource)};
  const Ipv4Address destination{core::load_be32(header + ipv4::kDestination)};
  const std::size_t header_bytes = std::size_t{header[0] & 0xfu} * 4;
  ++figures_.in_delivers;
  packet->pull(header_bytes);
  packet->set_transport_header();
  if (protocol == ipv4::kUdp) {
    stack_.udp().receive(std::move(packet), source, destination);
  } else if (protocol == ipv4::kTcp) {
    stack_.tcp().receive(std::move(packet), source, destination);
  } else if (protocol == ipv4::kIcmp) {
    stack_.icmp().receive(std::move(packet), source, destination);
  } else {
    --figures_.in_delivers;
    ++figures_.in_unknown_protocols;
    stack_.icmp().send_unreachable(*packet, icmp::kProtocolUnreachable);
    stack_.allocator().drop(std::move(packet), DropReason::ip_noproto);
  }
}

void Ipv4::drop_received(PacketPtr packet, DropReason reason) {
  switch (reason) {
    case DropReason::pkt_too_small:
    case DropReason::ip_inhdr:
    case DropReason::ip_csum:
      ++figures_.in_header_errors;
      break;
    default:
      ++figures_.in_address_errors;
  }
  stack_.allocator().drop(std::move(packet), reason);
}

}  // namespace tapestry::net
