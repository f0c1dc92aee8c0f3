// A driver between a machine with a protocol stack and a port whose far side is a script.
//
//     Bench bench(mode, kRaw);
//     auto& driver = bench.vector({.depth = 16});
//     bench.process([&] { bench.send(1, 10); });
//     bench.world.run();
//     CHECK(bench.calls() == "10:10");
//
// Frames that the driver hands up are delivered at the device; `received` has their numbers.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/charged/packet_io.hpp"
#include "net/stack.hpp"
#include "net/tx_queue.hpp"
#include "sched/guards.hpp"
#include "tests/support/fake_port.hpp"
#include "tests/support/frames.hpp"
#include "tests/support/net_world.hpp"
#include "tests/support/world.hpp"
#include "transports/legacy_tap/legacy_tap.hpp"
#include "transports/vector/vector.hpp"

namespace tapestry::tests {

using Behaviour = transports::VectorOptions::Behaviour;
using Numbers = std::vector<std::uint32_t>;

inline constexpr host::IoCapabilities kLegacy{};
inline constexpr host::IoCapabilities kTap{
    .vnet_header = true, .transmit_checksum = true, .transmit_segmentation = true};
inline constexpr host::IoCapabilities kHybrid{.multi_receive = true,
                                              .vnet_header = true,
                                              .transmit_checksum = true,
                                              .transmit_segmentation = true};
inline constexpr host::IoCapabilities kRaw{.multi_send = true,
                                           .multi_receive = true,
                                           .vnet_header = true,
                                           .transmit_checksum = true,
                                           .transmit_segmentation = true};

inline Numbers from_to(std::uint32_t first, std::uint32_t last) {
  Numbers numbers;
  for (; first <= last; ++first)
    numbers.push_back(first);
  return numbers;
}

struct BenchOptions {
  host::IoCapabilities port = kRaw;
  int hz = 1000;
  bool can_mask = false;           // as in UML
  bool byte_queue_limits = false;  // which begin at nothing, and so break up every train
  std::size_t cpus = 1;
  std::size_t tx_queues = 1;
  sched::CostTable costs = net_costs();
};

class Bench {
 public:
  static constexpr std::int64_t kOpeningNs = 50'000;

  explicit Bench(sched::SettleMode mode, BenchOptions options = {})
      : world(mode, std::move(options.costs)),
        machine(world.add_machine({.cpus = options.cpus,
                                   .hz = options.hz,
                                   .controller = {.can_mask = options.can_mask}})),
        copies(world.make<CopyCharger>(machine.scheduler)),
        stack(world.make<net::Stack>(
            net::StackEnvironment{machine.scheduler, machine.softirqs, machine.jiffies,
                                  machine.napi, world.packets, copies, machine.tasklets},
            net::StackOptions{})),
        device(stack.add_device({.name = "vec0",
                                 .mac = net::MacAddress::local(1),
                                 .tx_queues = options.tx_queues,
                                 .byte_queue_limits = options.byte_queue_limits})),
        fake(world.make<FakePort>(world.timeline, options.port)),
        port(world.make<host::charged::PacketIo>(fake, machine.scheduler, machine.scheduler)) {
    device.set_receive_handler([this](core::PacketPtr frame) {
      received.push_back(number_of(*frame));
      lengths.push_back(frame->length());
      core::deliver(std::move(frame));
      return core::PacketPtr();
    });
  }

  transports::DriverEnvironment environment() {
    return {device,       stack.allocator(), machine.interrupts,
            machine.napi, machine.tasklets,  machine.jiffies};
  }
  transports::Vector& vector(transports::VectorOptions options = {}) {
    auto& driver = world.make<transports::Vector>(environment(), port, options);
    device.set_driver(driver);
    return driver;
  }
  transports::LegacyTap& legacy() {
    auto& driver = world.make<transports::LegacyTap>(environment(), port);
    device.set_driver(driver);
    return driver;
  }

  // Opens the device, lets it have its first look, then runs the body, in a process.
  void process(std::function<void()> body) {
    machine.spawn("process", [this, body = std::move(body)] {
      machine.cpu().enter_kernel();
      device.open();
      sleep_until(world.now_ns() + kOpeningNs);
      body();
      machine.cpu().leave_kernel();
    });
  }
  void sleep_until(std::int64_t instant_ns) {
    machine.scheduler.sleep_until(core::kStart + core::Nanos{instant_ns});
    machine.cpu().settle();
  }

  // What the stack does for a driver, without its queueing discipline: a train of frames, each but
  // the last with the promise of more.
  void send(std::uint32_t first, std::uint32_t count, std::size_t length = 60,
            bool promise_behind = false) {
    for (std::uint32_t i = 0; i < count; ++i)
      send_one(make_frame(world.packets, first + i, length), i + 1 < count || promise_behind);
  }
  net::Transmit send_one(core::PacketPtr frame, bool more = false) {
    machine.cpu().settle();
    const sched::BottomHalvesOff exclude(machine.cpu());
    frame->more = more;
    const std::size_t bytes = frame->length();
    const net::Transmit answer = device.driver().transmit(frame, device.queue());
    machine.cpu().settle();
    net::DeviceFigures& figures = device.figures();
    if (answer == net::Transmit::ok) {
      ++figures.tx_packets;
      figures.tx_bytes += bytes;
    } else {
      ++figures.tx_dropped;
    }
    return answer;
  }

  void arrive(std::uint32_t first, std::uint32_t count, std::size_t length = 60) {
    for (std::uint32_t i = 0; i < count; ++i)
      fake.arrive(make_frame(world.packets, first + i, length));
  }
  void arrive_at(std::int64_t instant_ns, std::uint32_t first, std::uint32_t count,
                 std::size_t length = 60) {
    world.at(instant_ns, [=, this] { arrive(first, count, length); });
  }

  // All send calls, offered and taken: "10:4 6:again 6:6".
  std::string calls() const {
    std::string text;
    for (const FakePort::SendCall& call : fake.send_calls()) {
      text += (text.empty() ? "" : " ") + std::to_string(call.offered) + ":";
      text += call.result.status == host::IoStatus::ok ? std::to_string(call.result.count)
                                                       : name_of(call.result.status);
    }
    return text;
  }
  Numbers sent() const {
    Numbers numbers;
    for (std::size_t i = 0; i < fake.sent().size(); ++i)
      numbers.push_back(fake.sent_number(i));
    return numbers;
  }
  std::uint64_t drops(core::DropReason reason) const {
    return world.packets.ledger().dropped(reason).packets;
  }
  static std::string name_of(host::IoStatus status) {
    static const char* const kNames[] = {"ok", "again", "nobufs", "closed", "failed"};
    return kNames[static_cast<std::size_t>(status)];
  }

  World world;
  TestMachine& machine;
  CopyCharger& copies;
  net::Stack& stack;
  net::Device& device;
  FakePort& fake;
  host::charged::PacketIo& port;
  Numbers received;
  std::vector<std::size_t> lengths;
};

// What the polls of a device received: "64 64 0".
class PollLog {
 public:
  explicit PollLog(TestMachine& machine)
      : handle_(machine.napi.on_poll.watch(
            [this](const irq::Napi& napi, const sched::Cpu&, int work, int) {
              if (napi.name() == "vec0") text += (text.empty() ? "" : " ") + std::to_string(work);
            })) {}
  std::string text;

 private:
  core::ProbeHandle handle_;
};

}  // namespace tapestry::tests
