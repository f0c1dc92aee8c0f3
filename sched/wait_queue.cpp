#include "sched/wait_queue.hpp"

#include "core/assert.hpp"

namespace tapestry::sched {

WaitQueue::~WaitQueue() = default;

void WaitQueue::append(Thread& thread) {
  thread.next_waiter_ = nullptr;
  thread.queue_ = this;
  if (last_ != nullptr)
    last_->next_waiter_ = &thread;
  else
    first_ = &thread;
  last_ = &thread;
}

bool WaitQueue::remove(Thread& thread) {
  if (thread.queue_ != this) return false;
  Thread* before = nullptr;
  for (Thread* at = first_; at != nullptr; before = at, at = at->next_waiter_) {
    if (at != &thread) continue;
    (before != nullptr ? before->next_waiter_ : first_) = thread.next_waiter_;
    if (last_ == &thread) last_ = before;
    thread.next_waiter_ = nullptr;
    thread.queue_ = nullptr;
    return true;
  }
  return false;
}

void WaitQueue::block(Scheduler& scheduler) {
  append(scheduler.current());
  scheduler.block(name_);
}

void WaitQueue::wake_one(Cpu& waker) {
  waker.settle();
  if (first_ == nullptr) return;
  waker.charge(Work::wakeup);
  waker.settle();
  if (first_ == nullptr) return;
  Thread& thread = *first_;
  remove(thread);
  thread.scheduler().make_ready(thread, &waker);
}

void WaitQueue::wake_from_outside() {
  if (first_ == nullptr) return;
  Thread& thread = *first_;
  remove(thread);
  thread.scheduler().make_ready(thread, nullptr);
}

void WaitQueue::wake_all(Cpu& waker) {
  waker.settle();
  while (first_ != nullptr)
    wake_one(waker);
}

WaitQueue::Deadline::Deadline(WaitQueue& queue, Scheduler& scheduler, core::Instant at)
    : queue_(queue), thread_(scheduler.current()), timer_(&Deadline::expire, this) {
  if (at != core::kNever) timer_.arm(scheduler.cpu(), at);
}

WaitQueue::Deadline::~Deadline() {
  if (gone_ != nullptr) *gone_ = true;
  timer_.cancel_uncharged();
}

void WaitQueue::Deadline::expire(void* argument, std::uint64_t) {
  Deadline& deadline = *static_cast<Deadline*>(argument);
  Scheduler& scheduler = deadline.thread_.scheduler();
  // While the wake-up is paid for, another CPU may wake the thread, and it leaves with its
  // deadline.
  bool gone = false;
  deadline.gone_ = &gone;
  scheduler.cpu().charge(Work::wakeup);
  scheduler.cpu().settle();
  if (gone) return;
  deadline.gone_ = nullptr;
  deadline.passed_ = true;
  if (deadline.queue_.remove(deadline.thread_))
    scheduler.make_ready(deadline.thread_, &scheduler.cpu());
}

}  // namespace tapestry::sched
