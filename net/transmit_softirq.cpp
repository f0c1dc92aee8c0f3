#include "net/transmit_softirq.hpp"

namespace tapestry::net {

Stack::TransmitSoftirq::PerCpu& Stack::TransmitSoftirq::on(std::size_t cpu) {
  while (cpu >= state_.size())
    [[unlikely]] state_.push_back(std::make_unique<PerCpu>());
  return *state_[cpu];
}

void Stack::TransmitSoftirq::schedule(TxQueue& queue) {
  queue.scheduled_ = true;
  on(queue.device().stack().cpu().index()).scheduled.push_back(&queue);
  softirqs_.raise(irq::Vector::net_tx);
}

void Stack::TransmitSoftirq::softirq(sched::Cpu& cpu) {
  PerCpu& here = on(cpu.index());
  here.running.clear();
  here.running.swap(here.scheduled);
  for (TxQueue* queue : here.running) {
    cpu.settle();
    queue->scheduled_ = false;
    queue->run();
  }
}

}  // namespace tapestry::net
