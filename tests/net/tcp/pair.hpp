// Two machines that speak TCP over a wire with a rate, a delay, and seeded accidents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/random.hpp"
#include "net/tcp/tcp.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests {

struct WireOptions {
  std::int64_t delay_ns = 50'000;
  std::int64_t ns_per_byte_1000 = 800;  // thousandths: 0.8 ns a byte is 10 Gbit/s
  std::uint64_t loss = 0, duplication = 0, reordering = 0;  // parts per billion
  std::int64_t queue_ns = 2'000'000;                        // what may wait; more is lost
};

class RoughWire {
 public:
  RoughWire(World& world, FakeDriver& from, FakeDriver& to, WireOptions options, const char* name)
      : world_(world), to_(to), options_(options), chance_(world.seed, name) {
    from.to_wire = [this](const core::Packet& packet) { carry(packet); };
  }

  std::uint64_t lost = 0, bytes = 0;
  std::function<bool(const core::Packet&)> passes;

 private:
  void carry(const core::Packet& packet) {
    const std::int64_t now = world_.now_ns();
    const auto length = static_cast<std::int64_t>(packet.length());
    free_at_ = std::max(free_at_, now) + length * options_.ns_per_byte_1000 / 1000;
    const bool full = free_at_ - now > options_.queue_ns;
    const bool refused = passes && !passes(packet);
    core::PacketPtr frame = packet.clone();
    if (frame->checksum == core::ChecksumState::none) {
    } else if (packet.gso_size == 0) {
      frame->checksum = core::ChecksumState::unnecessary;
    }
    if (full || refused || chance_.chance(options_.loss)) {
      ++lost;
      core::drop(std::move(frame), core::DropReason::link_loss);
      return;
    }
    bytes += packet.length();
    if (chance_.chance(options_.duplication)) arrive(packet.clone(), free_at_ + options_.delay_ns);
    std::int64_t late = 0;
    if (chance_.chance(options_.reordering))
      late = static_cast<std::int64_t>(chance_.uniform(200'000));
    arrive(std::move(frame), free_at_ + options_.delay_ns + late);
  }
  void arrive(core::PacketPtr frame, std::int64_t at) {
    if (frame->checksum == core::ChecksumState::partial)
      frame->checksum = core::ChecksumState::unnecessary;
    auto kept = std::make_shared<core::PacketPtr>(std::move(frame));
    world_.at(at, [this, kept] { to_.inject(std::move(*kept)); });
    held_.push_back(kept);
    if (held_.size() > 4096) std::erase_if(held_, [](const auto& one) { return !*one; });
  }

  World& world_;
  FakeDriver& to_;
  WireOptions options_;
  core::RandomStream chance_;
  std::int64_t free_at_ = 0;
  std::vector<std::shared_ptr<core::PacketPtr>> held_;

 public:
  ~RoughWire() {
    for (const auto& one : held_)
      if (*one) core::drop(std::move(*one), core::DropReason::run_end);
  }
};

struct TcpPairOptions {
  WireOptions wire{};
  net::TcpOptions tcp{};
  bool segmentation = true;
  std::size_t cpus = 1;
};

struct TcpPair {
  static net::StackOptions stack_of(const TcpPairOptions& options) {
    net::StackOptions stack;
    stack.tcp = options.tcp;
    return stack;
  }
  explicit TcpPair(World& of, TcpPairOptions options = {})
      : world(of),
        a(world.make<NetMachine>(world, 1u, TestMachineOptions{.cpus = options.cpus},
                                 stack_of(options))),
        b(world.make<NetMachine>(world, 2u, TestMachineOptions{.cpus = options.cpus},
                                 stack_of(options))),
        ab(world.make<RoughWire>(world, a.driver, b.driver, options.wire, "ab")),
        ba(world.make<RoughWire>(world, b.driver, a.driver, options.wire, "ba")) {
    a.stack.arp().add(a.device, b.own(), b.device.mac());
    b.stack.arp().add(b.device, a.own(), a.device.mac());
    for (NetMachine* machine : {&a, &b}) {
      machine->driver.offers.segmentation = options.segmentation;
      machine->driver.offers.transmit_checksum = options.segmentation;
      machine->driver.keep_bytes = false;
    }
  }

  World& world;
  NetMachine& a;
  NetMachine& b;
  RoughWire& ab;
  RoughWire& ba;
};

// A stream whose every byte says where it belongs.
inline std::uint8_t byte_at(std::uint64_t offset) {
  return static_cast<std::uint8_t>(offset ^ offset >> 8 ^ offset >> 17);
}

struct Transfer {
  std::uint64_t received = 0;
  bool in_order = true;
  std::int64_t began_ns = 0, ended_ns = 0;
  net::TcpSocket::Info sender, receiver;
};

// A process on `from` sends so many bytes in writes of `write` to one on `to`, then closes.
inline void transfer(NetMachine& from, NetMachine& to, std::uint64_t bytes, std::size_t write,
                     std::uint16_t port, Transfer& result) {
  to.process("receiver", [&to, port, &result] {
    const auto listener = to.stack.tcp().open();
    listener->bind({{}, port});
    listener->listen(4);
    const auto socket = listener->accept();
    REQUIRE(socket);
    std::vector<std::uint8_t> buffer(65'536);
    for (;;) {
      const auto got = socket->receive(buffer);
      if (got.status != net::SocketStatus::ok || got.length == 0) break;
      for (std::size_t i = 0; i < got.length; ++i)
        result.in_order &= buffer[i] == byte_at(result.received + i);
      result.received += got.length;
    }
    to.machine.cpu().settle();
    result.ended_ns = core::nanos_since_start(to.machine.scheduler.hub().timeline().now());
    result.receiver = socket->info();
  });
  from.process("sender", [&from, &to, bytes, write, port, &result] {
    const auto socket = from.stack.tcp().open();
    from.machine.scheduler.sleep_until(core::kStart + core::Nanos{1'000'000});
    result.began_ns = 1'000'000;
    const net::SocketStatus connected = socket->connect({to.own(), port});
    REQUIRE(connected == net::SocketStatus::ok);
    std::vector<std::uint8_t> buffer(write);
    for (std::uint64_t sent = 0; sent < bytes;) {
      const std::size_t length = std::min<std::uint64_t>(write, bytes - sent);
      for (std::size_t i = 0; i < length; ++i)
        buffer[i] = byte_at(sent + i);
      const auto done = socket->send(std::span(buffer).first(length), 1);
      if (done.status != net::SocketStatus::ok) break;
      sent += done.length;
    }
    result.sender = socket->info();
  });
}

}  // namespace tapestry::tests
