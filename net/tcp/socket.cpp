// The sockets: a face over a connection or a listener.
#include <algorithm>
#include <utility>

#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/listener.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net {

using tcp::Connection;
using tcp::Listener;

TcpSocket::TcpSocket(Tcp& tcp, Connection& connection) : tcp_(tcp), connection_(&connection) {
  connection_->owned_by_socket = true;
}

TcpSocket::~TcpSocket() {
  // A world that ends unwinds its threads: nothing more is sent then.
  const bool ends = tcp_.stack().scheduler().hub().cancelling();
  if (bound_) tcp_.unbind(*this);
  if (listener_ != nullptr) tcp_.close_listener(*listener_);
  if (connection_ != nullptr) {
    if (!ends) connection_->close();
    connection_->owned_by_socket = false;
    connection_->let_go();
  }
}

void Tcp::unbind(TcpSocket& socket) {
  TcpSocket** at = &bound_;
  while (*at != &socket)
    at = &(*at)->next_bound_;
  *at = socket.next_bound_;
  socket.bound_.reset();
}

SocketStatus TcpSocket::bind(Endpoint local) {
  tcp_.stack().cpu().settle();
  TAPESTRY_ASSERT(!bound_ && connection_ == nullptr, "a socket is bound once");
  if (!local.address.is_any() && !tcp_.stack().is_local(local.address))
    return SocketStatus::unreachable;
  if (local.port == 0) {
    const auto port = tcp_.ephemeral_port(local.address, std::nullopt);
    if (!port) return SocketStatus::in_use;
    local.port = *port;
  } else if (tcp_.is_bound(local)) {
    return SocketStatus::in_use;
  }
  bound_ = local;
  next_bound_ = std::exchange(tcp_.bound_, this);
  return SocketStatus::ok;
}

SocketStatus TcpSocket::listen(int backlog) {
  tcp_.stack().cpu().settle();
  TAPESTRY_ASSERT(connection_ == nullptr, "a connected socket does not listen");
  if (!bound_) {
    const SocketStatus status = bind({});
    if (status != SocketStatus::ok) return status;
  }
  if (listener_ == nullptr) {
    tcp_.listeners_.push_back(std::make_unique<Listener>());
    listener_ = tcp_.listeners_.back().get();
    listener_->local = *bound_;
  }
  listener_->receive_buffer = settings_.receive_buffer;
  listener_->send_buffer = settings_.send_buffer;
  listener_->backlog = static_cast<std::size_t>(std::clamp(backlog, 0, 4096));  // somaxconn
  return SocketStatus::ok;
}

SocketStatus TcpSocket::connect(Endpoint remote, core::Instant deadline) {
  Stack& stack = tcp_.stack();
  stack.cpu().settle();
  TAPESTRY_ASSERT(connection_ == nullptr && listener_ == nullptr, "a socket is connected once");
  const std::optional<Route> route = stack.route(remote.address);
  if (!route || route->broadcast) return SocketStatus::unreachable;
  if (tcp_.connections() >= tcp_.options().connections_max) return SocketStatus::no_buffers;
  Endpoint local = bound_.value_or(Endpoint{});
  if (local.address.is_any()) local.address = route->source;
  if (local.port == 0) {
    const auto port = tcp_.ephemeral_port(local.address, remote);
    if (!port) return SocketStatus::in_use;
    local.port = *port;
  } else if (tcp_.look_up(local, remote) != nullptr) {
    return SocketStatus::in_use;
  }
  connection_ = new Connection(tcp_, local, remote, *route);
  connection_->hold();
  connection_->owned_by_socket = true;
  tcp_.link(*connection_);
  apply_settings();
  return connection_->connect(deadline);
}

std::unique_ptr<TcpSocket> TcpSocket::accept(core::Instant deadline) {
  TAPESTRY_ASSERT(listener_ != nullptr, "a socket that accepts listens");
  Stack& stack = tcp_.stack();
  stack.cpu().charge(sched::Work::socket_call);
  stack.cpu().settle();
  Listener& listener = *listener_;
  if (listener.ready.empty()) {
    if (deadline <= stack.timeline().now()) return nullptr;
    (void)listener.acceptors.wait_until(stack.scheduler(), deadline, [&listener] {
      return !listener.ready.empty() || listener.closed;
    });
    if (listener.ready.empty()) return nullptr;
  }
  Connection& connection = *listener.ready.front();
  listener.ready.pop_front();
  connection.listener_gone();
  std::unique_ptr<TcpSocket> socket(new TcpSocket(tcp_, connection));
  socket->settings_ = settings_;
  socket->apply_settings();
  return socket;
}

// Connections that nobody has accepted are reset.
void Tcp::close_listener(Listener& listener) {
  listener.closed = true;
  const bool ends = stack_.scheduler().hub().cancelling();
  while (!listener.ready.empty()) {
    Connection& connection = *listener.ready.front();
    listener.ready.pop_front();
    connection.listener_gone();
    if (!ends) connection.reset_unaccepted();
    connection.let_go();
  }
  while (!listener.being_set_up.empty()) {
    Connection& connection = *listener.being_set_up.front();
    listener.being_set_up.pop_front();
    connection.hold();
    connection.listener_gone();
    if (!ends) connection.reset_unaccepted();
    connection.let_go();
  }
  std::erase_if(listeners_, [&listener](const auto& one) { return one.get() == &listener; });
}

void TcpSocket::apply_settings() {
  if (connection_ == nullptr) return;
  if (settings_.receive_buffer != 0) connection_->set_receive_buffer(settings_.receive_buffer);
  if (settings_.send_buffer != 0) connection_->set_send_buffer(settings_.send_buffer);
  if (settings_.congestion_control)
    connection_->set_congestion_control(*settings_.congestion_control);
  if (settings_.no_delay) connection_->set_no_delay(true);
  if (settings_.cork) connection_->set_cork(true);
}

// --- what a connection does ----------------------------------------------------------------------

TcpSocket::Sent TcpSocket::send(std::span<const std::uint8_t> bytes, std::uint32_t flow,
                                bool nonblocking, core::Instant deadline) {
  if (connection_ == nullptr) return {SocketStatus::not_connected, 0};
  const tcp::SendResult sent = connection_->send(bytes, flow, nonblocking, deadline);
  return {sent.status, sent.length};
}

TcpSocket::Received TcpSocket::receive(std::span<std::uint8_t> buffer, core::Instant deadline) {
  if (connection_ == nullptr) return {.status = SocketStatus::not_connected};
  const tcp::ReceiveResult got = connection_->receive(buffer, deadline);
  return {got.status, got.length, got.born, got.stamp};
}

void TcpSocket::shutdown_send() {
  if (connection_ != nullptr) connection_->shutdown_send();
}

bool TcpSocket::readable() const {
  if (listener_ != nullptr) return !listener_->ready.empty();
  return connection_ != nullptr && connection_->readable();
}

bool TcpSocket::wait_readable(core::Instant deadline) {
  if (listener_ == nullptr) return connection_ != nullptr && connection_->wait_readable(deadline);
  Stack& stack = tcp_.stack();
  stack.cpu().settle();
  if (readable()) return true;
  if (deadline <= stack.timeline().now()) return false;
  return listener_->acceptors.wait_until(stack.scheduler(), deadline,
                                         [this] { return readable(); });
}

bool TcpSocket::wait_writable(core::Instant deadline) {
  return connection_ != nullptr && connection_->wait_writable(deadline);
}

void TcpSocket::set_no_delay(bool on) {
  settings_.no_delay = on;
  if (connection_ != nullptr) connection_->set_no_delay(on);
}

void TcpSocket::set_cork(bool on) {
  settings_.cork = on;
  if (connection_ != nullptr) connection_->set_cork(on);
}

void TcpSocket::set_quick_ack(bool on) {
  if (connection_ != nullptr) connection_->set_quick_ack(on);
}

void TcpSocket::set_receive_buffer(std::uint32_t bytes) {
  settings_.receive_buffer = bytes;
  if (listener_ != nullptr) listener_->receive_buffer = bytes;
  if (connection_ != nullptr) connection_->set_receive_buffer(bytes);
}

void TcpSocket::set_send_buffer(std::uint32_t bytes) {
  settings_.send_buffer = bytes;
  if (listener_ != nullptr) listener_->send_buffer = bytes;
  if (connection_ != nullptr) connection_->set_send_buffer(bytes);
}

void TcpSocket::set_congestion_control(CongestionControl which) {
  settings_.congestion_control = which;
  if (connection_ != nullptr) connection_->set_congestion_control(which);
}

Endpoint TcpSocket::local() const {
  return connection_ != nullptr ? connection_->local() : bound_.value_or(Endpoint{});
}

Endpoint TcpSocket::remote() const {
  return connection_ != nullptr ? connection_->remote() : Endpoint{};
}

const TcpSocket::Info& TcpSocket::info() const {
  if (connection_ != nullptr) info_ = connection_->info();
  if (listener_ != nullptr) info_.state = tcp::State::listen;
  return info_;
}

}  // namespace tapestry::net
