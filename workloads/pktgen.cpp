#include "workloads/pktgen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "core/wide.hpp"
#include "kernel/world.hpp"
#include "net/headers.hpp"

namespace tapestry::workloads {

namespace {

constexpr std::uint16_t kDiscardPort = 9;           // pktgen's own choice of ports
constexpr std::uint32_t kPktgenMagic = 0xbe9be955;  // PKTGEN_MAGIC
constexpr std::uint8_t kPktgenTimeToLive = 32;

void write_ethernet(std::uint8_t* at, net::MacAddress from, net::MacAddress to) {
  std::memcpy(at + net::ethernet::kDestination, to.bytes.data(), to.bytes.size());
  std::memcpy(at + net::ethernet::kSource, from.bytes.data(), from.bytes.size());
  core::store_be16(at + net::ethernet::kType, net::ethernet::kIpv4);
}

void write_ipv4(std::uint8_t* at, std::size_t length, net::Ipv4Address from, net::Ipv4Address to) {
  std::memset(at, 0, net::ipv4::kBytes);
  at[0] = 0x45;
  core::store_be16(at + net::ipv4::kTotalLength, static_cast<std::uint16_t>(length));
  at[net::ipv4::kTimeToLive] = kPktgenTimeToLive;
  at[net::ipv4::kProtocol] = net::ipv4::kUdp;
  core::store_be32(at + net::ipv4::kSource, from.value);
  core::store_be32(at + net::ipv4::kDestination, to.value);
  core::store_be16(at + net::ipv4::kChecksum, core::internet_checksum({at, net::ipv4::kBytes}));
}

// Without a checksum, which UDP allows.
void write_udp(std::uint8_t* at, std::size_t length) {
  core::store_be16(at, kDiscardPort);
  core::store_be16(at + 2, kDiscardPort);
  core::store_be16(at + 4, static_cast<std::uint16_t>(length));
  core::store_be16(at + 6, 0);
}

}  // namespace

Pktgen::Pktgen(End from, End to, PktgenOptions options) : from_(from), to_(to), options_(options) {
  flow_.name = "pktgen/" + from_.device.name();
  figures_.frame_bytes = options_.frame_bytes;
}

void Pktgen::start(core::Instant origin) {
  started_ = true;
  origin_ = origin;
  to_.device.set_receive_offload(false);  // it counts frames
  to_.device.set_receive_handler(
      [this](core::PacketPtr packet) { return arrive(std::move(packet)); });
  attendance_.enter();
  from_.place.machine.scheduler().spawn({.name = "kpktgend", .affinity = from_.place.affinity()},
                                        [this] { run(); });
}

void Pktgen::run() {
  kernel::Machine& machine = from_.place.machine;
  machine.scheduler().sleep_until(origin_);
  began_ = present(machine);
  send_all();
  const core::Instant waits = present(machine);
  while (references_.count != 0)
    spin_while_idle();
  figures_.total = present(machine) - began_;
  figures_.idle += present(machine) - waits;
  if (buffer_) machine.stack().allocator().free(std::move(buffer_));
  attendance_.leave(present(machine));
}

// pktgen_thread_worker and pktgen_xmit.
void Pktgen::send_all() {
  kernel::Machine& machine = from_.place.machine;
  core::PacketQueue burst(options_.burst);
  core::Instant due = began_;
  while (figures_.packets + figures_.errors < options_.count) {
    const core::Instant begin = present(machine);
    while (present(machine) < due)
      spin_while_idle();
    due = core::after(present(machine), options_.delay);
    figures_.idle += present(machine) - begin;
    if (burst.empty()) fill_burst(burst);
    const core::Instant at = present(machine);
    const bool moved = hand_over(burst);
    const core::Instant now = present(machine);
    (moved ? figures_.transmit : figures_.idle) += now - at;
    if (moved) continue;
    due = now;  // what is tried again is not delayed
    spin_while_idle();
    figures_.idle += present(machine) - now;
  }
}

void Pktgen::spin_while_idle() {
  sched::Cpu& cpu = from_.place.machine.cpu();
  cpu.charge(sched::Work::spin);
  cpu.settle();
  cpu.cond_resched();
}

// Sends what is left to send of a burst, as references to the buffer or, if it is sent but once,
// the buffer itself. Without memory the burst is short, or empty and tried again.
void Pktgen::fill_burst(core::PacketQueue& burst) {
  kernel::Machine& machine = from_.place.machine;
  const core::Instant begin = present(machine);
  const bool once = options_.clone_skb <= 1 && options_.burst == 1;
  if (once || !buffer_ || times_sent_ >= std::max<std::uint64_t>(options_.clone_skb, 1))
    renew_buffer();
  const std::uint64_t left = options_.count - figures_.packets - figures_.errors;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(options_.burst, left));
  if (once && buffer_) (void)burst.push(std::move(buffer_));
  while (buffer_ && burst.size() < wanted) {
    core::PacketPtr reference = buffer_->clone();
    if (!reference) break;
    reference->shared = true;
    reference->set_owner(references_, 1);
    ++references_.count;
    (void)burst.push(std::move(reference));
  }
  ++times_sent_;
  figures_.alloc += present(machine) - begin;
}

void Pktgen::renew_buffer() {
  kernel::Machine& machine = from_.place.machine;
  if (buffer_) machine.stack().allocator().free(std::move(buffer_));
  buffer_ = make_frame();
  times_sent_ = 0;
  machine.cpu().settle();
}

// fill_packet_ipv4.
core::PacketPtr Pktgen::make_frame() {
  kernel::Machine& machine = from_.place.machine;
  core::PacketPtr packet = machine.stack().allocator().allocate(core::Origin::stack);
  core::PayloadRef payload = machine.world().packets().allocate_payload(
      options_.frame_bytes - PktgenOptions::kHeaderBytes);
  machine.cpu().charge(sched::Work::application);
  if (!packet || !payload) return {};
  std::memset(payload.writable().data(), 0, payload.length());
  core::store_be32(payload.writable().data(), kPktgenMagic);
  std::uint8_t* const frame = packet->put(PktgenOptions::kHeaderBytes).data();
  std::uint8_t* const ip = frame + net::ethernet::kBytes;
  write_ethernet(frame, from_.device.mac(), to_.device.mac());
  write_ipv4(ip, options_.frame_bytes - net::ethernet::kBytes, from_.place.address,
             to_.place.address);
  write_udp(ip + net::ipv4::kBytes,
            options_.frame_bytes - net::ethernet::kBytes - net::ipv4::kBytes);
  packet->account(payload.length());
  packet->append_payload(std::move(payload));
  packet->set_mac_header();
  packet->set_network_header(net::ethernet::kBytes);
  packet->set_transport_header(net::ethernet::kBytes + net::ipv4::kBytes);
  packet->protocol = net::ethernet::kIpv4;
  return packet;
}

// False if the device took nothing now: there is no place, or somebody else is at it.
bool Pktgen::hand_over(core::PacketQueue& burst) {
  sched::Cpu& cpu = from_.place.machine.cpu();
  const core::Instant now = present(from_.place.machine);
  burst.for_each([now](core::Packet& packet) { packet.born = now; });
  const std::uint64_t before = figures_.packets + figures_.errors;
  if (options_.mode == PktgenMode::start_xmit) {
    const net::Device::Burst done = from_.device.transmit_burst(burst);
    figures_.packets += done.sent;
    figures_.errors += done.dropped;
  } else {
    while (core::PacketPtr packet = burst.pop()) {
      const bool queued = from_.device.transmit(std::move(packet));
      ++(queued ? figures_.packets : figures_.errors);
    }
  }
  cpu.settle();
  cpu.cond_resched();
  return figures_.packets + figures_.errors != before;
}

core::PacketPtr Pktgen::arrive(core::PacketPtr packet) {
  kernel::Machine& machine = to_.place.machine;
  last_arrival_ = present(machine);
  ++flow_.received_packets;
  flow_.received_bytes += packet->length();
  machine.stack().allocator().free(std::move(packet), core::Outcome::delivered);
  return {};
}

Outcome Pktgen::outcome() const {
  Outcome outcome;
  outcome.flows.push_back(flow_);
  outcome.flows[0].sent_packets = figures_.packets;
  outcome.flows[0].sent_bytes = figures_.packets * options_.frame_bytes;
  outcome.pktgen = figures_;
  outcome.window = figures_.total;
  outcome.window_packets = figures_.packets;
  outcome.window_bytes = figures_.packets * options_.frame_bytes;
  outcome.finished_at = std::max(attendance_.last(), last_arrival_);
  return outcome;
}

std::string pktgen_result(const PktgenFigures& figures) {
  const auto usecs = [](core::Nanos span) { return span.count() / 1'000; };
  const std::int64_t total = std::max<std::int64_t>(figures.total.count(), 1);
  const auto rate = static_cast<std::uint64_t>(core::Wide{figures.packets} * 1'000'000'000 /
                                               static_cast<std::uint64_t>(total));
  const std::uint64_t bits = rate * 8 * figures.frame_bytes;
  return fmt::format(
      "Result: OK: {}(c{}+d{}) usec, {} ({}byte,0frags)\n  {}pps {}Mb/sec ({}bps) errors: {}\n",
      usecs(figures.total), usecs(figures.total - figures.idle), usecs(figures.idle),
      figures.packets, figures.frame_bytes, rate, bits / 1'000'000, bits, figures.errors);
}

}  // namespace tapestry::workloads
