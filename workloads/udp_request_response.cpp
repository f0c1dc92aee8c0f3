#include "workloads/udp_request_response.hpp"

#include <algorithm>
#include <vector>

#include "kernel/world.hpp"

namespace tapestry::workloads {

UdpRequestResponse::UdpRequestResponse(Place from, Place to, UdpRequestResponseOptions options)
    : from_(from), to_(to), options_(options) {}

void UdpRequestResponse::start(core::Instant origin) {
  started_ = true;
  options_.window.origin = origin;
  for (int i = 0; i < options_.sessions; ++i) {
    Session& session = sessions_.emplace_back();
    session.requests.name = "udp-rr-request/" + std::to_string(i);
    session.responses.name = "udp-rr-response/" + std::to_string(i);
    const auto port = static_cast<std::uint16_t>(options_.first_port + i);
    attendance_.enter();
    attendance_.enter();
    to_.machine.scheduler().spawn(
        {.name = "rr-server/" + std::to_string(i), .affinity = to_.affinity()},
        [this, &session, port] { answer(session, port); });
    from_.machine.scheduler().spawn(
        {.name = "rr-client/" + std::to_string(i), .affinity = from_.affinity()},
        [this, &session, port] { ask(session, port); });
  }
}

void UdpRequestResponse::ask(Session& session, std::uint16_t port) {
  kernel::Machine& machine = from_.machine;
  const std::vector<std::uint8_t> request(options_.request_bytes);
  std::vector<std::uint8_t> response(std::max<std::size_t>(options_.response_bytes, 1));
  auto socket = machine.system_call([&] {
    auto opened = machine.stack().udp().open();
    opened->connect({to_.address, port});
    return opened;
  });
  wait_until(machine, options_.window.origin);
  core::Instant asked = present(machine);
  while (asked < options_.window.end()) {
    machine.cpu().charge(sched::Work::application);
    const net::SocketStatus sent = machine.system_call([&] { return socket->send(request); });
    if (sent == net::SocketStatus::ok) {
      ++session.requests.sent_packets;
      session.requests.sent_bytes += request.size();
    }
    const auto got = machine.system_call([&] { return socket->receive(response, asked + kRetry); });
    const core::Instant now = present(machine);
    if (got.status == net::SocketStatus::ok) {
      ++session.responses.received_packets;
      session.responses.received_bytes += got.length;
      if (options_.window.contains(now)) {
        ++session.window_transactions;
        latency_.record(now - asked);
      }
    }
    asked = now;
  }
  machine.system_call([&] { socket.reset(); });
  session.asking = false;
  attendance_.leave(asked);
}

void UdpRequestResponse::answer(Session& session, std::uint16_t port) {
  kernel::Machine& machine = to_.machine;
  std::vector<std::uint8_t> request(std::max<std::size_t>(options_.request_bytes, 1));
  const std::vector<std::uint8_t> response(options_.response_bytes);
  core::Instant last = core::kStart;
  auto socket = machine.system_call([&] {
    auto opened = machine.stack().udp().open();
    opened->bind({to_.address, port});
    return opened;
  });
  for (;;) {
    const core::Instant limit = present(machine) + kPatience;
    const auto got = machine.system_call([&] { return socket->receive(request, limit); });
    machine.cpu().charge(sched::Work::application);
    if (got.status != net::SocketStatus::ok) {
      if (present(machine) >= options_.window.end() && !session.asking) break;
      continue;
    }
    ++session.requests.received_packets;
    session.requests.received_bytes += got.length;
    const net::SocketStatus sent =
        machine.system_call([&] { return socket->send_to(got.from, response); });
    if (sent == net::SocketStatus::ok) {
      ++session.responses.sent_packets;
      session.responses.sent_bytes += response.size();
    }
    last = present(machine);
  }
  machine.system_call([&] { socket.reset(); });
  attendance_.leave(last);
}

Outcome UdpRequestResponse::outcome() const {
  Outcome outcome;
  outcome.window = options_.window.passed(from_.machine.world().timeline().now());
  std::uint64_t transactions = 0;
  for (const Session& session : sessions_) {
    outcome.flows.push_back(session.requests);
    outcome.flows.push_back(session.responses);
    transactions += session.window_transactions;
  }
  outcome.window_packets = 2 * transactions;
  outcome.window_bytes = transactions * (options_.request_bytes + options_.response_bytes);
  outcome.transactions = transactions;
  outcome.latency = latency_;
  outcome.finished_at = attendance_.last();
  return outcome;
}

}  // namespace tapestry::workloads
