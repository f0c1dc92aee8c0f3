#include "tests/net/tcp/script.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "sched/guards.hpp"

namespace tapestry::tests {

namespace {

constexpr std::uint16_t kPeerPort = 8080;
constexpr std::uint16_t kListenPort = 80;
constexpr std::int64_t kTolerance = 1'000'000;  // a tick

net::StackOptions stack_of(const net::TcpOptions& tcp) {
  net::StackOptions options;
  options.tcp = tcp;
  return options;
}

std::string trimmed(std::string text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  const std::size_t last = text.find_last_not_of(" \t");
  return text.substr(first, last - first + 1);
}

std::string flags_of(const net::tcp::Header& header) {
  std::string flags;
  if (header.fin) flags += 'F';
  if (header.syn) flags += 'S';
  if (header.rst) flags += 'R';
  if (header.psh) flags += 'P';
  if (header.ack) flags += '.';
  return flags;
}

void take_flags(const std::string& flags, net::tcp::Header& header) {
  for (const char flag : flags) {
    if (flag == 'F') header.fin = true;
    if (flag == 'S') header.syn = true;
    if (flag == 'R') header.rst = true;
    if (flag == 'P') header.psh = true;
    if (flag == '.') header.ack = true;
  }
}

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoull(text.c_str(), nullptr, 10));
}

// "mss 1460,sackOK,TS val 1 ecr 2,wscale 7,sack 1:2 3:4"; sacks count from `base`.
void take_option(const std::string& text, net::tcp::Header& header, std::uint32_t base) {
  std::istringstream words(text);
  std::string word, value;
  words >> word;
  if (word == "mss") {
    words >> value;
    header.mss = static_cast<std::uint16_t>(number(value));
  } else if (word == "sackOK") {
    header.sack_permitted = true;
  } else if (word == "wscale") {
    words >> value;
    header.has_window_scale = true;
    header.window_scale = static_cast<std::uint8_t>(number(value));
  } else if (word == "TS") {
    header.has_timestamps = true;
    words >> word >> value;
    header.timestamp = number(value);
    words >> word >> value;
    header.timestamp_echo = number(value);
  } else if (word == "sack") {
    while (words >> value) {
      const std::size_t colon = value.find(':');
      header.sack[header.sacks++] = {{base + number(value.substr(0, colon))},
                                     {base + number(value.substr(colon + 1))}};
    }
  }
}

}  // namespace

Script::Script(ScriptOptions options)
    : options_(options),
      world(options_.mode, sched::CostTable::zero()),
      machine(world.make<NetMachine>(world, 1u, TestMachineOptions{}, stack_of(options_.tcp))),
      sockets_(world.make<Sockets>()),
      socket_(sockets_.connected),
      listener_(sockets_.listening) {
  machine.stack.arp().add(machine.device, NetMachine::address(2), net::MacAddress::local(2));
  machine.driver.offers.segmentation = options_.segmentation;
  machine.driver.offers.transmit_checksum = true;
  machine.driver.keep_bytes = false;
  machine.driver.frees_at_once = options_.frees_at_once;
  machine.driver.reports_completions = false;
  machine.driver.to_wire = [this](const core::Packet& packet) { record(packet); };
  machine.stack.tcp().force_initial_sequence(options_.iss);
}

// --- reading the script --------------------------------------------------------------------------

std::vector<Script::Line> Script::parse(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream input(text);
  std::string raw;
  std::int64_t now = 0;
  int line_number = 0;
  while (std::getline(input, raw)) {
    ++line_number;
    raw = trimmed(raw.substr(0, raw.find("//")));
    if (raw.empty()) continue;
    const std::size_t end = raw.find_first_of(" \t");
    const bool relative = raw[0] == '+';
    const double seconds = std::strtod(raw.c_str() + (relative ? 1 : 0), nullptr);
    const auto ns = static_cast<std::int64_t>(std::llround(seconds * 1e9));
    now = relative ? now + ns : ns;
    lines.push_back({now, trimmed(raw.substr(end)), line_number});
  }
  return lines;
}

// --- what the machine sends ----------------------------------------------------------------------

void Script::record(const core::Packet& packet) {
  const std::size_t ip = net::ethernet::kBytes;
  const std::vector<std::uint8_t> bytes = bytes_of(packet);
  if (core::load_be16(bytes.data() + net::ethernet::kType) != net::ethernet::kIpv4) return;
  const std::size_t start = ip + net::ipv4::kBytes;
  const std::size_t length = net::tcp::header_bytes(bytes.data() + start);
  Sent sent;
  sent.at_ns = world.now_ns();
  REQUIRE(net::tcp::parse({bytes.data() + start, length}, sent.header));
  sent.length = static_cast<std::uint32_t>(bytes.size() - start - length);
  sent.segments = std::max<std::uint32_t>(packet.gso_segments, 1);
  own_port_ = sent.header.source;
  sent_.push_back(sent);
}

// As the script would say it, with the fields that the line `like` has.
std::string Script::told(const Sent& sent, const std::string& like) const {
  const net::tcp::Header& header = sent.header;
  std::ostringstream text;
  const std::uint32_t first = header.sequence.value - options_.iss;
  text << "> " << flags_of(header) << ' ' << first << ':' << first + sent.length << '('
       << sent.length << ')';
  if (like.find(" ack ") != std::string::npos)
    text << " ack " << header.acknowledgement.value - options_.peer_iss;
  if (like.find(" win ") != std::string::npos) text << " win " << header.window;
  if (like.find(" segs ") != std::string::npos) text << " segs " << sent.segments;
  if (like.find('<') == std::string::npos) return text.str();
  text << " <";
  std::string comma;
  const auto put = [&](const std::string& option) {
    text << comma << option;
    comma = ",";
  };
  if (header.mss != 0) put("mss " + std::to_string(header.mss));
  if (header.sack_permitted) put("sackOK");
  if (header.has_timestamps) {
    const bool exact = like.find("TS val") != std::string::npos;
    put(exact ? "TS val " + std::to_string(header.timestamp) + " ecr " +
                    std::to_string(header.timestamp_echo)
              : "TS");
  }
  if (header.has_window_scale) put("wscale " + std::to_string(header.window_scale));
  std::string sacks;
  for (std::size_t i = 0; i < header.sacks; ++i) {
    sacks += ' ' + std::to_string(header.sack[i].first.value - options_.peer_iss) + ':' +
             std::to_string(header.sack[i].end.value - options_.peer_iss);
  }
  if (!sacks.empty()) put("sack" + sacks);
  text << '>';
  return text.str();
}

std::string Script::story() const {
  std::ostringstream text;
  for (const Sent& sent : sent_) {
    text << "  " << static_cast<double>(sent.at_ns) / 1e9 << "  " << told(sent, " ack  win  segs <")
         << '\n';
  }
  return text.str();
}

// --- what the peer sends -------------------------------------------------------------------------

void Script::inject(const Line& line) {
  std::istringstream words(line.text);
  std::string word, flags, range;
  words >> word >> flags >> range;
  net::tcp::Header header;
  take_flags(flags, header);
  const bool to_listener = listener_ != nullptr;
  header.source = kPeerPort;
  header.destination = to_listener ? kListenPort : own_port_;
  const std::size_t open = range.find('(');
  header.sequence = {options_.peer_iss + number(range.substr(0, range.find(':')))};
  const std::uint32_t length = number(range.substr(open + 1));
  header.window = 65535;
  std::uint32_t segments = 1;
  while (words >> word) {
    std::string value;
    if (word == "ack") {
      words >> value;
      header.acknowledgement = {options_.iss + number(value)};
    } else if (word == "win") {
      words >> value;
      header.window = static_cast<std::uint16_t>(number(value));
    } else if (word == "segs") {
      words >> value;
      segments = number(value);
    } else if (word[0] == '<') {
      std::string rest;
      std::getline(words, rest);
      std::string options = word.substr(1) + rest;
      options = options.substr(0, options.find('>'));
      std::istringstream list(options);
      std::string option;
      while (std::getline(list, option, ','))
        take_option(trimmed(option), header, options_.iss);
    }
  }
  core::PacketPtr frame = world.packets.allocate(core::Origin::host_copy);
  const std::size_t header_bytes = header.bytes();
  const std::size_t total = net::ipv4::kBytes + header_bytes + length;
  std::uint8_t* at = frame->put(net::ethernet::kBytes + net::ipv4::kBytes + header_bytes).data();
  const net::MacAddress to = machine.device.mac(), from = net::MacAddress::local(2);
  std::copy(to.bytes.begin(), to.bytes.end(), at);
  std::copy(from.bytes.begin(), from.bytes.end(), at + 6);
  core::store_be16(at + net::ethernet::kType, net::ethernet::kIpv4);
  std::uint8_t* ip = at + net::ethernet::kBytes;
  std::fill_n(ip, net::ipv4::kBytes, std::uint8_t{0});
  ip[0] = 0x45;
  core::store_be16(ip + net::ipv4::kTotalLength, static_cast<std::uint16_t>(total));
  core::store_be16(ip + net::ipv4::kTimeToLive, 64 << 8 | net::ipv4::kTcp);
  core::store_be32(ip + net::ipv4::kSource, NetMachine::address(2).value);
  core::store_be32(ip + net::ipv4::kDestination, machine.own().value);
  core::store_be16(ip + net::ipv4::kChecksum, core::internet_checksum({ip, net::ipv4::kBytes}));
  net::tcp::emit(header, {ip + net::ipv4::kBytes, header_bytes});
  if (length != 0) {
    core::PayloadRef payload = world.packets.allocate_payload(length);
    const auto bytes = pattern(length, header.sequence.value);
    std::copy(bytes.begin(), bytes.end(), payload.writable().begin());
    frame->append_payload(std::move(payload));
    frame->account(length);
  }
  if (segments > 1) {
    frame->gso_segments = static_cast<std::uint16_t>(segments);
    frame->gso_size = static_cast<std::uint16_t>((length + segments - 1) / segments);
  }
  if (options_.checksummed) frame->checksum = core::ChecksumState::unnecessary;
  machine.driver.inject(std::move(frame));
}

// --- calls ---------------------------------------------------------------------------------------

namespace {

std::string status_name(net::SocketStatus status) {
  switch (status) {
    case net::SocketStatus::ok:
      return "ok";
    case net::SocketStatus::would_block:
      return "would_block";
    case net::SocketStatus::timed_out:
      return "timed_out";
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

// --- playing -------------------------------------------------------------------------------------

void Script::play(const std::string& text) {
  const std::vector<Line> lines = parse(text);
  std::vector<Line> calls, expected;
  for (const Line& line : lines) {
    if (line.text[0] == '<')
      world.at(line.at_ns + 1000 * line.number, [this, line] { inject(line); });
    else if (line.text[0] == '>')
      expected.push_back(line);
    else
      calls.push_back(line);
  }
  machine.process("process", [this, calls] {
    for (const Line& line : calls) {
      const core::Instant at = core::kStart + core::Nanos{line.at_ns + 1000 * line.number};
      if (world.timeline.now() < at) machine.machine.scheduler.sleep_until(at);
      machine.machine.cpu().settle();
      call(line);
    }
    // Sockets stay open beyond the script.
    machine.machine.scheduler.sleep_until(core::kStart + core::Nanos{3'600'000'000'000});
  });
  world.run_until(lines.back().at_ns + 1'000'000);
  INFO("sent:\n" << story());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("line " << expected[i].number << ": " << expected[i].text);
    if (i >= sent_.size()) {
      FAIL_CHECK("never sent");
      break;
    }
    CHECK(told(sent_[i], expected[i].text) == expected[i].text);
    const std::int64_t off = sent_[i].at_ns - expected[i].at_ns;
    if (off < -kTolerance || off > kTolerance) FAIL_CHECK("sent " << off / 1000 << " us off");
  }
  CHECK(sent_.size() == expected.size());
  CHECK(ledger_is_closed(world));
}

}  // namespace tapestry::tests
