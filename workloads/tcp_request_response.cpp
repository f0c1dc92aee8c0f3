#include "workloads/tcp_request_response.hpp"

#include <string>
#include <vector>

namespace tapestry::workloads {

TcpRequestResponse::TcpRequestResponse(Place from, Place to, TcpRequestResponseOptions options)
    : from_(from), to_(to), options_(options) {}

void TcpRequestResponse::start(core::Instant origin) {
  started_ = true;
  options_.window.origin = origin;
  for (int i = 0; i < options_.sessions; ++i) {
    Session& session = sessions_.emplace_back();
    session.requests.name = "tcp-rr-request/" + std::to_string(i);
    session.responses.name = "tcp-rr-response/" + std::to_string(i);
    const auto port = static_cast<std::uint16_t>(options_.first_port + i);
    attendance_.enter();
    attendance_.enter();
    to_.machine.scheduler().spawn(
        {.name = "netserver/" + std::to_string(i), .affinity = to_.affinity()},
        [this, &session, port] { answer(session, port); });
    from_.machine.scheduler().spawn(
        {.name = "netperf/" + std::to_string(i), .affinity = from_.affinity()},
        [this, &session, port] { ask(session, port); });
  }
}

// Null: no connection before the time is up.
std::unique_ptr<net::TcpSocket> TcpRequestResponse::connect(Session& session, std::uint16_t port) {
  kernel::Machine& machine = from_.machine;
  auto socket = machine.system_call([&] {
    auto opened = machine.stack().tcp().open();
    if (options_.no_delay) opened->set_no_delay(true);
    return opened;
  });
  const net::SocketStatus status = machine.system_call([&] {
    return socket->connect({to_.address, port}, options_.window.end());
  });
  if (status == net::SocketStatus::ok) {
    ++session.connections;
    return socket;
  }
  machine.system_call([&] { socket.reset(); });
  return nullptr;
}

void TcpRequestResponse::ask(Session& session, std::uint16_t port) {
  kernel::Machine& machine = from_.machine;
  wait_until(machine, options_.window.origin);
  std::unique_ptr<net::TcpSocket> socket;
  while (present(machine) < options_.window.end()) {
    const core::Instant asked = present(machine);
    if (!socket) socket = connect(session, port);
    if (!socket || !ask_once(session, *socket)) break;
    if (options_.connect_each) machine.system_call([&] { socket.reset(); });
    const core::Instant now = present(machine);
    if (!options_.window.contains(now)) continue;
    ++session.window_transactions;
    latency_.record(now - asked);
  }
  machine.system_call([&] { socket.reset(); });
  attendance_.leave(present(machine));
}

bool TcpRequestResponse::ask_once(Session& session, net::TcpSocket& socket) {
  kernel::Machine& machine = from_.machine;
  const std::vector<std::uint8_t> request(options_.request_bytes);
  machine.cpu().charge(sched::Work::application);
  const auto sent =
      machine.system_call([&] { return socket.send(request, 0, false, options_.window.end()); });
  session.requests.sent_bytes += sent.length;
  if (sent.status != net::SocketStatus::ok) return false;
  ++session.requests.sent_packets;
  if (!receive_all(machine, socket, options_.response_bytes)) return false;
  ++session.responses.received_packets;
  session.responses.received_bytes += options_.response_bytes;
  return true;
}

// False: the peer has closed, or the time is up.
bool TcpRequestResponse::receive_all(kernel::Machine& machine, net::TcpSocket& socket,
                                     std::size_t bytes) {
  std::vector<std::uint8_t> buffer(bytes);
  for (std::size_t have = 0; have < bytes;) {
    const auto got = machine.system_call(
        [&] { return socket.receive(std::span(buffer).subspan(have), options_.window.end()); });
    if (got.status != net::SocketStatus::ok || got.length == 0) return false;
    have += got.length;
  }
  return true;
}

void TcpRequestResponse::answer(Session& session, std::uint16_t port) {
  kernel::Machine& machine = to_.machine;
  auto listener = machine.system_call([&] {
    auto opened = machine.stack().tcp().open();
    opened->bind({to_.address, port});
    opened->listen(16);
    return opened;
  });
  while (present(machine) < options_.window.end()) {
    auto socket = machine.system_call([&] { return listener->accept(options_.window.end()); });
    if (!socket) break;
    if (options_.no_delay) machine.system_call([&] { socket->set_no_delay(true); });
    serve(session, *socket);
    machine.system_call([&] { socket.reset(); });
  }
  machine.system_call([&] { listener.reset(); });
  attendance_.leave(present(machine));
}

void TcpRequestResponse::serve(Session& session, net::TcpSocket& socket) {
  kernel::Machine& machine = to_.machine;
  const std::vector<std::uint8_t> response(options_.response_bytes);
  while (receive_all(machine, socket, options_.request_bytes)) {
    ++session.requests.received_packets;
    session.requests.received_bytes += options_.request_bytes;
    machine.cpu().charge(sched::Work::application);
    const auto sent =
        machine.system_call([&] { return socket.send(response, 0, false, options_.window.end()); });
    session.responses.sent_bytes += sent.length;
    if (sent.status != net::SocketStatus::ok) return;
    ++session.responses.sent_packets;
  }
}

Outcome TcpRequestResponse::outcome() const {
  Outcome outcome;
  outcome.window = options_.window.passed(from_.machine.world().timeline().now());
  outcome.transactions = 0;
  outcome.connections = 0;
  for (const Session& session : sessions_) {
    outcome.flows.push_back(session.requests);
    outcome.flows.push_back(session.responses);
    *outcome.transactions += session.window_transactions;
    *outcome.connections += session.connections;
  }
  outcome.window_packets = *outcome.transactions;
  outcome.window_bytes = *outcome.transactions * (options_.request_bytes + options_.response_bytes);
  outcome.latency = latency_;
  outcome.finished_at = attendance_.last();
  return outcome;
}

}  // namespace tapestry::workloads
