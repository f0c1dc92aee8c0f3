#include "tests/net/tcp/script.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"

namespace tapestry::tests {

using script::kListenPort;
using script::kPeerPort;
using script::number;
using script::trimmed;

namespace {

constexpr std::int64_t kTolerance = 1'000'000;  // a tick

net::StackOptions stack_of(const net::TcpOptions& tcp) {
  net::StackOptions options;
  options.tcp = tcp;
  return options;
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

namespace script {

std::string trimmed(std::string text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  const std::size_t last = text.find_last_not_of(" \t");
  return text.substr(first, last - first + 1);
}

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoull(text.c_str(), nullptr, 10));
}

}  // namespace script

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

// Flags, numbers, window and options of a line; how long its payload is, of how many segments.
net::tcp::Header Script::header_of(const Line& line, std::uint32_t& length,
                                   std::uint32_t& segments) const {
  std::istringstream words(line.text);
  std::string word, flags, range, value;
  words >> word >> flags >> range;
  net::tcp::Header header;
  take_flags(flags, header);
  header.source = kPeerPort;
  header.destination = listener_ != nullptr ? kListenPort : own_port_;
  header.sequence = {options_.peer_iss + number(range.substr(0, range.find(':')))};
  length = number(range.substr(range.find('(') + 1));
  header.window = 65535;
  while (words >> word) {
    if (word[0] == '<') {
      std::string rest;
      std::getline(words, rest);
      std::string options = word.substr(1) + rest;
      std::istringstream list(options.substr(0, options.find('>')));
      std::string option;
      while (std::getline(list, option, ','))
        take_option(trimmed(option), header, options_.iss);
      break;
    }
    words >> value;
    if (word == "ack") header.acknowledgement = {options_.iss + number(value)};
    if (word == "win") header.window = static_cast<std::uint16_t>(number(value));
    if (word == "segs") segments = number(value);
  }
  return header;
}

void Script::inject(const Line& line) {
  std::uint32_t length = 0, segments = 1;
  const net::tcp::Header header = header_of(line, length, segments);
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

// "< icmp 3 of 0": the quoted headers are as short as may be.
void Script::inject_error(const Line& line) {
  std::istringstream words(line.text);
  std::string word;
  unsigned code = 0;
  std::uint32_t sequence = 0;
  words >> word >> word >> code >> word >> sequence;
  core::PacketPtr frame = world.packets.allocate(core::Origin::host_copy);
  constexpr std::size_t kMessage = net::icmp::kBytes + net::ipv4::kBytes + 8;
  std::uint8_t* at = frame->put(net::ethernet::kBytes + net::ipv4::kBytes + kMessage).data();
  std::fill_n(at, net::ethernet::kBytes + net::ipv4::kBytes + kMessage, std::uint8_t{0});
  const net::MacAddress to = machine.device.mac(), from = net::MacAddress::local(2);
  std::copy(to.bytes.begin(), to.bytes.end(), at);
  std::copy(from.bytes.begin(), from.bytes.end(), at + 6);
  core::store_be16(at + net::ethernet::kType, net::ethernet::kIpv4);
  const auto put_ip = [](std::uint8_t* ip, std::size_t bytes, std::uint8_t protocol,
                         net::Ipv4Address source, net::Ipv4Address destination) {
    ip[0] = 0x45;
    core::store_be16(ip + net::ipv4::kTotalLength, static_cast<std::uint16_t>(bytes));
    core::store_be16(ip + net::ipv4::kTimeToLive, static_cast<std::uint16_t>(64 << 8 | protocol));
    core::store_be32(ip + net::ipv4::kSource, source.value);
    core::store_be32(ip + net::ipv4::kDestination, destination.value);
    core::store_be16(ip + net::ipv4::kChecksum, core::internet_checksum({ip, net::ipv4::kBytes}));
  };
  std::uint8_t* ip = at + net::ethernet::kBytes;
  const net::Ipv4Address peer = NetMachine::address(2), own = machine.own();
  put_ip(ip, net::ipv4::kBytes + kMessage, net::ipv4::kIcmp, peer, own);
  std::uint8_t* message = ip + net::ipv4::kBytes;
  message[net::icmp::kType] = net::icmp::kUnreachable;
  message[net::icmp::kCode] = static_cast<std::uint8_t>(code);
  std::uint8_t* quoted = message + net::icmp::kBytes;
  put_ip(quoted, 60, net::ipv4::kTcp, own, peer);
  core::store_be16(quoted + net::ipv4::kBytes, own_port_);
  core::store_be16(quoted + net::ipv4::kBytes + 2, script::kPeerPort);
  core::store_be32(quoted + net::ipv4::kBytes + 4, options_.iss + sequence);
  frame->checksum = core::ChecksumState::unnecessary;
  machine.driver.inject(std::move(frame));
}

// --- playing -------------------------------------------------------------------------------------

void Script::play(const std::string& text) {
  const std::vector<Line> lines = parse(text);
  std::vector<Line> calls, expected;
  for (const Line& line : lines) {
    if (line.text.starts_with("< icmp"))
      world.at(line.at_ns + 1000 * line.number, [this, line] { inject_error(line); });
    else if (line.text[0] == '<')
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
