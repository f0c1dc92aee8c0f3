#include "workloads/udp_stream.hpp"

#include <algorithm>
#include <vector>

#include "core/bytes.hpp"
#include "core/wide.hpp"
#include "kernel/world.hpp"

namespace tapestry::workloads {

namespace {

// The first bytes of a payload: which datagram this is.
constexpr std::size_t kSequenceBytes = 8;

}  // namespace

UdpStream::UdpStream(Place from, Place to, UdpStreamOptions options)
    : from_(from), to_(to), options_(options) {}

void UdpStream::start(core::Instant origin) {
  started_ = true;
  options_.window.origin = origin;
  for (int i = 0; i < options_.sessions; ++i) {
    Session& session = sessions_.emplace_back();
    session.flow.name = "udp-stream/" + std::to_string(i);
    const auto port = static_cast<std::uint16_t>(options_.first_port + i);
    attendance_.enter();
    attendance_.enter();
    to_.machine.scheduler().spawn(
        {.name = "udp-server/" + std::to_string(i), .affinity = to_.affinity()},
        [this, &session, port] { receive(session, port); });
    from_.machine.scheduler().spawn(
        {.name = "udp-client/" + std::to_string(i), .affinity = from_.affinity()},
        [this, &session, port] { send(session, port); });
  }
}

void UdpStream::send(Session& session, std::uint16_t port) {
  kernel::Machine& machine = from_.machine;
  std::vector<std::uint8_t> payload(options_.payload_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i)
    payload[i] = static_cast<std::uint8_t>(i);
  auto socket = machine.system_call([&] {
    auto opened = machine.stack().udp().open();
    opened->connect({to_.address, port});
    return opened;
  });
  wait_until(machine, options_.window.origin);
  const core::Instant begin = present(machine);
  while (present(machine) < options_.window.end()) {
    if (options_.rate) pause_until_due(begin, session.flow.sent_packets);
    if (present(machine) >= options_.window.end()) break;
    if (payload.size() >= kSequenceBytes)
      core::store_be64(payload.data(), session.flow.sent_packets);
    machine.cpu().charge(sched::Work::application);
    for (int call = 1; call < options_.calls_per_datagram; ++call)
      machine.system_call([&] { machine.cpu().charge(sched::Work::clock_read); });
    const net::SocketStatus status = machine.system_call([&] { return socket->send(payload); });
    if (status != net::SocketStatus::ok) continue;
    ++session.flow.sent_packets;
    session.flow.sent_bytes += payload.size();
  }
  machine.system_call([&] { socket.reset(); });
  session.sending = false;
  attendance_.leave(present(machine));
}

void UdpStream::pause_until_due(core::Instant start, std::uint64_t sent) {
  const core::Wide bits = core::Wide{sent} * options_.payload_bytes * 8;
  const auto due =
      static_cast<std::int64_t>(bits * 1'000'000'000 / options_.rate->bits_per_second());
  wait_until(from_.machine, start + core::Nanos{due});
}

void UdpStream::receive(Session& session, std::uint16_t port) {
  kernel::Machine& machine = to_.machine;
  std::vector<std::uint8_t> buffer(std::max<std::size_t>(options_.payload_bytes, 1));
  core::Instant last = core::kStart;
  auto socket = machine.system_call([&] {
    auto opened = machine.stack().udp().open();
    opened->bind({to_.address, port});
    return opened;
  });
  for (;;) {
    const core::Instant limit = present(machine) + kPatience;
    const auto got = machine.system_call([&] { return socket->receive(buffer, limit); });
    machine.cpu().charge(sched::Work::application);
    if (got.status != net::SocketStatus::ok) {
      const core::Instant now = present(machine);
      if (now >= options_.window.end() && !session.sending) break;
      continue;
    }
    const core::Instant now = last = present(machine);
    ++session.flow.received_packets;
    session.flow.received_bytes += got.length;
    if (got.length >= kSequenceBytes) {
      const std::uint64_t sequence = core::load_be64(buffer.data());
      if (sequence < session.next_sequence) ++session.flow.out_of_order;
      session.next_sequence = std::max(session.next_sequence, sequence + 1);
    }
    if (!options_.window.contains(now)) continue;
    ++session.window_packets;
    session.window_bytes += got.length;
    latency_.record(now - got.born);
  }
  machine.system_call([&] { socket.reset(); });
  attendance_.leave(last);  // the patience is not part of the work
}

Outcome UdpStream::outcome() const {
  Outcome outcome;
  outcome.window = options_.window.passed(from_.machine.world().timeline().now());
  for (const Session& session : sessions_) {
    outcome.flows.push_back(session.flow);
    outcome.window_packets += session.window_packets;
    outcome.window_bytes += session.window_bytes;
  }
  outcome.latency = latency_;
  outcome.finished_at = attendance_.last();
  return outcome;
}

}  // namespace tapestry::workloads
