#include "workloads/ping.hpp"

namespace tapestry::workloads {

namespace {
constexpr std::uint16_t kIdentifier = 77;
}

Ping::Ping(Place from, net::Ipv4Address target, PingOptions options)
    : from_(from), target_(target), options_(options) {
  flow_.name = "ping";
}

void Ping::start(core::Instant origin) {
  started_ = true;
  origin_ = origin;
  attendance_.enter();
  from_.machine.scheduler().spawn({.name = "ping", .affinity = from_.affinity()},
                                  [this] { run(); });
}

void Ping::run() {
  kernel::Machine& machine = from_.machine;
  net::PingSocket socket(machine.stack());
  machine.system_call([&] { socket.open(kIdentifier); });
  wait_until(machine, origin_);
  began_ = present(machine);
  last_ = began_;
  for (int i = 0; i < options_.count; ++i) {
    const bool is_last = i + 1 == options_.count;
    const core::Instant next = began_ + (i + 1) * options_.interval;
    machine.cpu().charge(sched::Work::application);
    const net::SocketStatus sent = machine.system_call([&] {
      return socket.send(target_, static_cast<std::uint16_t>(i + 1), options_.payload_bytes);
    });
    if (sent == net::SocketStatus::ok) {
      ++flow_.sent_packets;
      flow_.sent_bytes += options_.payload_bytes;
    }
    // Replies until the next request is due; after the last one, until all are in.
    const core::Instant limit = is_last ? present(machine) + kLinger : next;
    while (present(machine) < limit && !(is_last && flow_.received_packets == flow_.sent_packets)) {
      const auto reply = machine.system_call([&] { return socket.receive(limit); });
      if (reply.status != net::SocketStatus::ok || reply.duplicate) continue;
      last_ = present(machine);
      ++flow_.received_packets;
      flow_.received_bytes += reply.bytes;
      if (reply.has_round_trip) latency_.record(reply.round_trip);
    }
  }
  attendance_.leave(last_);
}

Outcome Ping::outcome() const {
  Outcome outcome;
  outcome.flows = {flow_};
  outcome.window = last_ - began_;
  outcome.window_packets = flow_.received_packets;
  outcome.window_bytes = flow_.received_bytes;
  outcome.latency = latency_;
  outcome.finished_at = attendance_.last();
  return outcome;
}

}  // namespace tapestry::workloads
