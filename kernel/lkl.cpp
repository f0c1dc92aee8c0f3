// The guest's code is one continuation, `guest_code_`, that host threads pass on. Each of them has
// a stack of its own, its home, from which it resumes the guest when it gets the lock, and to which
// the guest switches when the lock goes elsewhere: to another thread, which is woken by a futex, or
// to nobody.
#include "kernel/lkl.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "kernel/machine.hpp"
#include "kernel/world.hpp"

namespace tapestry::kernel {

using sched::Work;

Lkl::Lkl(Machine& guest, Machine& host, Placement placement)
    : guest_(guest), host_(host), placement_(placement), host_timer_(&Lkl::timer_expired, this) {}

Lkl::~Lkl() = default;

void Lkl::boot() {
  sched::FiberEngine& fibers = host_.world().hub().fibers();
  const bool started = fibers.start(guest_code_, &Lkl::guest_main, this);
  TAPESTRY_ASSERT(started, "a world has stacks enough for the idle thread of each CPU");
  idle_ = &add_thread("idle", "interrupts", placement_.guest, &Lkl::run_guest_threads);
  poll_ = &add_thread("poll", "descriptors", placement_.poll, &Lkl::run_poll_thread);
  timer_ = &add_thread("timer", "a timer", placement_.poll, &Lkl::run_timer_thread);
  idle_->turn = true;
}

void Lkl::cancel_all() {
  sched::Hub& hub = host_.world().hub();
  for (HostThread& thread : threads_)
    while (thread.home.holds_suspended())
      hub.cancel(thread.home);
  while (guest_code_.holds_suspended())
    hub.cancel(guest_code_);
}

// --- host threads ------------------------------------------------------------------------------

Lkl::HostThread& Lkl::add_thread(const std::string& name, const char* waits_for,
                                 sched::CpuMask where, void (Lkl::*main)(HostThread&)) {
  HostThread& added = threads_.emplace_back(waits_for);
  added.thread = &host_scheduler().spawn({.name = guest_.name() + "/" + name, .affinity = where},
                                         [this, main, &added] { (this->*main)(added); });
  return added;
}

Lkl::HostThread& Lkl::thread_of(sched::Thread& guest) {
  for (HostThread& thread : threads_)
    if (thread.guest == &guest) return thread;
  HostThread& added =
      add_thread(guest.name(), "its turn", placement_.guest, &Lkl::run_guest_threads);
  added.guest = &guest;
  return added;
}

// The guest's first code. What escapes from it ends the run; then nobody comes back here but to
// unwind.
void Lkl::guest_main(void* lkl) {
  Lkl& self = *static_cast<Lkl*>(lkl);
  sched::Hub& hub = self.host_.world().hub();
  try {
    sched::throw_if_cancelling(hub.cancelling());
    self.guest_.scheduler().cpu(0).run_idle_thread();
  } catch (const sched::Cancelled&) {
  } catch (...) {
    hub.fail(std::current_exception());
    try {
      self.leave_guest();
    } catch (const sched::Cancelled&) {
    }
  }
  hub.fibers().finish(hub.main());
}

void Lkl::run_guest_threads(HostThread& self) {
  for (;;) {
    wait_for_turn(self);
    if (std::exchange(self.must_take, false)) take_lock();
    carry(self);
  }
}

void Lkl::run_poll_thread(HostThread& self) {
  for (;;) {
    enter_host_kernel(false);
    self.turns.wait(host_scheduler(), [this] { return !events_.empty(); });
    std::size_t events = std::min(events_.size(), kPollBatch);
    host_cpu().charge(Work::epoll_wait, static_cast<std::int64_t>(events));
    leave_host(false);
    for (; events > 0; --events) {
      const Event event = events_.front();
      events_.pop_front();
      dispatch(event);
      host_cpu().settle();
    }
  }
}

// A read of a timer's descriptor.
void Lkl::run_timer_thread(HostThread& self) {
  for (;;) {
    enter_host_kernel(false);
    self.turns.wait(host_scheduler(), [this] { return timer_due_; });
    timer_due_ = false;
    host_cpu().charge(Work::eventfd);
    leave_host(false);
    host_cpu().charge(Work::lock);
    host_cpu().settle();
    timer_pending_ = true;
    trigger();
  }
}

void Lkl::dispatch(const Event& event) {
  if (event.client == nullptr) return line_raised(*event.line);
  const bool readable = std::exchange(event.client->readable_, false);
  const bool writable = std::exchange(event.client->writable_, false);
  event.client->poll_ready(readable, writable);
}

// --- the lock ----------------------------------------------------------------------------------

// On a host thread that holds the lock: runs the guest until it gives the lock away.
void Lkl::carry(HostThread& self) {
  sched::Hub& hub = host_.world().hub();
  for (;;) {
    carrier_ = &self;
    in_guest_ = true;
    hub.fibers().switch_to(self.home, guest_code_);
    sched::throw_if_cancelling(hub.cancelling());
    watch_host();
    if (next_ != nullptr) return post(*std::exchange(next_, nullptr));
    wake_in_host(lock_waits_);
    if (self.outside.count() == 0) return;
    const core::Instant start = host_cpu().now(host_cpu().settle());
    const bool never = false;
    host_cpu().run_guest(self.outside, &never);
    stolen_ += host_cpu().timeline().now() - start - self.outside;
    take_lock();
    self.outside = core::Nanos{0};
  }
}

// In the guest, with nothing owed: back to the home of the thread that carries it. Returns on the
// thread that carries it next.
void Lkl::leave_guest() {
  sched::Hub& hub = host_.world().hub();
  in_guest_ = false;
  hub.fibers().switch_to(guest_code_, carrier_->home);
  sched::throw_if_cancelling(hub.cancelling());
  watch_guest();
}

void Lkl::hand_to(HostThread& next) {
  if (carrier_ == &next) return;
  const core::Instant start = host_cpu().timeline().now();
  ++handovers_;
  next_ = &next;
  leave_guest();
  handing_over_ += host_cpu().timeline().now() - start;
}

void Lkl::give_lock_back() {
  free_ = true;
  leave_guest();
}

// lkl_cpu_get, on a host thread outside of the guest.
void Lkl::take_lock() {
  host_cpu().charge(Work::lock);
  host_cpu().settle();
  if (!free_) {
    ++contended_;
    enter_futex(false);
    // Woken is not yet running: somebody else may have taken it again.
    lock_waits_.wait(host_scheduler(), [this] { return free_; });
    free_ = false;
    leave_host(false);
  }
  free_ = false;
}

// sem_up and sem_down.
void Lkl::post(HostThread& next) {
  enter_futex(false);
  next.turn = true;
  next.turns.wake_one(host_cpu());
  leave_host(false);
}

void Lkl::wait_for_turn(HostThread& self) {
  enter_futex(false);
  self.turns.wait(host_scheduler(), [&self] { return self.turn; });
  self.turn = false;
  leave_host(false);
}

void Lkl::wake_in_host(sched::WaitQueue& queue) {
  if (!queue.anyone_waits()) return;
  const bool from_guest = guest_runs_here();
  enter_futex(from_guest);
  queue.wake_one(host_cpu());
  leave_host(from_guest);
}

// --- the guest's CPU ---------------------------------------------------------------------------

core::Nanos Lkl::spend(sched::Cpu& cpu, core::Nanos amount, bool) {
  const bool outside = cpu.context().kind == sched::ContextKind::user;
  return outside ? spend_outside(amount) : spend_inside(amount);
}

core::Nanos Lkl::spend_inside(core::Nanos amount) {
  const core::Instant start = host_cpu().timeline().now();
  const bool never = false;
  host_cpu().run_guest(amount, &never);
  stolen_ += host_cpu().timeline().now() - start - amount;
  return core::Nanos{0};
}

// The carrier does it without the lock. Who resumes the guest meanwhile brings an interrupt.
core::Nanos Lkl::spend_outside(core::Nanos amount) {
  if (!guest_.scheduler().cpu(0).interrupts_enabled()) return spend_inside(amount);
  HostThread& own = *carrier_;
  own.outside = amount;
  give_lock_back();
  while (carrier_ != &own) {
    show_pending();
    guest_.interrupts().deliver(guest_.scheduler().cpu(0));
    give_lock_back();
  }
  return core::Nanos{0};
}

void Lkl::thread_runs(sched::Cpu&, sched::Thread& thread) {
  HostThread& its = thread_of(thread);
  // An interrupt's thread wakes the idle loop, which schedules.
  if (carrier_ != &its && carrier_->guest == nullptr) hand_to(*idle_);
  hand_to(its);
  show_pending();
}

// The idle loop gives the lock back and waits; an interrupt's thread just goes away again.
void Lkl::idle(sched::Cpu& cpu) {
  if (carrier_->guest != nullptr) hand_to(*idle_);
  if (!anything_pending() && !cpu.attention_requested()) give_lock_back();
  show_pending();
}

// What happens in the guest is seen when it settles, and what comes from the host is triggered.
// That leaves threads which are created while nothing runs.
void Lkl::notice(sched::Cpu&) {
  if (host_.world().hub().a_cpu_runs() || !free_ || idle_->turn) return;
  idle_->turn = idle_->must_take = true;
  idle_->turns.wake_from_outside();
}

void Lkl::kick(sched::Cpu&, sched::Cpu&) { TAPESTRY_ASSERT(false, "an LKL guest has one CPU"); }

void Lkl::program_timer(sched::Cpu&, core::Instant at) {
  if (at == core::kNever && !host_timer_.armed()) return;
  enter_host_kernel(true);
  if (at == core::kNever)
    host_timer_.cancel(host_cpu());
  else
    host_timer_.arm(host_cpu(), at);
  leave_host(true);
}

// --- between the two kernels -------------------------------------------------------------------

sched::Scheduler& Lkl::host_scheduler() const { return host_.scheduler(); }

sched::Cpu& Lkl::host_cpu() const { return host_.scheduler().cpu(); }

bool Lkl::guest_runs_here() const {
  return in_guest_ && running_thread() == carrier_->thread &&
         host_cpu().context().kind == sched::ContextKind::user;
}

const sched::Thread* Lkl::running_thread() const { return host_cpu().current(); }

void Lkl::watch_host() const {
  sched::Cpu& here = host_cpu();
  here.timeline().set_debt_cell(&here.context().debt_ns, here.subject());
}

void Lkl::watch_guest() const {
  sched::Cpu& cpu = guest_.scheduler().cpu(0);
  cpu.timeline().set_debt_cell(&cpu.context().debt_ns, cpu.subject());
}

void Lkl::enter_host_kernel(bool from_guest) {
  if (from_guest) watch_host();
  sched::Cpu& here = host_cpu();
  here.enter_kernel();
  here.charge(Work::syscall);
  here.settle();
}

void Lkl::enter_futex(bool from_guest) {
  enter_host_kernel(from_guest);
  host_cpu().charge(Work::futex);
  host_cpu().settle();
}

void Lkl::leave_host(bool from_guest) {
  host_cpu().leave_kernel();
  if (from_guest) watch_guest();
}

}  // namespace tapestry::kernel
