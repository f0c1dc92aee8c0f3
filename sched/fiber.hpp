// Fibers: many executions on one operating-system thread, each on a stack of its own.
//
// The simulator writes kernel code as plain functions that block in the middle: a system call that
// sleeps, a poll that is interrupted. Each such execution is a fiber. Switching is symmetric:
// whoever switches names two slots, the one where its own execution is kept and the one to resume.
// Nobody is parent or child, so a guest's thread may resume a host's thread, which resumes the
// event loop.
//
//     FiberSlot hub, worker;
//     if (!engine.start(worker, entry, &argument)) ...   // nothing has run yet
//     engine.switch_to(hub, worker);                     // runs entry until it switches to `hub`
//
// This header and fiber.cpp are the only files that know Boost.Context. The head of fiber.cpp tells
// why the switch is built on its jump_fcontext.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/assert.hpp"

#ifdef __SANITIZE_ADDRESS__
#define TAPESTRY_ADDRESS_SANITIZER 1
#endif
#ifdef __SANITIZE_THREAD__
#define TAPESTRY_THREAD_SANITIZER 1
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define TAPESTRY_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define TAPESTRY_THREAD_SANITIZER 1
#endif
#endif

#ifdef TAPESTRY_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TAPESTRY_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace tapestry::sched {

class FiberEngine;

// Thrown by the scheduler, at a blocking point, inside a fiber that is asked to end. That is how a
// fiber that nobody needs any more gives back what it holds: its own stack unwinds in the usual
// way, the scheduler's wrapper around what the fiber runs catches Cancelled, and then calls finish.
//
// It is no std::exception, so that handlers for errors pass it by. Rules for code that may run in a
// fiber: a `catch (...)` rethrows; no blocking point inside a noexcept function; a destructor that
// runs because the fiber is cancelled does not block.
struct Cancelled {};

// Holds one suspended execution, or nothing. It lives inside whoever owns that execution (a thread,
// a CPU, the event loop) and never moves.
class FiberSlot {
 public:
  FiberSlot() = default;
  FiberSlot(const FiberSlot&) = delete;
  FiberSlot& operator=(const FiberSlot&) = delete;

  // Asserts that the slot is empty: an execution that nobody can resume would never unwind.
  ~FiberSlot() {
    TAPESTRY_ASSERT(engine_ == nullptr,
                    "a fiber is cancelled and finishes before its slot goes away");
  }

  // From start, or the switch that left the execution here, until the switch that resumes it.
  bool holds_suspended() const noexcept { return engine_ != nullptr; }

 private:
  friend class FiberEngine;
  FiberEngine* engine_ = nullptr;  // whose execution is suspended here; null: the slot is empty
  void* continuation_ = nullptr;   // where on its stack it saved its registers; stale when empty
};

// Owns the stacks of one world and switches between its executions. Nothing here is global: two
// engines in one process don't know of each other. An engine and all its fibers stay on one thread;
// it may move to another thread only while no fiber exists.
//
// Destruction asserts that every fiber has finished. The engine cannot end them itself: only their
// owner knows how to resume them so that they throw Cancelled.
class FiberEngine {
 public:
  // Room for the deepest path of the simulator (a system call, an interrupt and softirqs on top of
  // it, down the stack to a device and into a watcher), several times over. Only what is touched
  // takes memory. The address sanitizer puts room around every variable.
#ifdef TAPESTRY_ADDRESS_SANITIZER
  static constexpr std::size_t default_stack_bytes = 256 * 1024;
#else
  static constexpr std::size_t default_stack_bytes = 64 * 1024;
#endif
  // Fibers that may exist at once. A stack and its guard page are two mappings, and Linux allows a
  // process vm.max_map_count of them (65530 unless raised): 4096 fibers take an eighth of that, so
  // that several worlds fit into a process.
  static constexpr std::size_t default_stacks_max = 4096;

  // `stack_bytes` is rounded up to whole pages and is at least 16 KiB. Maps nothing yet.
  explicit FiberEngine(std::size_t stack_bytes = default_stack_bytes,
                       std::size_t stacks_max = default_stacks_max);
  ~FiberEngine();
  FiberEngine(const FiberEngine&) = delete;
  FiberEngine& operator=(const FiberEngine&) = delete;

  // Makes stacks ready until `stacks` of them exist, in use or pooled, so that start needs no
  // system call. False when that is more than stacks_max or than the operating system allows; those
  // that could be made stay in the pool.
  [[nodiscard]] bool reserve(std::size_t stacks);

  // Prepares the empty `slot` so that the first switch to it runs entry(argument) on a stack of its
  // own. False, and the slot stays empty, when stacks_max fibers exist or, with stacks_in_use()
  // still below that, when the operating system refuses another stack.
  //
  // `entry` does not return: it ends with finish. An exception that leaves it is a bug and
  // terminates the program; the scheduler wraps what a fiber runs.
  [[nodiscard]] bool start(FiberSlot& slot, void (*entry)(void*), void* argument);

  // Suspends the running execution into the empty slot `from` and resumes the one in `to`. Returns
  // when somebody switches to `from`. Each execution has its own state of C++ exceptions, so that a
  // switch inside a catch block, or in a destructor during unwinding, is fine.
  void switch_to(FiberSlot& from, FiberSlot& to);

  // Ends the running fiber and resumes the execution in `to`; the stack returns to the pool. Frames
  // that are still on it are dropped, not unwound: call it last, with nothing left to destroy, and
  // outside of every catch block.
  [[noreturn]] void finish(FiberSlot& to);

  // False on the thread's own stack.
  bool running_a_fiber() const noexcept { return owns(__builtin_frame_address(0)); }

  std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  std::size_t stacks_max() const noexcept { return stacks_max_; }
  // Stacks of fibers that were started and have not finished.
  std::size_t stacks_in_use() const noexcept { return stacks_.size() - pool_.size(); }
  // Stacks that are ready for the next start.
  std::size_t stacks_pooled() const noexcept { return pool_.size(); }

 private:
  // One of the engine's stacks, or the thread's own.
  struct Stack {
    std::byte* lowest = nullptr;  // usable bytes begin here; the guard page lies below
    std::size_t bytes = 0;
    void (*entry)(void*) = nullptr;
    void* argument = nullptr;
    // For the tools that watch memory. The first is where AddressSanitizer keeps frames aside while
    // the execution is suspended.
    void* fake_frames = nullptr;
    void* thread_sanitizer_fiber = nullptr;
    unsigned int valgrind_number = 0;
  };

  // What the C++ runtime keeps for a thread: the exceptions that are being handled, and how many
  // are on their way to a handler. The layout of __cxa_eh_globals is part of the Itanium C++ ABI
  // (2.2.2).
  struct Exceptions {
    void* caught;
    unsigned int uncaught;
  };

  static void* this_thread() noexcept { return __builtin_thread_pointer(); }
  static std::uintptr_t number(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }
  bool owns(const void* address) const noexcept {
    return number(address) - number(region_) < region_bytes_;
  }
  Stack& stack_at(const void* address) noexcept;

  void bind_to_this_thread();
  bool map_region();
  bool make_stack();
  void release_stack(Stack& stack);
  void switch_amid_exceptions(FiberSlot& from, FiberSlot& to);
  static void run_first_time(boost::context::detail::transfer_t arrival) noexcept;
  void announce_departure(const void* target, bool for_good);
  void announce_arrival(const void* left);

  Exceptions* exceptions_ = nullptr;  // of thread_
  void* thread_ = nullptr;

  std::size_t stack_bytes_;
  std::size_t stacks_max_;
  std::size_t guard_bytes_;      // one page
  std::byte* region_ = nullptr;  // all stacks, each above its guard page
  std::size_t region_bytes_ = 0;
  std::vector<Stack> stacks_;      // those made so far, in the order of their addresses
  std::vector<std::size_t> pool_;  // indices; last in, first out: the next fiber gets a warm stack
  Stack thread_stack_;
  FiberSlot finished_;  // takes what is left of a fiber that has finished
};

// What sanitizers must hear directly before the jump, from the function that jumps.
[[gnu::always_inline]] inline void FiberEngine::announce_departure(
    [[maybe_unused]] const void* target, [[maybe_unused]] bool for_good) {
#ifdef TAPESTRY_ADDRESS_SANITIZER
  void** const fake_frames = &stack_at(__builtin_frame_address(0)).fake_frames;
  const Stack& next = stack_at(target);
  __sanitizer_start_switch_fiber(for_good ? nullptr : fake_frames, next.lowest, next.bytes);
#endif
#ifdef TAPESTRY_THREAD_SANITIZER
  __tsan_switch_to_fiber(stack_at(target).thread_sanitizer_fiber, 0);
#endif
}

// And directly after it, on the stack that was resumed. The bounds of the thread's own stack become
// known when it is left.
[[gnu::always_inline]] inline void FiberEngine::announce_arrival(
    [[maybe_unused]] const void* left) {
#ifdef TAPESTRY_ADDRESS_SANITIZER
  const void* lowest = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(stack_at(__builtin_frame_address(0)).fake_frames, &lowest,
                                  &bytes);
  if (!owns(left)) {
    thread_stack_.lowest = static_cast<std::byte*>(const_cast<void*>(lowest));
    thread_stack_.bytes = bytes;
  }
#endif
}

// Inline on purpose. jump_fcontext leaves by a jump, so the processor's return predictor still
// points at the side that was left: every return between here and the caller's loop is
// mispredicted.
[[gnu::always_inline]] inline void FiberEngine::switch_to(FiberSlot& from, FiberSlot& to) {
  TAPESTRY_ASSERT(from.engine_ == nullptr, "a slot holds one suspended execution");
  TAPESTRY_ASSERT(to.engine_ == this, "what is resumed was suspended, and by the same engine");
  if (exceptions_->caught != nullptr || exceptions_->uncaught != 0) [[unlikely]] {
    switch_amid_exceptions(from, to);
    return;
  }
  from.engine_ = this;
  to.engine_ = nullptr;
  void* const target = to.continuation_;
  announce_departure(target, false);
  // Whoever jumps back hands over the slot for the execution that it leaves. That travels in a
  // register: an address that is found by way of a cold stack would hold up everything after it.
  const auto arrival = boost::context::detail::jump_fcontext(target, &from);
  announce_arrival(arrival.fctx);
  static_cast<FiberSlot*>(arrival.data)->continuation_ = arrival.fctx;
}

}  // namespace tapestry::sched
