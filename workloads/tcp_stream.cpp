#include "workloads/tcp_stream.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tapestry::workloads {

namespace {

constexpr int kSendsInARow = 10;  // iperf3's multisend

std::vector<std::uint8_t> numbered(std::size_t length) {
  std::vector<std::uint8_t> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

}  // namespace

TcpStream::TcpStream(Place client, Place server, TcpStreamOptions options)
    : client_(client), server_(server), options_(options) {}

void TcpStream::start(core::Instant origin) {
  started_ = true;
  options_.window.origin = origin;
  for (int i = 0; i < options_.sessions; ++i) {
    Session& session = sessions_.emplace_back();
    session.flow.name = "tcp-stream/" + std::to_string(i);
    session.last_progress = options_.window.begin();
    const auto port = static_cast<std::uint16_t>(options_.first_port + i);
    attendance_.enter();
    attendance_.enter();
    server_.machine.scheduler().spawn(
        {.name = "netserver/" + std::to_string(i), .affinity = server_.affinity()},
        [this, &session, port] { be_server(session, port); });
    client_.machine.scheduler().spawn(
        {.name = "netperf/" + std::to_string(i), .affinity = client_.affinity()},
        [this, &session, port] { be_client(session, port); });
  }
}

void TcpStream::be_client(Session& session, std::uint16_t port) {
  kernel::Machine& machine = client_.machine;
  wait_until(machine, options_.window.origin);
  auto socket = machine.system_call([&] { return machine.stack().tcp().open(); });
  const net::SocketStatus status = machine.system_call([&] {
    return socket->connect({server_.address, port}, options_.window.end());
  });
  if (status == net::SocketStatus::ok) {
    session.connected = true;
    transfer(machine, session, *socket, options_.direction == TcpDirection::transmit);
  }
  machine.system_call([&] { socket.reset(); });
  attendance_.leave(present(machine));
}

void TcpStream::be_server(Session& session, std::uint16_t port) {
  kernel::Machine& machine = server_.machine;
  auto listener = machine.system_call([&] {
    auto opened = machine.stack().tcp().open();
    opened->bind({server_.address, port});
    opened->listen(1);
    return opened;
  });
  auto socket = machine.system_call([&] { return listener->accept(options_.window.end()); });
  if (socket) transfer(machine, session, *socket, options_.direction == TcpDirection::receive);
  machine.system_call([&] {
    socket.reset();
    listener.reset();
  });
  attendance_.leave(present(machine));
}

void TcpStream::transfer(kernel::Machine& machine, Session& session, net::TcpSocket& socket,
                         bool sends) {
  if (options_.no_delay) machine.system_call([&] { socket.set_no_delay(true); });
  const bool selects = options_.program == TcpProgram::iperf3;
  if (sends) {
    selects ? send_selecting(machine, session, socket) : send(machine, session, socket);
    finish_sending(machine, socket);
  } else {
    selects ? receive_selecting(machine, session, socket) : receive(machine, session, socket);
  }
}

void TcpStream::send(kernel::Machine& machine, Session& session, net::TcpSocket& socket) {
  const std::vector<std::uint8_t> message = numbered(options_.send_bytes);
  while (present(machine) < options_.window.end()) {
    machine.cpu().charge(sched::Work::application);
    const auto sent =
        machine.system_call([&] { return socket.send(message, 0, false, options_.window.end()); });
    session.flow.sent_packets += sent.length > 0 ? 1 : 0;
    session.flow.sent_bytes += sent.length;
    if (sent.status != net::SocketStatus::ok) break;
  }
}

void TcpStream::send_selecting(kernel::Machine& machine, Session& session, net::TcpSocket& socket) {
  const std::vector<std::uint8_t> message = numbered(options_.send_bytes);
  while (present(machine) < options_.window.end()) {
    machine.read_clock();
    machine.system_call([&] {
      machine.cpu().charge(sched::Work::socket_call);
      socket.wait_writable(options_.window.end());
    });
    for (int i = 0; i < kSendsInARow; ++i) {
      machine.cpu().charge(sched::Work::application);
      const auto sent = machine.system_call(
          [&] { return socket.send(message, 0, false, options_.window.end()); });
      session.flow.sent_packets += sent.length > 0 ? 1 : 0;
      session.flow.sent_bytes += sent.length;
      if (sent.status != net::SocketStatus::ok) return;
    }
    machine.read_clock();
  }
}

void TcpStream::receive(kernel::Machine& machine, Session& session, net::TcpSocket& socket) {
  std::vector<std::uint8_t> buffer(options_.receive_bytes);
  for (;;) {
    const auto got = machine.system_call([&] { return socket.receive(buffer, given_up()); });
    machine.cpu().charge(sched::Work::application);
    const core::Instant now = present(machine);
    if (got.status != net::SocketStatus::ok || got.length == 0) break;
    take(session, got.length, now);
  }
}

void TcpStream::receive_selecting(kernel::Machine& machine, Session& session,
                                  net::TcpSocket& socket) {
  std::vector<std::uint8_t> buffer(options_.receive_bytes);
  for (;;) {
    machine.read_clock();
    machine.system_call([&] {
      machine.cpu().charge(sched::Work::socket_call);
      socket.wait_readable(given_up());
    });
    for (std::size_t have = 0; have < buffer.size();) {
      const auto got = machine.system_call(
          [&] { return socket.receive(std::span(buffer).subspan(have), given_up()); });
      machine.cpu().charge(sched::Work::application);
      const core::Instant now = present(machine);
      if (got.status != net::SocketStatus::ok || got.length == 0) return;
      have += got.length;
      take(session, got.length, now);
    }
    machine.read_clock();
  }
}

void TcpStream::take(Session& session, std::size_t length, core::Instant now) {
  ++session.flow.received_packets;
  session.flow.received_bytes += length;
  if (!options_.window.contains(now)) return;
  ++session.window_packets;
  session.window_bytes += length;
  note_progress(session, now);
}

// Until the receiver has closed, too.
void TcpStream::finish_sending(kernel::Machine& machine, net::TcpSocket& socket) {
  std::uint8_t byte = 0;
  machine.system_call([&] { socket.shutdown_send(); });
  machine.system_call([&] { return socket.receive({&byte, 1}, given_up()); });
}

void TcpStream::note_progress(Session& session, core::Instant now) {
  session.longest_silence = std::max(session.longest_silence, now - session.last_progress);
  session.last_progress = now;
}

Outcome TcpStream::outcome() const {
  Outcome outcome;
  const core::Instant now = client_.machine.world().timeline().now();
  outcome.window = options_.window.passed(now);
  outcome.connections = 0;
  core::Nanos longest{0};
  for (const Session& session : sessions_) {
    outcome.flows.push_back(session.flow);
    outcome.window_packets += session.window_packets;
    outcome.window_bytes += session.window_bytes;
    *outcome.connections += session.connected ? 1 : 0;
    longest = std::max({longest, session.longest_silence,
                        std::min(options_.window.end(), now) - session.last_progress});
  }
  outcome.longest_silence = longest;
  outcome.finished_at = attendance_.last();
  return outcome;
}

}  // namespace tapestry::workloads
