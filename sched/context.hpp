// Execution contexts: what a CPU is doing, and what it owes.
//
// Debt belongs to the context that charged it. A handler gets a context of its own, so that it pays
// for itself and never shortens what the interrupted context still has to pay.
#pragma once

#include <array>
#include <cstdint>

#include "core/time.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::sched {

class Thread;

// The columns of /proc/stat, in which CPU time is accounted.
enum class ContextKind : std::uint8_t {
  user,     // a thread's own code, outside the kernel
  system,   // a thread inside the kernel: system calls, kernel threads
  softirq,  // softirqs on the way out of an interrupt, at the end of a bottom-half section, in
            // ksoftirqd
  hardirq,  // interrupt handlers
  idle,     // the way into and out of idle
  count_
};

inline constexpr std::size_t kContextKinds = static_cast<std::size_t>(ContextKind::count_);
const char* context_name(ContextKind kind);

struct Context {
  explicit Context(ContextKind of, Thread* bill_to = nullptr) : kind(of), billed(bill_to) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::int64_t debt_ns = 0;  // charged and not yet paid; 0 wherever shared state is touched
  ContextKind kind;
  Thread* billed;            // whose time slice this uses up; null for interrupts
  Context* below = nullptr;  // the context that this one interrupted
};

// CPU time by context and by kind of work, whole nanoseconds; written at charge time.
class Usage {
 public:
  void add(ContextKind kind, Work work, core::Nanos spent) {
    by_work_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(work)] += spent.count();
  }
  core::Nanos of(ContextKind kind, Work work) const {
    return core::Nanos{by_work_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(work)]};
  }
  core::Nanos of(ContextKind kind) const;
  core::Nanos of(Work work) const;

  void add_idle(core::Nanos span) { idle_ += span; }
  void add_guest(core::Nanos span) { guest_ += span; }
  void add_stolen(core::Nanos span) { stolen_ += span; }
  core::Nanos idle() const { return idle_; }    // nothing to run
  core::Nanos guest() const { return guest_; }  // a nested machine's CPU ran on this one
  core::Nanos stolen() const {
    return stolen_;
  }                          // this CPU wanted to run and its host ran something else
  core::Nanos busy() const;  // everything but idle and stolen

  Usage& operator+=(const Usage& other);
  friend Usage operator-(const Usage& later, const Usage& earlier);

 private:
  std::array<std::array<std::int64_t, kWorkCount>, kContextKinds> by_work_{};
  core::Nanos idle_{0};
  core::Nanos guest_{0};
  core::Nanos stolen_{0};
};

}  // namespace tapestry::sched
