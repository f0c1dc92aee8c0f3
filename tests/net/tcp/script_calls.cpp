// What the process of a script does, and what it can look at.
#include <sstream>
#include <utility>

#include "sched/guards.hpp"
#include "tests/net/tcp/script.hpp"

namespace tapestry::tests {

using script::kListenPort;
using script::kPeerPort;
using script::number;
using script::trimmed;

namespace {

std::string status_name(net::SocketStatus status) {
  switch (status) {
    case net::SocketStatus::ok:
      return "ok";
    case net::SocketStatus::would_block:
      return "would_block";
    case net::SocketStatus::timed_out:
      return "timed_out";
    case net::SocketStatus::unreachable:
      return "unreachable";
    case net::SocketStatus::refused:
      return "refused";
    case net::SocketStatus::reset:
      return "reset";
    case net::SocketStatus::broken_pipe:
      return "broken_pipe";
    case net::SocketStatus::not_connected:
      return "not_connected";
    default:
      return "other";
  }
}

}  // namespace

std::string Script::figure(const std::string& name) const {
  if (name == "state")
    return socket_ ? std::string(net::tcp::state_name(socket_->info().state)) : "CLOSE";
  const net::Tcp::Figures& all = machine.stack.tcp().figures();
  const auto& info = socket_ ? socket_->info() : net::TcpSocket::Info{};
  const std::vector<std::pair<std::string, std::uint64_t>> values = {
      {"cwnd", info.snd_cwnd},
      {"ssthresh", info.snd_ssthresh},
      {"mss", info.snd_mss},
      {"rto_ms", static_cast<std::uint64_t>(info.rto_us / 1000)},
      {"retrans", info.total_retrans},
      {"timeouts", all.timeouts},
      {"probes", all.loss_probes},
      {"challenges", all.challenge_acks},
      {"delayed", all.delayed_acks},
      {"established", all.curr_estab},
      {"corked", all.auto_corking},
      {"in_errs", all.in_csum_errors},
      {"paws", all.paws_estab},
      {"overflows", all.listen_overflows},
      {"connections", machine.stack.tcp().connections()},
      {"received", info.bytes_received},
      {"acked", info.bytes_acked},
      {"sack_recovery", all.sack_recovery},
      {"reordered", all.sack_reorder},
      {"lost_retransmit", all.lost_retransmit},
      {"full_undo", all.full_undo},
      {"partial_undo", all.partial_undo},
      {"dsack_undo", all.dsack_undo},
      {"loss_undo", all.loss_undo},
  };
  for (const auto& [known, value] : values) {
    if (known == name) return std::to_string(value);
  }
  return "no such figure";
}

std::string Script::do_call(const std::string& word, const std::string& argument) {
  net::Tcp& tcp = machine.stack.tcp();
  const core::Instant now = world.timeline.now();
  if (word == "connect") {
    socket_ = tcp.open();
    if (options_.receive_buffer != 0) socket_->set_receive_buffer(options_.receive_buffer);
    if (options_.send_buffer != 0) socket_->set_send_buffer(options_.send_buffer);
    return status_name(socket_->connect({NetMachine::address(2), kPeerPort}));
  }
  if (word == "listen") {
    listener_ = tcp.open();
    if (options_.receive_buffer != 0) listener_->set_receive_buffer(options_.receive_buffer);
    const bool bound = listener_->bind({{}, kListenPort}) == net::SocketStatus::ok;
    const std::string backlog = argument.empty() ? "10" : argument;
    return bound ? status_name(listener_->listen(static_cast<int>(number(backlog)))) : "not bound";
  }
  if (word == "accept") {
    socket_ = listener_->accept(now + core::Nanos{1});
    return socket_ ? "ok" : "none";
  }
  if (word == "unlisten") {
    listener_.reset();
    return "ok";
  }
  if (!socket_) return "no socket";
  if (word == "write" || word == "try_write") {
    const auto sent = socket_->send(pattern(number(argument)), 1, word == "try_write");
    return sent.status == net::SocketStatus::ok ? std::to_string(sent.length)
                                                : status_name(sent.status);
  }
  if (word == "read" || word == "wait_read") {
    std::vector<std::uint8_t> buffer(number(argument));
    const auto got = socket_->receive(buffer, word == "read" ? now : core::kNever);
    return got.status == net::SocketStatus::ok ? std::to_string(got.length)
                                               : status_name(got.status);
  }
  if (word == "close") {
    socket_.reset();
    return "ok";
  }
  if (word == "shutdown") socket_->shutdown_send();
  if (word == "cork") socket_->set_cork(argument == "on");
  if (word == "nodelay") socket_->set_no_delay(argument == "on");
  if (word == "quickack") socket_->set_quick_ack(argument == "on");
  if (word == "reno") socket_->set_congestion_control(net::CongestionControl::reno);
  if (word == "complete") {
    machine.driver.complete(number(argument));
    const sched::BottomHalvesOff softirqs(machine.machine.cpu());
  }
  return "ok";
}

void Script::call(const Line& line) {
  const std::size_t equals = line.text.find('=');
  const std::string wanted =
      equals == std::string::npos ? "" : trimmed(line.text.substr(equals + 1));
  std::istringstream words(line.text.substr(0, equals));
  std::string word, argument;
  words >> word >> argument;
  const std::string as_figure = figure(word);
  const std::string got = as_figure != "no such figure" ? as_figure : do_call(word, argument);
  if (wanted.empty()) return;
  INFO("line " << line.number << ": " << line.text << "\n" << story());
  CHECK(got == wanted);
}

}  // namespace tapestry::tests
