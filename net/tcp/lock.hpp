// Who has a socket: nobody, a process inside a system call, or a softirq (lock_sock, bh_lock_sock).
//
// A softirq never waits: what it brings is kept for the owner, who sees to it before letting go.
// A process waits for another process asleep, and for a softirq on another CPU spinning; on its own
// CPU none can have it. So all work on a socket is done by one at a time, on whatever CPUs.
#pragma once

#include "net/stack.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::net::tcp {

class SocketLock {
 public:
  enum class Owner : std::uint8_t { none, softirq, process };

  // In process context; returns settled, and the process has it.
  void take(Stack& stack);
  // In softirq context, settled: false if somebody has it.
  bool try_take(Stack& stack);
  // Settled, in the same instant in which the owner has looked that nothing is left for it.
  void release(Stack& stack);
  Owner owner() const { return owner_; }

 private:
  struct Spinner {
    sched::SpinWait wait;
    Spinner* next = nullptr;
  };

  void spin(Stack& stack);

  Owner owner_ = Owner::none;
  Spinner* spinners_ = nullptr;
  sched::WaitQueue sleepers_{"a socket's owner"};
};

}  // namespace tapestry::net::tcp
