// Fibers: the stacks, the first run of a fiber and its end. The switch itself is inline in the
// header.
//
// The stacks of an engine are one reserved region of address space, cut into equal pieces: a guard
// page that faults, then the stack. An address on a stack therefore tells which stack it is, and
// nothing needs to keep track of who runs.
//
// The switch is Boost.Context's jump_fcontext, not boost::context::fiber, which wraps it, for three
// reasons. The wrapper's resume has no word to hand over, so that the slot to fill travels through
// memory, and whoever moves a fiber object tests whether it holds a stack that must be unwound:
// beside a bare jump_fcontext there and back (tests/bench/fiber.cpp), an engine on top of it took
// 1.2 to 1.3 times as long where this one took 1.09 to 1.27 in the same, noisy, run (1.08 to 1.1 in
// a calmer one). That unwinding throws an exception of Boost's own, which ends the program in a
// noexcept function or a catch (...) that doesn't rethrow; we cancel in the open. And a
// boost::context::fiber ends by returning from its entry, ours where its owner says so.
#include "sched/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#ifdef TAPESTRY_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define TAPESTRY_KNOWS_VALGRIND 1
#endif

namespace tapestry::sched {

namespace {

constexpr std::size_t stack_bytes_min = 16 * 1024;

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  return (bytes + page - 1) / page * page;
}

// Stacks begin at page boundaries; without this their hot frames would share a few sets of the
// cache. 61 steps of a cache line stay within a page, and being prime, 61 meets no other period.
std::size_t stagger_bytes(std::size_t stack_index) { return 64 * (stack_index % 61); }

}  // namespace

FiberEngine::FiberEngine(std::size_t stack_bytes, std::size_t stacks_max)
    : stack_bytes_(whole_pages(std::max(stack_bytes, stack_bytes_min))),
      stacks_max_(stacks_max),
      guard_bytes_(page_bytes()) {
  bind_to_this_thread();
}

FiberEngine::~FiberEngine() {
  TAPESTRY_ASSERT(
      stacks_in_use() == 0,
      "the owner of each fiber cancels it, and it finishes, before its engine goes away");
  finished_.engine_ = nullptr;
  for (Stack& stack : stacks_)
    release_stack(stack);
  if (region_ != nullptr) ::munmap(region_, region_bytes_);
}

void FiberEngine::bind_to_this_thread() {
  thread_ = this_thread();
  exceptions_ = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
#ifdef TAPESTRY_THREAD_SANITIZER
  thread_stack_.thread_sanitizer_fiber = __tsan_get_current_fiber();
#endif
}

FiberEngine::Stack& FiberEngine::stack_at(const void* address) noexcept {
  if (!owns(address)) return thread_stack_;
  return stacks_[(number(address) - number(region_)) / (guard_bytes_ + stack_bytes_)];
}

bool FiberEngine::map_region() {
  const std::size_t bytes = stacks_max_ * (guard_bytes_ + stack_bytes_);
  void* const mapped = ::mmap(nullptr, bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapped == MAP_FAILED) return false;
  region_ = static_cast<std::byte*>(mapped);
  region_bytes_ = bytes;
  return true;
}

// Appends a stack and leaves it to the caller to pool it.
bool FiberEngine::make_stack() {
  if (stacks_.size() == stacks_max_) return false;
  if (region_ == nullptr && !map_region()) return false;
  Stack stack;
  stack.lowest = region_ + stacks_.size() * (guard_bytes_ + stack_bytes_) + guard_bytes_;
  stack.bytes = stack_bytes_;
  if (::mprotect(stack.lowest, stack.bytes, PROT_READ | PROT_WRITE) != 0) return false;
#ifdef TAPESTRY_KNOWS_VALGRIND
  stack.valgrind_number = VALGRIND_STACK_REGISTER(stack.lowest, stack.lowest + stack.bytes - 1);
#endif
  stacks_.push_back(stack);
  pool_.reserve(stacks_.capacity());  // so that finish never allocates
  return true;
}

void FiberEngine::release_stack([[maybe_unused]] Stack& stack) {
#ifdef TAPESTRY_THREAD_SANITIZER
  if (stack.thread_sanitizer_fiber != nullptr) __tsan_destroy_fiber(stack.thread_sanitizer_fiber);
#endif
#ifdef TAPESTRY_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(stack.lowest, stack.bytes);
#endif
#ifdef TAPESTRY_KNOWS_VALGRIND
  VALGRIND_STACK_DEREGISTER(stack.valgrind_number);
#endif
}

bool FiberEngine::reserve(std::size_t stacks) {
  while (stacks_.size() < stacks) {
    if (!make_stack()) return false;
    pool_.push_back(stacks_.size() - 1);
  }
  return true;
}

bool FiberEngine::start(FiberSlot& slot, void (*entry)(void*), void* argument) {
  TAPESTRY_ASSERT(slot.engine_ == nullptr, "a slot holds one suspended execution");
  if (stacks_in_use() == 0) bind_to_this_thread();
  TAPESTRY_ASSERT(thread_ == this_thread(), "the executions of an engine stay on one thread");

  if (pool_.empty() && !reserve(stacks_.size() + 1)) return false;
  const std::size_t index = pool_.back();
  pool_.pop_back();
  Stack& stack = stacks_[index];
  stack.entry = entry;
  stack.argument = argument;
  stack.fake_frames = nullptr;
#ifdef TAPESTRY_ADDRESS_SANITIZER
  // The frames that the last fiber never returned from have left their red zones behind.
  __asan_unpoison_memory_region(stack.lowest, stack.bytes);
#endif
#ifdef TAPESTRY_THREAD_SANITIZER
  if (stack.thread_sanitizer_fiber != nullptr) __tsan_destroy_fiber(stack.thread_sanitizer_fiber);
  stack.thread_sanitizer_fiber = __tsan_create_fiber(0);
#endif
  const std::size_t usable_bytes = stack.bytes - stagger_bytes(index);
  slot.continuation_ = boost::context::detail::make_fcontext(stack.lowest + usable_bytes,
                                                             usable_bytes, &run_first_time);
  slot.engine_ = this;
  return true;
}

// The lowest frame of every fiber.
void FiberEngine::run_first_time(boost::context::detail::transfer_t arrival) noexcept {
  FiberSlot& left = *static_cast<FiberSlot*>(arrival.data);
  FiberEngine& engine = *left.engine_;
  engine.announce_arrival(arrival.fctx);
  left.continuation_ = arrival.fctx;
  const Stack& stack = engine.stack_at(__builtin_frame_address(0));
  try {
    stack.entry(stack.argument);
  } catch (...) {
    std::fputs(
        "tapestry: an exception left the entry of a fiber: whoever starts a fiber wraps what "
        "it runs\n",
        stderr);
    std::terminate();
  }
  TAPESTRY_ASSERT(false, "the entry of a fiber ends with finish, it doesn't return");
}

// The rare switch: everybody else leaves and arrives with no exception in flight.
void FiberEngine::switch_amid_exceptions(FiberSlot& from, FiberSlot& to) {
  const Exceptions kept = std::exchange(*exceptions_, Exceptions{nullptr, 0});
  switch_to(from, to);
  *exceptions_ = kept;
}

void FiberEngine::finish(FiberSlot& to) {
  TAPESTRY_ASSERT(running_a_fiber(), "only a fiber finishes, never the thread's own stack");
  TAPESTRY_ASSERT(thread_ == this_thread(), "the executions of an engine stay on one thread");
  TAPESTRY_ASSERT(to.engine_ == this, "what is resumed was suspended, and by the same engine");
  TAPESTRY_ASSERT(exceptions_->caught == nullptr && exceptions_->uncaught == 0,
                  "a fiber finishes outside of every catch block and every unwinding");
  // We still stand on this stack, but before the jump nobody else runs who could take it.
  const Stack& stack = stack_at(__builtin_frame_address(0));
  pool_.push_back(static_cast<std::size_t>(&stack - stacks_.data()));
  finished_.engine_ = this;
  to.engine_ = nullptr;
  announce_departure(to.continuation_, true);
  boost::context::detail::jump_fcontext(to.continuation_, &finished_);
  TAPESTRY_ASSERT(false, "a fiber that has finished was resumed");
  __builtin_unreachable();
}

}  // namespace tapestry::sched
