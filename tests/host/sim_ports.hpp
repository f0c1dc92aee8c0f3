// The simulated host's ports and the scripted one, set up for the contract of packet ports.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "host/sim/hybrid_port.hpp"
#include "host/sim/packet_socket.hpp"
#include "host/sim/tap.hpp"
#include "sched/guards.hpp"
#include "tests/host/host_world.hpp"
#include "tests/host/port_contract.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/fake_port.hpp"

namespace tapestry::tests {

inline constexpr std::uint32_t kSmallBuffer = 10'000;  // bytes: a dozen small packets

class SimPortUnderTest : public PortUnderTest {
 public:
  explicit SimPortUnderTest(sched::SettleMode mode)
      : world(mode), host(world.make<HostMachine>(world)), device(host.add_device("dev")) {}

  core::PacketPool& pool() override { return world.packets; }
  void run(std::function<void()> driver) override {
    host.run([this, driver = std::move(driver)] {
      device.open();
      driver();
    });
  }

  World world;
  HostMachine& host;
  net::Device& device;
};

// What a tap's writer sends comes up in the host, which keeps it for a while if told to.
class TapUnderTest : public SimPortUnderTest {
 public:
  explicit TapUnderTest(sched::SettleMode mode = sched::SettleMode::seams,
                        bool inline_receive = true)
      : SimPortUnderTest(mode),
        tap(world.make<host::sim::Tap>(device,
                                       host::sim::TapOptions{.send_buffer_bytes = kSmallBuffer,
                                                             .receives_inline = inline_receive})),
        descriptor(tap.open_reader(false)) {
    device.set_receive_handler([this](core::PacketPtr packet) {
      numbers_.push_back(number_of(*packet));
      if (holds_)
        (void)held_.push(std::move(packet));
      else
        host.stack.allocator().free(std::move(packet));
      return core::PacketPtr();
    });
  }

  host::PacketIo& port() override { return *descriptor; }
  void arrive(core::PacketPtr frame) override { device.transmit(std::move(frame)); }
  void hold() override { holds_ = true; }
  void release() override {
    holds_ = false;
    while (core::PacketPtr packet = held_.pop())
      host.stack.allocator().free(std::move(packet));
    // What is still in the backlog comes through.
    host.machine.scheduler.sleep_until(host.now() + core::Nanos{1'000'000});
    host.cpu().settle();
  }
  std::vector<std::uint32_t> sent() const override { return numbers_; }

  host::sim::Tap& tap;
  std::unique_ptr<host::sim::TapDescriptor> descriptor;

 private:
  std::vector<std::uint32_t> numbers_;
  core::PacketQueue held_{1000};
  bool holds_ = false;
};

// A packet socket on a device with a queue.
class PacketSocketUnderTest : public SimPortUnderTest {
 public:
  explicit PacketSocketUnderTest(sched::SettleMode mode = sched::SettleMode::seams)
      : SimPortUnderTest(mode),
        driver(world.make<FakeDriver>(device, host.machine.interrupts)),
        socket(device, {.send_buffer_bytes = kSmallBuffer}) {
    driver.reports_completions = false;  // what it holds is in its ring, and not in the queue
  }

  host::PacketIo& port() override { return socket; }
  void arrive(core::PacketPtr frame) override {
    sched::BottomHalvesOff bottom_halves(host.cpu());
    device.receive(std::move(frame));
  }
  void hold() override { driver.frees_at_once = false; }
  void release() override {
    driver.frees_at_once = true;
    driver.complete(1000);
    host.cpu().settle();
  }
  std::vector<std::uint32_t> sent() const override {
    std::vector<std::uint32_t> numbers;
    for (const FakeDriver::Sent& frame : driver.sent)
      numbers.push_back(std::uint32_t{frame.bytes[16]} << 8 | frame.bytes[17]);
    return numbers;
  }

  FakeDriver& driver;
  host::sim::PacketSocket socket;
};

class HybridUnderTest final : public TapUnderTest {
 public:
  explicit HybridUnderTest(sched::SettleMode mode = sched::SettleMode::seams)
      : TapUnderTest(mode),
        socket(device, {.vnet_header = false, .ignored_source = net::MacAddress{kGuestMac}}),
        hybrid(socket, *descriptor) {}
  host::PacketIo& port() override { return hybrid; }

  host::sim::PacketSocket socket;
  host::sim::HybridPort hybrid;
};

class FakeUnderTest final : public PortUnderTest {
 public:
  explicit FakeUnderTest(host::IoCapabilities capabilities)
      : world_(sched::SettleMode::seams),
        machine_(world_.add_machine()),
        fake_(world_.timeline, capabilities) {}

  core::PacketPool& pool() override { return world_.packets; }
  host::PacketIo& port() override { return fake_; }
  void run(std::function<void()> driver) override {
    machine_.scheduler.spawn({.name = "driver", .kernel_thread = true}, std::move(driver));
    world_.run();
  }
  void arrive(core::PacketPtr frame) override { fake_.arrive(std::move(frame)); }
  void hold() override { fake_.would_block_for(core::Nanos{1'000'000}); }
  void release() override {
    machine_.scheduler.sleep_until(world_.timeline.now() + core::Nanos{1'000'000});
    machine_.cpu().settle();
  }
  std::vector<std::uint32_t> sent() const override {
    std::vector<std::uint32_t> numbers;
    for (std::size_t i = 0; i < fake_.sent().size(); ++i)
      numbers.push_back(fake_.sent_number(i));
    return numbers;
  }

 private:
  World world_;
  TestMachine& machine_;
  FakePort fake_;
};

}  // namespace tapestry::tests
