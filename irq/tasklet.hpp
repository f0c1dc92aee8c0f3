// Tasklets: a function that runs soon in the TASKLET softirq of the CPU that scheduled it, once
// however often it was scheduled, and never on two CPUs at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "irq/softirq.hpp"

namespace tapestry::irq {

class Tasklets;

class Tasklet {
 public:
  // In softirq context; charges and settles like any handler.
  using Function = void (*)(void* object);
  // `tasklets` outlives it.
  Tasklet(Tasklets& tasklets, Function function, void* object)
      : tasklets_(tasklets), function_(function), object_(object) {}
  ~Tasklet();
  Tasklet(const Tasklet&) = delete;
  Tasklet& operator=(const Tasklet&) = delete;

  void
  schedule();  // settles, raises TASKLET; nothing while it is scheduled already or being killed
  // Waits, in a thread, until it neither is scheduled nor runs; refuses to be scheduled meanwhile.
  void kill();
  bool scheduled() const { return scheduled_; }

 private:
  friend class Tasklets;
  Tasklets& tasklets_;
  Function function_;
  void* object_;
  Tasklet* next_ = nullptr;  // in the queue of a CPU
  bool scheduled_ = false;
  bool running_ = false;
  int killers_ = 0;
};

class Tasklets final : public SoftirqHandler {
 public:
  Tasklets(sched::Scheduler& scheduler, Softirqs& softirqs);
  void softirq(sched::Cpu& cpu) override;

 private:
  friend class Tasklet;
  struct Queue {
    Tasklet* first = nullptr;
    Tasklet* last = nullptr;
  };
  void append(sched::Cpu& cpu, Tasklet& tasklet);
  Queue& on(std::size_t cpu);
  void run(sched::Cpu& cpu, Tasklet& tasklet);

  sched::Scheduler& scheduler_;
  Softirqs& softirqs_;
  sched::WaitQueue killers_{"a tasklet"};
  std::vector<std::unique_ptr<Queue>> queues_;  // by CPU
};

}  // namespace tapestry::irq
