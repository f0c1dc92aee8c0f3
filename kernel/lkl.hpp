// The Linux Kernel Library: a kernel as a library of a host process (arch/lkl/kernel/cpu.c,
// threads.c, tools/lkl/lib/posix-host.c; the library mode of UML works alike).
//
// There is one CPU, and it is a lock: whoever holds it runs the guest's kernel. Each thread of the
// guest is a host thread of its own, so a context switch of the guest is a hand-off between two
// host threads: a futex wake, a futex wait, and a context switch of the host. (Later versions jump
// between stacks where they can; this is the way without.) A system call is a function call: take
// the lock, run, give it back. What a process does outside of the kernel it does without the lock.
//
// Interrupts come from further host threads: one polls the descriptors, one waits for the timer.
// lkl_trigger_irq takes the lock if nobody has it and runs the handler, and the softirqs behind it,
// then and there; otherwise it leaves a pending bit, which the holder looks at when it gives the
// lock back or hands it on. Nothing can be masked.
//
// Processes of one guest still take turns outside of its kernel, too: while one of them computes,
// interrupts come in beside it, but no other process runs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "irq/controller.hpp"
#include "sched/fiber.hpp"
#include "sched/time_source.hpp"
#include "sched/timer.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::kernel {

class Machine;

// A device of the process, served by its poll thread.
class LklPollClient {
 public:
  virtual ~LklPollClient() = default;
  // On the poll thread, outside of the guest.
  virtual void poll_ready(bool readable, bool writable) = 0;

 private:
  friend class Lkl;
  bool readable_ = false;
  bool writable_ = false;
};

class Lkl final : public sched::TimeSource {
 public:
  static constexpr std::size_t kPollBatch = 64;  // events of one epoll_wait

  // Host CPUs that the threads may use: those that run processes of the guest and its idle loop,
  // and those that poll and wait for the timer.
  struct Placement {
    sched::CpuMask guest = 1;
    sched::CpuMask poll = 1;
  };

  Lkl(Machine& guest, Machine& host, Placement placement);
  ~Lkl() override;

  // Creates the host threads; once, when the guest's CPU exists.
  void boot();
  // For a world that is torn down: unwinds what the host's scheduler does not know of.
  void cancel_all();

  // sched::TimeSource, for the guest's CPU
  core::Nanos spend(sched::Cpu& cpu, core::Nanos amount, bool attentive) override;
  void idle(sched::Cpu& cpu) override;
  void notice(sched::Cpu& cpu) override;
  void kick(sched::Cpu& waker, sched::Cpu& cpu) override;
  void program_timer(sched::Cpu& cpu, core::Instant at) override;
  core::CacheOwner cache_owner() const override { return host_cpu().cache_owner(); }
  void thread_runs(sched::Cpu& cpu, sched::Thread& thread) override;

  // lkl_cpu_put, before the lock is given back: runs what has become pending. In the guest, settled
  // or not.
  void run_pending_interrupts();

  // A line has been raised. In the guest it is pending at once; on the poll thread this is
  // lkl_trigger_irq; anywhere else on the host a descriptor has become ready, and the poll thread
  // is told.
  void line_raised(irq::IrqLine& line);
  // The guest's pending lines, each once. Null: none.
  irq::IrqLine* take_pending_line();
  void record(irq::IrqLine& line) { pending_lines_.push_back(&line); }
  void show_pending_timer();

  // A descriptor of this client has become ready. On a CPU of the host, which owes nothing.
  void ready(LklPollClient& client, bool writable);

  // Does the running host thread run the guest, rather than code of the process around it?
  bool guest_runs_here() const;
  // The running host thread, or null: who holds a lock of the process.
  const sched::Thread* running_thread() const;
  // Waits in the host for what other threads of the process do; a futex call if it must.
  template <typename Done>
  void wait_in_host(sched::WaitQueue& queue, Done done) {
    const bool from_guest = guest_runs_here();
    enter_futex(from_guest);
    queue.wait(host_scheduler(), done);
    leave_host(from_guest);
  }
  void wake_in_host(sched::WaitQueue& queue);

  // Figures: of the guest's kernel and the process around it, up to now.
  std::uint64_t handovers() const { return handovers_; }  // from one host thread to another
  std::uint64_t deferred() const { return deferred_; }    // interrupts that left a pending bit
  std::uint64_t contended() const { return contended_; }  // lkl_cpu_get that had to wait
  // What was spent by the guest took so much longer than it should: its host did something else.
  core::Nanos stolen() const { return stolen_; }
  // The time that hand-offs took, from giving the lock away to running on the next thread.
  core::Nanos handing_over() const { return handing_over_; }

 private:
  struct HostThread {
    explicit HostThread(const char* waits_for) : turns(waits_for) {}
    sched::Thread* thread = nullptr;  // of the host
    sched::Thread* guest = nullptr;   // whose thread it is; null: idle, poll, timer
    sched::FiberSlot home;            // its own stack, while it runs the guest
    sched::WaitQueue turns;           // its semaphore
    bool turn = false;                // it has been handed the lock, or shall take it
    bool must_take = false;           // the latter
    core::Nanos outside{0};           // work of its process, to be done without the lock
  };
  struct Event {
    irq::IrqLine* line;
    LklPollClient* client;
  };

  HostThread& add_thread(const std::string& name, const char* waits_for, sched::CpuMask where,
                         void (Lkl::*main)(HostThread&));
  HostThread& thread_of(sched::Thread& guest);
  void run_guest_threads(HostThread& self);
  void run_poll_thread(HostThread& self);
  void run_timer_thread(HostThread& self);
  static void guest_main(void* lkl);

  void carry(HostThread& self);
  void leave_guest();
  void hand_to(HostThread& next);
  void give_lock_back();
  void take_lock();
  void post(HostThread& next);
  void wait_for_turn(HostThread& self);
  core::Nanos spend_inside(core::Nanos amount);
  core::Nanos spend_outside(core::Nanos amount);
  bool anything_pending() const { return timer_pending_ || !pending_lines_.empty(); }
  void show_pending();
  void trigger();
  void wake_poll_thread();
  void dispatch(const Event& event);
  static void timer_expired(void* lkl, std::uint64_t);

  sched::Scheduler& host_scheduler() const;
  sched::Cpu& host_cpu() const;
  void watch_host() const;
  void watch_guest() const;
  void enter_host_kernel(bool from_guest);
  void enter_futex(bool from_guest);
  void leave_host(bool from_guest);

  Machine& guest_;
  Machine& host_;
  Placement placement_;
  sched::FiberSlot guest_code_;  // the guest's continuation, while no host thread runs it
  std::deque<HostThread> threads_;
  HostThread* idle_ = nullptr;
  HostThread* poll_ = nullptr;
  HostThread* timer_ = nullptr;
  HostThread* carrier_ = nullptr;  // runs the guest, or ran it last
  HostThread* next_ = nullptr;     // to whom the carrier hands the lock
  bool in_guest_ = false;
  bool free_ = false;  // nobody holds the lock
  sched::WaitQueue lock_waits_{"the LKL CPU"};
  std::deque<irq::IrqLine*> pending_lines_;  // each at most once
  bool timer_pending_ = false;
  std::deque<Event> events_;  // of the poll set: each line and client at most once
  sched::Timer host_timer_;
  bool timer_due_ = false;
  std::uint64_t handovers_ = 0, deferred_ = 0, contended_ = 0;
  core::Nanos stolen_{0};
  core::Nanos handing_over_{0};
};

// The interrupt controller of an LKL guest.
class LklInterrupts final : public irq::InterruptController {
 public:
  explicit LklInterrupts(Lkl& lkl);

 protected:
  void deliver_lines(sched::Cpu& cpu) override;
  void line_became_pending(irq::IrqLine& line) override;

 private:
  Lkl& lkl_;
};

}  // namespace tapestry::kernel
