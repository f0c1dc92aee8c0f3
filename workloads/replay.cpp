#include "workloads/replay.hpp"

#include <algorithm>
#include <cstring>

#include "core/assert.hpp"
#include "core/bytes.hpp"
#include "core/wide.hpp"
#include "kernel/world.hpp"

namespace tapestry::workloads {

namespace {

constexpr std::size_t kEthernetHeader = 14;
constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kArp = 0x0806;
// How far behind the expected frame a match is looked for: more than all queues between the sides
// can lose.
constexpr std::size_t kLookAhead = 4096;
// A century: due for ever, and far from the end of the clock.
constexpr std::uint64_t kLatestDue = std::uint64_t{100} * 366 * 24 * 3600 * 1'000'000'000;

net::MacAddress source_mac(const CapturedFrame& frame) {
  net::MacAddress mac;
  std::copy_n(frame.bytes.begin() + 6, mac.bytes.size(), mac.bytes.begin());
  return mac;
}

// Of IPv4 and ARP frames.
std::optional<net::Ipv4Address> source_address(const CapturedFrame& frame) {
  const std::uint16_t protocol = core::load_be16(frame.bytes.data() + 12);
  const std::size_t offset = protocol == kIpv4 ? 12 : 14;
  if (protocol != kIpv4 && protocol != kArp) return std::nullopt;
  if (frame.bytes.size() < kEthernetHeader + offset + 4) return std::nullopt;
  return net::Ipv4Address{core::load_be32(frame.bytes.data() + kEthernetHeader + offset)};
}

}  // namespace

Replay::Replay(std::vector<ReplaySide> sides, CaptureFile file, ReplayOptions options)
    : sides_(std::move(sides)), file_(std::move(file)), options_(options) {
  TAPESTRY_ASSERT(sides_.size() == 2, "a replay has two sides");
  learn_macs();
  assign();
  for (std::size_t side = 0; side < sides_.size(); ++side)
    directions_[side].flow.name = "replay/" + sides_[side].machine.name();
}

Replay::~Replay() = default;

// --- which side sent a frame, and when it is due
// -------------------------------------------------------------

std::optional<std::size_t> Replay::side_of_source(const CapturedFrame& frame) const {
  const std::optional<net::Ipv4Address> address = source_address(frame);
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const auto* ip = std::get_if<net::Ipv4Address>(&sides_[side].source);
    const auto* mac = std::get_if<net::MacAddress>(&sides_[side].source);
    if (ip != nullptr && address && *ip == *address) return side;
    if (mac != nullptr && *mac == source_mac(frame)) return side;
  }
  return std::nullopt;
}

void Replay::learn_macs() {
  for (const CapturedFrame& frame : file_.frames) {
    if (frame.bytes.size() < kEthernetHeader) continue;
    const auto side = side_of_source(frame);
    if (!side) continue;
    const net::MacAddress mac = source_mac(frame);
    const bool known = std::any_of(macs_.begin(), macs_.end(),
                                   [&](const auto& entry) { return entry.first == mac; });
    if (!known) macs_.emplace_back(mac, *side);
  }
}

std::optional<std::size_t> Replay::side_of(const CapturedFrame& frame) const {
  if (frame.bytes.size() < kEthernetHeader || frame.bytes.size() < frame.length)
    return std::nullopt;
  if (const auto side = side_of_source(frame)) return side;
  for (const auto& [mac, side] : macs_)
    if (mac == source_mac(frame)) return side;
  return std::nullopt;
}

// Any product of a file's time or length and a scenario's factor ends here, and not below zero.
core::Nanos Replay::saturated(core::Wide ns) {
  return core::Nanos{static_cast<std::int64_t>(std::min<core::Wide>(ns, kLatestDue))};
}

core::Nanos Replay::due_of(const CapturedFrame& frame, std::uint64_t bytes_before) const {
  switch (options_.timing) {
    case ReplayOptions::Timing::original:
      return saturated(static_cast<std::uint64_t>(frame.at.count()));
    case ReplayOptions::Timing::scaled:
      return saturated(core::Wide{static_cast<std::uint64_t>(frame.at.count())} *
                       options_.scale_millionths / 1'000'000);
    case ReplayOptions::Timing::fixed:
      break;
  }
  return saturated(core::Wide{bytes_before} * 8 * 1'000'000'000 / options_.rate.bits_per_second());
}

// One round follows the other at the mean gap between frames; at a fixed rate when the last one's
// bytes have had their time.
void Replay::assign() {
  core::Wide begin = 0;
  for (int round = 0; round < options_.loop; ++round) {
    std::uint64_t bytes = 0;
    std::uint64_t frames = 0;
    core::Nanos last{0};
    for (const CapturedFrame& frame : file_.frames) {
      const auto side = side_of(frame);
      if (!side) {
        ++left_out_;
        continue;
      }
      last = due_of(frame, bytes);
      bytes += frame.bytes.size();
      ++frames;
      const core::Nanos due = saturated(begin + static_cast<std::uint64_t>(last.count()));
      directions_[*side].frames.push_back({.captured = &frame, .due = due});
    }
    const auto span = static_cast<std::uint64_t>(last.count());
    if (options_.timing == ReplayOptions::Timing::fixed)
      begin += core::Wide{bytes} * 8 * 1'000'000'000 / options_.rate.bits_per_second();
    else
      begin += span + (frames > 1 ? span / (frames - 1) : 0);
  }
}

// --- sending
// -------------------------------------------------------------------------------------------------

void Replay::start(core::Instant origin) {
  started_ = true;
  origin_ = origin;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    sides_[side].device.set_receive_offload(false);  // it counts frames, and compares them
    sides_[side].device.set_receive_handler(
        [this, side](core::PacketPtr packet) { return arrive(side, std::move(packet)); });
    attendance_.enter();
    sides_[side].machine.scheduler().spawn({.name = "replay"}, [this, side] { send(side); });
  }
}

void Replay::send(std::size_t side) {
  kernel::Machine& machine = sides_[side].machine;
  Direction& direction = directions_[side];
  for (Frame& frame : direction.frames) {
    wait_until(machine, core::after(origin_, frame.due));
    machine.system_call([&] { send_frame(sides_[side], frame, direction); });
  }
  attendance_.leave(present(machine));
}

// As send() on a packet socket.
void Replay::send_frame(const ReplaySide& side, Frame& frame, Direction& direction) {
  const std::vector<std::uint8_t>& bytes = frame.captured->bytes;
  core::PacketPtr packet = side.machine.stack().allocator().allocate(core::Origin::replay);
  core::PayloadRef payload;
  if (bytes.size() > kEthernetHeader)
    payload = side.machine.world().packets().allocate_payload(bytes.size() - kEthernetHeader);
  TAPESTRY_ASSERT(packet && (payload || bytes.size() == kEthernetHeader),
                  "the pools hold a replay");
  std::memcpy(packet->put(kEthernetHeader).data(), bytes.data(), kEthernetHeader);
  if (payload) {
    std::memcpy(payload.writable().data(), bytes.data() + kEthernetHeader, payload.length());
    packet->append_payload(std::move(payload));
  }
  packet->account(bytes.size());
  packet->set_mac_header();
  packet->set_network_header(kEthernetHeader);
  packet->protocol = core::load_be16(bytes.data() + 12);
  packet->payload_owner = side.machine.cpu().cache_owner();
  side.machine.charge_copy(bytes.size());
  frame.sent = packet->born = present(side.machine);
  ++direction.flow.sent_packets;
  direction.flow.sent_bytes += bytes.size();
  side.device.transmit(std::move(packet));
}

// --- arriving
// -------------------------------------------------------------------------------------------------

core::PacketPtr Replay::arrive(std::size_t side, core::PacketPtr packet) {
  kernel::Machine& machine = sides_[side].machine;
  Direction& direction = directions_[1 - side];
  const core::Instant now = last_ = present(machine);
  std::vector<std::uint8_t> bytes(packet->length());
  packet->copy_out(0, bytes);
  const std::size_t end = std::min(direction.frames.size(), direction.next_arrival + kLookAhead);
  std::size_t index = direction.next_arrival;
  while (index < end && direction.frames[index].captured->bytes != bytes)
    ++index;
  if (index < end) {
    direction.next_arrival = index + 1;
    latency_.record(now - direction.frames[index].sent);
  } else {
    ++altered_;
  }
  ++direction.flow.received_packets;
  direction.flow.received_bytes += bytes.size();
  machine.stack().allocator().free(std::move(packet), core::Outcome::delivered);
  return {};
}

Outcome Replay::outcome() const {
  Outcome outcome;
  outcome.finished_at = std::max(attendance_.last(), last_);
  outcome.window = std::max(outcome.finished_at - origin_, core::Nanos{0});
  for (const Direction& direction : directions_) {
    outcome.flows.push_back(direction.flow);
    outcome.window_packets += direction.flow.received_packets;
    outcome.window_bytes += direction.flow.received_bytes;
  }
  outcome.latency = latency_;
  return outcome;
}

}  // namespace tapestry::workloads
