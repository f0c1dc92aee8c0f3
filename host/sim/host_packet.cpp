#include "host/sim/host_packet.hpp"

#include <array>
#include <utility>

namespace tapestry::host::sim {

core::PacketPtr copy_into_host(net::Stack& stack, const core::Packet& frame, VnetHeader header) {
  constexpr std::size_t kHeaderBytes = 14;
  core::PacketPtr packet = stack.environment().packets.allocate(core::Origin::host_copy);
  if (!packet) return packet;
  if (frame.length() < kHeaderBytes || !copy_frame(frame, *packet, header)) {
    core::consume(std::move(packet));
    return {};
  }
  std::array<std::uint8_t, 2> type{};
  packet->copy_out(12, type);
  packet->protocol = static_cast<std::uint16_t>(type[0] << 8 | type[1]);
  packet->set_mac_header();
  packet->set_network_header(kHeaderBytes);
  packet->reach(core::Milestone::host_copied);
  return packet;
}

}  // namespace tapestry::host::sim
