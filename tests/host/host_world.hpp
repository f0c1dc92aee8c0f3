// A host for the ports: a machine with a protocol stack, whose calls are made by a kernel thread.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "net/stack.hpp"
#include "tests/support/net_world.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests {

class HostMachine {
 public:
  explicit HostMachine(World& of_world, const TestMachineOptions& options = {})
      : world(of_world),
        machine(of_world.add_machine(options)),
        copies(machine.scheduler),
        stack({machine.scheduler, machine.softirqs, machine.jiffies, machine.napi, of_world.packets,
               copies, machine.tasklets},
              {}) {}

  net::Device& add_device(const std::string& name, std::uint32_t mtu_bytes = 1500) {
    return stack.add_device(
        {.name = name, .mac = net::MacAddress::local(++devices_), .mtu_bytes = mtu_bytes});
  }
  // In process context, inside the kernel, owing nothing; until nothing is left to happen.
  void run(std::function<void()> body) {
    machine.scheduler.spawn({.name = "driver", .kernel_thread = true}, std::move(body));
    world.run();
  }
  sched::Cpu& cpu() { return machine.cpu(); }
  core::Instant now() { return world.timeline.now(); }

  World& world;
  TestMachine& machine;
  CopyCharger copies;
  net::Stack stack;

 private:
  std::uint32_t devices_ = 0;
};

}  // namespace tapestry::tests
