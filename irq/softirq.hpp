// Softirqs: work that interrupt handlers put off, in the kernel's fixed order, bounded, and handed
// to a thread when there is too much of it (docs/scheduler.md; kernel/softirq.c).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/probe.hpp"
#include "core/time.hpp"
#include "sched/scheduler.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::irq {

// Order of execution, and the rows of /proc/softirqs.
enum class Vector : std::uint8_t {
  hi,
  timer,
  net_tx,
  net_rx,
  block,
  irq_poll,
  tasklet,
  sched,
  hrtimer,
  rcu,
  count_
};
inline constexpr std::size_t kVectors = static_cast<std::size_t>(Vector::count_);
const char* vector_name(Vector vector);  // "HI", "TIMER", "NET_TX", ...

class SoftirqHandler {
 public:
  virtual ~SoftirqHandler() = default;
  // In softirq context on `cpu`, interrupts on, bottom halves off.
  virtual void softirq(sched::Cpu& cpu) = 0;
};

struct SoftirqOptions {
  int restarts_max = 10;            // MAX_SOFTIRQ_RESTART: passes of one run
  core::Nanos time_max{2'000'000};  // MAX_SOFTIRQ_TIME, 2 ms rounded up to jiffies by the machine
  bool hand_over =
      true;  // false: a run ends when nothing is left (to show what the bounds are for)
  bool skip_inline_while_thread_runs = false;  // era 4.9 .. 6.5: leave it to a runnable ksoftirqd
};

class Softirqs {
 public:
  Softirqs(sched::Scheduler& scheduler, SoftirqOptions options);

  void set_handler(Vector vector, SoftirqHandler& handler);
  // Starts ksoftirqd/N on each CPU of the machine; call once all CPUs exist.
  void start_threads();

  // Marks it pending on the running CPU. Settles first. Outside of interrupts and bottom-half
  // sections this wakes ksoftirqd, as raise_softirq does.
  void raise(Vector vector);
  // Interrupt exit and the end of a bottom-half section: runs what is pending, bounded, then leaves
  // the rest to ksoftirqd.
  void run_pending(sched::Cpu& cpu);
  bool pending(const sched::Cpu& cpu) const;

  // Figures of /proc/softirqs: how often each vector ran on a CPU.
  std::uint64_t runs(std::size_t cpu, Vector vector) const;
  // Runs on the way out of an interrupt or section that left work to ksoftirqd.
  std::uint64_t handed_over(std::size_t cpu) const;
  sched::Thread* thread(std::size_t cpu) { return on(cpu).thread; }

  // irq:softirq_entry and softirq_exit.
  core::Probe<Vector, const sched::Cpu&, core::Instant> on_entry;
  core::Probe<Vector, const sched::Cpu&, core::Instant> on_exit;

 private:
  struct PerCpu {
    std::uint32_t pending = 0;
    sched::Thread* thread = nullptr;
    sched::WaitQueue thread_waits{"softirqs"};
    std::array<std::uint64_t, kVectors> runs{};
    std::uint64_t handed_over = 0;
  };

  PerCpu& on(std::size_t cpu);
  const PerCpu* find(std::size_t cpu) const {
    return cpu < state_.size() ? state_[cpu].get() : nullptr;
  }
  bool thread_does_it(const PerCpu& state) const;
  void run_bounded(sched::Cpu& cpu, sched::Thread* bill_to);
  void run_pass(sched::Cpu& cpu);
  void thread_main();

  sched::Scheduler& scheduler_;
  SoftirqOptions options_;
  std::array<SoftirqHandler*, kVectors> handlers_{};
  std::vector<std::unique_ptr<PerCpu>> state_;
};

}  // namespace tapestry::irq
