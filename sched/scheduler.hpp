// One machine's CPUs and threads: who runs, who waits, who is woken.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "sched/cpu.hpp"
#include "sched/thread.hpp"

namespace tapestry::sched {

class InterruptSource;

// Where the kernel may take the CPU from a thread that runs inside it.
enum class Preemption : std::uint8_t {
  none,       // only on return to user mode and where it blocks
  voluntary,  // also at cond_resched
  full        // also wherever it settles with preemption enabled
};

struct SchedulerOptions {
  std::string machine;
  Preemption preemption = Preemption::voluntary;
  SettleMode settle_mode = SettleMode::seams;
  std::uint64_t seed = 1;
  core::Nanos time_slice{3'000'000};  // sched_min_granularity_ns of the fair scheduler
};

class Scheduler {
 public:
  Scheduler(Hub& hub, const CostTable& costs, InterruptSource& interrupts,
            SchedulerOptions options);
  // Unwinds every thread that has not finished; the world's hub is cancelling by then.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A CPU that parks in the hub, or one whose time comes from elsewhere (then somebody calls its
  // run_idle_thread on a fiber).
  Cpu& add_cpu();
  Cpu& add_cpu(TimeSource& time);
  std::size_t cpus() const { return cpus_.size(); }
  Cpu& cpu(std::size_t index) { return *cpus_[index]; }

  // The CPU of this machine that runs now. Asserts that one does.
  Cpu& cpu() {
    TAPESTRY_ASSERT(running_ != nullptr, "no CPU of this machine is running");
    return *running_;
  }
  Thread& current() {
    TAPESTRY_ASSERT(cpu().current() != nullptr, "no thread is running");
    return *running_->current();
  }

  // The new thread is ready at once, at no cost to anyone; it ends when `body` returns.
  Thread& spawn(ThreadAttributes attributes, std::function<void()> body);

  // Makes a blocked thread ready. The waker's CPU has been charged and owes nothing. From outside
  // of any CPU (before the run starts) `waker` is null.
  void make_ready(Thread& thread, Cpu* waker);
  // Blocks the running thread until make_ready; the caller has just checked, settled, that it must.
  void block(const char* waits_for);
  // Blocks the running thread for a span of time. Charges for the timer.
  void sleep_until(core::Instant until);
  void yield();

  // Ends all threads by unwinding them; for tearing a world down.
  void cancel_all();

  const std::string& name() const { return options_.machine; }
  Preemption preemption() const { return options_.preemption; }
  SettleMode settle_mode() const { return options_.settle_mode; }
  std::uint64_t seed() const { return options_.seed; }
  core::Nanos time_slice() const { return options_.time_slice; }
  Hub& hub() { return hub_; }
  const CostTable& costs() const { return costs_; }
  InterruptSource& interrupts() { return interrupts_; }
  const std::deque<std::unique_ptr<Thread>>& threads() const { return threads_; }

  // For the end of a run in which nothing is left to happen: "iperf waits for socket since 1.5 ms".
  std::vector<std::string> blocked_threads() const;

  void set_running(Cpu& cpu) { running_ = &cpu; }

 private:
  friend class Cpu;
  static void run_thread(void* thread);
  static void run_idle(void* cpu);
  Cpu& choose_cpu(const Thread& thread, Cpu* waker);
  // Gives the CPU of the running thread away; returns when that thread runs again, perhaps
  // elsewhere.
  void switch_away(Thread& previous);
  void tell_thread_ends(const Thread& thread);
  void switch_in(Thread& thread);
  [[noreturn]] void end_thread(Thread& thread);

  Hub& hub_;
  const CostTable& costs_;
  InterruptSource& interrupts_;
  SchedulerOptions options_;
  std::vector<std::unique_ptr<PhysicalTime>> physical_times_;
  std::vector<std::unique_ptr<Cpu>> cpus_;
  std::deque<std::unique_ptr<Thread>> threads_;
  Cpu* running_ = nullptr;
};

}  // namespace tapestry::sched
