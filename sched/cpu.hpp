// A CPU: spends time, says what the time went to, and lets interrupts in.
//
// `charge` is the only way to use CPU time, `settle` the only place where the world can happen:
// where an interrupt comes in, where a thread is preempted, where the progress of others becomes
// visible. The rule (docs/scheduler.md): before code reads or writes anything that another context
// can change or see, and before every change of exclusion or readiness, nothing is owed.
//
// A CPU is reached through Scheduler::cpu(): after anything that may block, ask again, since the
// thread may have moved.
#pragma once

#include <cstdint>
#include <string>

#include "core/random.hpp"
#include "core/settled.hpp"
#include "core/timeline.hpp"
#include "sched/context.hpp"
#include "sched/cost_table.hpp"
#include "sched/hub.hpp"
#include "sched/run_queue.hpp"
#include "sched/time_source.hpp"
#include "sched/timer.hpp"

namespace tapestry::sched {

class InterruptSource;
class Scheduler;
class SpinWait;

// When charges are paid. All three give the same results; `seams` is fastest, `always` gives exact
// traces.
enum class SettleMode : std::uint8_t { always, seams, random };

// What a CPU itself raises; device interrupts stay in their controller.
enum class LocalInterrupt : std::uint8_t { timer = 1, resched = 2 };

class Cpu {
 public:
  Cpu(Scheduler& scheduler, std::size_t index, std::string name, TimeSource& time);
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // --- spending
  // --------------------------------------------------------------------------------------- The
  // running context owes the cost of `items` items of together `bytes` bytes.
  void charge(Work work, std::int64_t items = 1, std::int64_t bytes = 0) {
    owe(work, costs_.cost(work, items, bytes));
  }
  // Bytes are read that `owner` has touched last: charges cold_read unless that is this very CPU.
  // Whoever works on the bytes charges that work, too.
  void charge_cold_read(core::CacheOwner owner, std::int64_t bytes) {
    if (owner != cache_owner()) charge(Work::cold_read, 1, bytes);
  }
  core::CacheOwner cache_owner() const { return time_.cache_owner(); }
  void owe(Work work, core::Nanos cost) {
    if (tells_charges_) [[unlikely]]
      tell_charge(work, cost);
    context_->debt_ns += cost.count();
    usage_.add(context_->kind, work, cost);
    if (settle_mode_ != SettleMode::seams) [[unlikely]]
      settle_between_seams();
  }

  // Delivers what is pending, lets others run, pays; returns with nothing owed.
  core::Settled settle() {
    if (!pending_ && context_->debt_ns == 0) [[likely]] {
      note_look();
      return core::Settled{};
    }
    settle_slowly();
    return core::Settled{};
  }

  core::Instant now(core::Settled) const { return timeline_.now(); }
  core::Nanos owed() const { return core::Nanos{context_->debt_ns}; }

  // Busy waiting: looks every `period` of this context's own time until `done` or `deadline`; jumps
  // over the looks that cannot see anything new. True if done. `period` is charged as `work`.
  template <typename Done>
  bool spin_until(SpinWait& wait, core::Instant deadline, Work work, Done done);

  // --- exclusion (use the guards of sched/guards.hpp)
  // -------------------------------------------------
  void disable_interrupts();
  void enable_interrupts();  // settles, then delivers what was latched
  bool interrupts_enabled() const { return interrupts_off_ == 0; }
  void disable_bottom_halves();
  void enable_bottom_halves();  // runs pending softirqs when the last section ends
  bool bottom_halves_enabled() const { return bottom_halves_off_ == 0; }
  void disable_preemption();
  void enable_preemption();
  // Preemption points inside the kernel; no-ops unless somebody else should run. The second one is
  // compiled in with voluntary preemption only.
  void cond_resched();
  void might_sleep();
  bool need_resched() const { return need_resched_; }
  void set_need_resched();

  // --- interrupts
  // ----------------------------------------------------------------------------------------
  // Something is pending for this CPU: latches, and ends an attentive wait. Called by controllers,
  // softirq raisers and timers.
  void request_attention();
  bool attention_requested() const { return attention_; }
  void raise_local(LocalInterrupt which);
  std::uint8_t take_local_interrupts() {
    const std::uint8_t taken = local_interrupts_;
    local_interrupts_ = 0;
    return taken;
  }
  bool in_interrupt() const { return context_->kind == ContextKind::hardirq; }
  bool in_softirq() const { return softirq_depth_ > 0; }

  // Runs `body` in a context of its own on the running stack: a handler, or a softirq run. Pays
  // what was owed before and after. `bill_to`: whose time slice it uses up; null for interrupts and
  // for softirqs on their way out.
  template <typename Body>
  void run_in_context(ContextKind kind, Thread* bill_to, Body body);

  // --- system calls and user mode
  // ------------------------------------------------------------------
  void enter_kernel();  // the running thread's context becomes `system`
  void leave_kernel();  // back to `user`: pays, and lets a waiting thread run
  // A nested machine spends this CPU's current thread's time, in user mode. Returns what is left if
  // `attention` became true.
  core::Nanos run_guest(core::Nanos amount, const bool* attention);

  // --- identity and figures
  // ----------------------------------------------------------------------------
  Scheduler& scheduler() { return scheduler_; }
  std::size_t index() const { return index_; }
  const std::string& name() const { return name_; }
  core::SubjectId subject() const { return subject_; }  // in the world's NameTable
  Thread* current() { return current_; }                // null while idle
  Context& context() { return *context_; }
  TimerQueue& timers() { return timers_; }
  TimeSource& time() { return time_; }
  bool is_physical() const { return physical_ != nullptr; }  // not a nested machine's
  const CostTable& costs() const { return costs_; }
  core::Timeline& timeline() { return timeline_; }
  Usage& usage() { return usage_; }
  const Usage& usage() const { return usage_; }
  std::uint64_t context_switches() const { return context_switches_; }

  // Whether each charge is a happening of its own (Happening::charge).
  void tell_charges(bool wanted) { tells_charges_ = wanted; }

  // The idle loop of a CPU, on a stack of its own; never returns.
  [[noreturn]] void run_idle_thread();

 private:
  friend class HandlerFrame;
  friend class SpinWait;
  friend class Scheduler;
  friend class WaitQueue;

  void settle_slowly();
  void settle_between_seams();
  void tell_charge(Work work, core::Nanos cost) const;
  void spin_to_next_look(SpinWait& wait, core::Instant deadline, Work work);
  void note_look() {
    if (++looks_here_ > kLooksMax) [[unlikely]]
      report_no_progress();
  }
  [[noreturn]] void report_no_progress();
  void pay();
  void pay_all();
  bool may_preempt() const;
  void preempt();
  void refresh_pending() { pending_ = attention_ || need_resched_; }
  void resume_here();  // after a wait in the hub: this CPU runs again, on this stack
  void pay_now(Work work);
  void finish_slice(Thread& thread);
  void start_slice(Thread& thread);
  void wait_for_work();
  static void slice_over(void* cpu, std::uint64_t);

  static constexpr std::uint64_t kLooksMax =
      50'000'000;  // settles at one instant: a loop without cost

  // Hot together.
  Context* context_;
  bool pending_ = false;    // attention or need_resched: settle must look
  bool attention_ = false;  // an interrupt or a softirq of this CPU is pending
  bool need_resched_ = false;
  SettleMode settle_mode_;
  bool tells_charges_ = false;
  std::uint8_t local_interrupts_ = 0;
  int interrupts_off_ = 0;
  int bottom_halves_off_ = 0;
  int preemption_off_ = 0;
  int softirq_depth_ = 0;
  std::uint64_t looks_here_ = 0;
  Hub& hub_;
  core::Timeline& timeline_;
  PhysicalTime* physical_;  // the same object as time_, or null when nested: saves a virtual call
  const CostTable& costs_;
  Usage usage_;

  Scheduler& scheduler_;
  std::size_t index_;
  std::string name_;
  TimeSource& time_;
  TimerQueue timers_;
  Timer slice_timer_;
  RunQueue run_queue_;
  Thread* current_ = nullptr;
  const Thread* idles_on_ = nullptr;  // the blocked thread on whose stack this CPU waits for work
  FiberSlot idle_fiber_;
  Context idle_context_{ContextKind::idle};
  core::RandomStream random_;
  std::uint64_t context_switches_ = 0;
  core::SubjectId subject_;
};

// A handler's or a softirq run's context, for as long as the frame lives.
class HandlerFrame {
 public:
  HandlerFrame(Cpu& cpu, ContextKind kind, Thread* bill_to);
  ~HandlerFrame() noexcept(false);
  HandlerFrame(const HandlerFrame&) = delete;
  HandlerFrame& operator=(const HandlerFrame&) = delete;

 private:
  void tell(bool begins) const;

  Cpu& cpu_;
  Context context_;
};

template <typename Body>
void Cpu::run_in_context(ContextKind kind, Thread* bill_to, Body body) {
  HandlerFrame frame(*this, kind, bill_to);
  body();
}

// Where busy waiters wait. Whoever changes what they look at calls notify(), settled.
class SpinWait {
 public:
  void notify();

 private:
  friend class Cpu;
  Cpu* spinner_ = nullptr;  // one at a time
  bool notified_ = false;
  core::Instant notified_at_{};
  bool after_its_turn_ = false;  // the spinner, looking at that very instant, had not seen it
};

}  // namespace tapestry::sched

#include "sched/spin.inl"
