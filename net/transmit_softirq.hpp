// NET_TX: runs the transmit queues that were scheduled on its CPU (net_tx_action).
#pragma once

#include <memory>
#include <vector>

#include "irq/softirq.hpp"
#include "net/stack.hpp"
#include "net/tx_queue.hpp"

namespace tapestry::net {

class Stack::TransmitSoftirq final : public irq::SoftirqHandler {
 public:
  explicit TransmitSoftirq(irq::Softirqs& softirqs) : softirqs_(softirqs) {
    softirqs.set_handler(irq::Vector::net_tx, *this);
  }

  // Settled; the queue is on no list.
  void schedule(TxQueue& queue);
  void softirq(sched::Cpu& cpu) override;

 private:
  struct PerCpu {
    std::vector<TxQueue*> scheduled;
    std::vector<TxQueue*> running;  // those of this run of the softirq
  };
  PerCpu& on(std::size_t cpu);

  irq::Softirqs& softirqs_;
  std::vector<std::unique_ptr<PerCpu>> state_;  // by CPU
};

}  // namespace tapestry::net
