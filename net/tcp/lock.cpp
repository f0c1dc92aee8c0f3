#include "net/tcp/lock.hpp"

#include "sched/guards.hpp"

namespace tapestry::net::tcp {

void SocketLock::take(Stack& stack) {
  stack.cpu().charge(sched::Work::lock);
  for (;;) {
    stack.cpu().settle();
    if (owner_ == Owner::none) break;
    if (owner_ == Owner::softirq)
      spin(stack);
    else
      sleepers_.wait(stack.scheduler(), [this] { return owner_ != Owner::process; });
  }
  owner_ = Owner::process;
}

// Bottom halves are off, as around spin_lock_bh: the one who spins is not taken off its CPU.
void SocketLock::spin(Stack& stack) {
  const sched::BottomHalvesOff exclude(stack.cpu());
  if (owner_ != Owner::softirq) return;
  Spinner spinner;
  spinner.next = spinners_;
  spinners_ = &spinner;
  stack.cpu().spin_until(spinner.wait, core::kNever, sched::Work::spin,
                         [this] { return owner_ != Owner::softirq; });
  Spinner** at = &spinners_;
  while (*at != &spinner)
    at = &(*at)->next;
  *at = spinner.next;
}

bool SocketLock::try_take(Stack& stack) {
  stack.timeline().require_settled("who has a socket");
  if (owner_ != Owner::none) return false;
  owner_ = Owner::softirq;
  return true;
}

void SocketLock::release(Stack& stack) {
  owner_ = Owner::none;
  for (Spinner* spinner = spinners_; spinner != nullptr; spinner = spinner->next)
    spinner->wait.notify();
  if (sleepers_.anyone_waits() && !stack.scheduler().hub().cancelling())
    sleepers_.wake_one(stack.cpu());
}

}  // namespace tapestry::net::tcp
