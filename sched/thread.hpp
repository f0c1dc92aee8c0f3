// A schedulable thread of a machine: a fiber, a place in a run queue, and the context it charges
// to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/time.hpp"
#include "sched/context.hpp"
#include "sched/fiber.hpp"

namespace tapestry::sched {

class Cpu;
class Scheduler;
class WaitQueue;

using CpuMask = std::uint64_t;  // bit n: CPU n of the machine; a machine has at most 64
inline constexpr CpuMask kAnyCpu = ~CpuMask{0};

struct ThreadAttributes {
  std::string name;
  int nice = 0;  // -20 .. 19; the kernel's weights
  int realtime_priority =
      0;  // 0: shares the CPU by weight; 1 .. 99: first in, first out, above all others
  CpuMask affinity = kAnyCpu;
  bool kernel_thread = false;  // runs in system context from its first step
};

class Thread {
 public:
  enum class State : std::uint8_t {
    ready,    // in the run queue of its CPU
    running,  // on its CPU; also while that CPU is interrupted
    blocked,  // in a wait queue, or waiting for a timer
    finished  // its function has returned; its stack is back in the pool
  };

  Thread(Scheduler& scheduler, ThreadAttributes attributes, std::function<void()> body);
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  const std::string& name() const { return attributes_.name; }
  const ThreadAttributes& attributes() const { return attributes_; }
  State state() const { return state_; }
  core::SubjectId subject() const { return subject_; }  // in the world's NameTable
  Scheduler& scheduler() { return scheduler_; }
  Cpu& cpu() { return *cpu_; }  // where it runs, or ran last
  Context& context() { return context_; }
  core::Nanos cpu_time() const {
    return core::Nanos{paid_ns_};
  }                                                     // what it has paid, without interrupts
  const char* waits_for() const { return waits_for_; }  // the wait queue's name, or null
  core::Instant blocked_since() const { return blocked_since_; }

 private:
  friend class Cpu;
  friend class RunQueue;
  friend class Scheduler;
  friend class WaitQueue;

  Scheduler& scheduler_;
  ThreadAttributes attributes_;
  std::function<void()> body_;
  Context context_;
  FiberSlot fiber_;  // its continuation while ready or blocked
  Cpu* cpu_ = nullptr;
  State state_ = State::ready;
  std::int64_t paid_ns_ = 0;
  std::int64_t weighted_ns_ = 0;  // paid time scaled by weight: vruntime
  std::int64_t paid_at_switch_ns_ = 0;
  const char* waits_for_ = nullptr;
  core::Instant blocked_since_{};
  WaitQueue* queue_ = nullptr;
  Thread* next_waiter_ = nullptr;
  core::SubjectId subject_;
};

}  // namespace tapestry::sched
