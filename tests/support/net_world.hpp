// Machines with a protocol stack and one device each, and a wire between two of them.
//
//     World world(mode, net_costs());
//     NetPair pair(world);              // 10.0.0.1 and 10.0.0.2
//     pair.a.process("sender", [&] { ... });
//     world.run();
//     CHECK(ledger_is_closed(world));
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/arp.hpp"
#include "net/icmp.hpp"
#include "net/ipv4.hpp"
#include "net/stack.hpp"
#include "net/udp.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests {

// Every kind of work has a cost of its own, from 31 ns, so that one charged twice or not at all
// shows in the instants.
inline sched::CostTable net_costs() {
  sched::CostTable costs = sched::CostTable::zero();
  for (std::size_t i = 0; i < sched::kWorkCount; ++i) {
    costs.set(static_cast<sched::Work>(i),
              sched::Cost{.fixed_ps = static_cast<std::int64_t>(31 + 7 * i) * 1000});
  }
  costs.set(sched::Work::copy, sched::Cost{.fixed_ps = 20'000, .per_byte_fs = 50'000});
  costs.set(sched::Work::checksum, sched::Cost{.fixed_ps = 10'000, .per_byte_fs = 100'000});
  return costs;
}

struct CopyCharger final : net::UserMemory {
  explicit CopyCharger(sched::Scheduler& of) : scheduler(of) {}
  void charge_copy(std::size_t bytes, core::CacheOwner from) override {
    scheduler.cpu().charge_cold_read(from, static_cast<std::int64_t>(bytes));
    scheduler.cpu().charge(sched::Work::copy, 1, static_cast<std::int64_t>(bytes));
  }
  sched::Scheduler& scheduler;
};

class NetMachine {
 public:
  NetMachine(World& world, std::uint32_t number, TestMachineOptions options = {},
             net::StackOptions stack_options = {}, net::DeviceOptions device_options = {})
      : machine(world.add_machine(named(std::move(options), number))),
        copies(machine.scheduler),
        stack({machine.scheduler, machine.softirqs, machine.jiffies, machine.napi, world.packets,
               copies, machine.tasklets},
              stack_options),
        device(stack.add_device(with_defaults(std::move(device_options), number))),
        driver(device, machine.interrupts) {
    stack.set_address(device, {address(number), 24});
  }

  static net::Ipv4Address address(std::uint32_t number) { return {0x0a000000u + number}; }
  net::Ipv4Address own() const { return stack.address_of(device)->address; }

  // A process: opens the device first, once.
  void process(std::string name, std::function<void()> body) {
    machine.spawn(std::move(name), [this, body = std::move(body)] {
      sched::Cpu& cpu = machine.cpu();
      cpu.enter_kernel();
      device.open();
      body();
      machine.cpu().leave_kernel();
    });
  }

  TestMachine& machine;
  CopyCharger copies;
  net::Stack stack;
  net::Device& device;
  FakeDriver driver;

 private:
  static TestMachineOptions named(TestMachineOptions options, std::uint32_t number) {
    options.name = std::string(1, static_cast<char>('a' + number - 1));
    return options;
  }
  static net::DeviceOptions with_defaults(net::DeviceOptions options, std::uint32_t number) {
    options.name = "eth0";
    options.mac = net::MacAddress::local(number);
    return options;
  }
};

// Takes what one driver sends to another, after a while. Marks are lost, as on a real wire; with
// `carries_marks` they arrive, as through a port with a vnet header.
class Wire {
 public:
  Wire(World& world, FakeDriver& from, FakeDriver& to, std::int64_t delay_ns = 500)
      : world_(world), to_(to), delay_ns_(delay_ns) {
    from.to_wire = [this](const core::Packet& packet) { carry(packet); };
  }
  ~Wire() { under_way_.drop_all(core::DropReason::run_end); }

  std::function<bool(const core::Packet&)> passes;  // false: this frame is lost
  bool carries_marks = false;
  bool copies = false;  // the receiver's bytes are its own, all of them in one payload block

 private:
  void carry(const core::Packet& packet) {
    core::PacketPtr frame = copies ? copy_of(packet) : packet.clone();
    if (!carries_marks) frame->checksum = core::ChecksumState::none;
    if (passes && !passes(packet)) {
      core::drop(std::move(frame), core::DropReason::link_loss);
      return;
    }
    (void)under_way_.push(std::move(frame));
    world_.at(world_.now_ns() + delay_ns_, [this] { to_.inject(under_way_.pop()); });
  }
  static core::PacketPtr copy_of(const core::Packet& packet) {
    core::PacketPtr frame = packet.pool().allocate(core::Origin::host_copy);
    frame->born = packet.born;
    frame->flow = packet.flow;
    frame->account(packet.weight());
    core::PayloadRef block = packet.pool().allocate_payload(packet.length());
    packet.copy_out(0, block.writable());
    frame->append_payload(std::move(block));
    return frame;
  }

  World& world_;
  FakeDriver& to_;
  std::int64_t delay_ns_;
  core::PacketQueue under_way_{65536};
};

struct NetPair {
  explicit NetPair(World& world, TestMachineOptions options = {},
                   net::StackOptions stack_options = {}, net::DeviceOptions device_options = {})
      : a(world.make<NetMachine>(world, 1u, options, stack_options, device_options)),
        b(world.make<NetMachine>(world, 2u, options, stack_options, device_options)),
        ab(world.make<Wire>(world, a.driver, b.driver)),
        ba(world.make<Wire>(world, b.driver, a.driver)) {}

  // Both know each other's link address.
  void skip_arp() {
    a.stack.arp().add(a.device, b.own(), b.device.mac());
    b.stack.arp().add(b.device, a.own(), a.device.mac());
  }

  NetMachine& a;
  NetMachine& b;
  Wire& ab;
  Wire& ba;
};

inline std::vector<std::uint8_t> pattern(std::size_t length, std::uint32_t seed = 1) {
  std::vector<std::uint8_t> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::uint8_t>(seed * 37 + i * 11 + i / 251);
  return bytes;
}

// Every packet and byte is accounted for, and none went without a verdict.
inline bool ledger_is_closed(const World& world) {
  const core::Balance balance = world.packets.close();
  UNSCOPED_INFO(balance.text);
  return balance.balanced && balance.dropped_for(core::DropReason::not_specified).packets == 0;
}
inline std::uint64_t drops(const World& world, core::DropReason reason) {
  return world.packets.ledger().dropped(reason).packets;
}

}  // namespace tapestry::tests
