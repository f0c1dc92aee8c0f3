// The backlog of each CPU: where packets wait that came in outside of NAPI, and packets of this
// machine to itself (netif_rx, process_backlog). It is polled like a device, by a NAPI instance of
// its own.
#pragma once

#include <memory>
#include <vector>

#include "irq/napi.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

class Stack::Backlog {
 public:
  explicit Backlog(Stack& stack);
  ~Backlog();

  // netif_rx: charges, settles. packet->interface says which device it came in by; 0 for packets
  // to ourselves. A full backlog drops.
  void enqueue(core::PacketPtr packet);

 private:
  class PerCpu;
  PerCpu& on(std::size_t cpu);

  Stack& stack_;
  std::vector<std::unique_ptr<PerCpu>> state_;  // by CPU
};

}  // namespace tapestry::net
