#include "net/backlog.hpp"

#include <string>
#include <utility>

#include "sched/guards.hpp"

namespace tapestry::net {

class Stack::Backlog::PerCpu final : public irq::NapiPoller {
 public:
  PerCpu(Stack& stack, std::size_t cpu)
      : stack_(stack),
        queue_(stack.options().backlog_max),
        napi_(stack.environment().napi, "backlog" + std::to_string(cpu), *this,
              stack.options().dev_weight) {
    napi_.enable();
  }

  bool push(core::PacketPtr& packet) { return queue_.push(std::move(packet)); }

  void schedule() {
    if (!napi_.scheduled()) napi_.schedule();
  }

  int poll(int budget) override {
    int work = 0;
    for (; work < budget; ++work) {
      stack_.cpu().settle();
      core::PacketPtr packet = queue_.pop();
      if (!packet) break;
      stack_.accept_from_backlog(std::move(packet));
    }
    if (work == budget) return work;
    // Somebody may have put in a packet while it still looked scheduled.
    if (napi_.complete_done(work) && !queue_.empty()) schedule();
    return work;
  }

 private:
  Stack& stack_;
  core::PacketQueue queue_;
  irq::Napi napi_;
};

Stack::Backlog::Backlog(Stack& stack) : stack_(stack) {}

Stack::Backlog::~Backlog() = default;

Stack::Backlog::PerCpu& Stack::Backlog::on(std::size_t cpu) {
  while (cpu >= state_.size())
    [[unlikely]] state_.push_back(std::make_unique<PerCpu>(stack_, state_.size()));
  return *state_[cpu];
}

// Bottom halves are off so that the softirq runs when they come on again, and not in its thread.
void Stack::Backlog::enqueue(core::PacketPtr packet) {
  stack_.cpu().charge(sched::Work::netif_rx);
  const sched::BottomHalvesOff exclude(stack_.cpu());
  sched::Cpu& cpu = stack_.cpu();
  PerCpu& here = on(cpu.index());
  Device* device = packet->interface != 0 ? stack_.devices_[packet->interface - 1].get() : nullptr;
  const bool down = device != nullptr && !device->running();
  if (!down && here.push(packet)) [[likely]] {
    here.schedule();
    return;
  }
  if (device != nullptr) device->count_receive_drop();
  if (!down) ++stack_.environment().napi.figures(cpu.index()).dropped;
  stack_.allocator().drop(std::move(packet),
                          down ? core::DropReason::dev_ready : core::DropReason::cpu_backlog);
}

}  // namespace tapestry::net
