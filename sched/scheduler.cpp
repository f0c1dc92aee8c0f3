#include "sched/scheduler.hpp"

#include <utility>

#include "core/assert.hpp"

namespace tapestry::sched {

Thread::Thread(Scheduler& scheduler, ThreadAttributes attributes, std::function<void()> body)
    : scheduler_(scheduler),
      attributes_(std::move(attributes)),
      body_(std::move(body)),
      context_(attributes_.kernel_thread ? ContextKind::system : ContextKind::user, this),
      subject_(scheduler.hub().timeline().names().add(scheduler.name(), name())) {}

Scheduler::Scheduler(Hub& hub, const CostTable& costs, InterruptSource& interrupts,
                     SchedulerOptions options)
    : hub_(hub), costs_(costs), interrupts_(interrupts), options_(std::move(options)) {}

Scheduler::~Scheduler() {
  hub_.begin_cancelling();
  cancel_all();
}

Cpu& Scheduler::add_cpu() {
  std::string name = options_.machine + ".cpu" + std::to_string(cpus_.size());
  physical_times_.push_back(
      std::make_unique<PhysicalTime>(hub_, std::move(name), costs_.cost(Work::ipi_latency)));
  PhysicalTime& time = *physical_times_.back();
  Cpu& cpu = add_cpu(time);
  const bool started = hub_.fibers().start(time.first_slot(), &Scheduler::run_idle, &cpu);
  TAPESTRY_ASSERT(started, "a world has stacks enough for the idle thread of each CPU");
  hub_.wake(time.index());
  return cpu;
}

Cpu& Scheduler::add_cpu(TimeSource& time) {
  std::string name = options_.machine + ".cpu" + std::to_string(cpus_.size());
  cpus_.push_back(std::make_unique<Cpu>(*this, cpus_.size(), std::move(name), time));
  return *cpus_.back();
}

Thread& Scheduler::spawn(ThreadAttributes attributes, std::function<void()> body) {
  threads_.push_back(std::make_unique<Thread>(*this, std::move(attributes), std::move(body)));
  Thread& thread = *threads_.back();
  const bool started = hub_.fibers().start(thread.fiber_, &Scheduler::run_thread, &thread);
  if (!started) throw std::runtime_error("too many threads: no stack left for " + thread.name());
  thread.state_ = Thread::State::blocked;
  make_ready(thread, nullptr);
  return thread;
}

// --- fibers
// -------------------------------------------------------------------------------------------------

void Scheduler::run_thread(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  Scheduler& scheduler = thread.scheduler_;
  Hub& hub = scheduler.hub_;
  try {
    throw_if_cancelling(hub.cancelling());
    scheduler.switch_in(thread);
    thread.body_();
    scheduler.cpu().settle();
  } catch (const Cancelled&) {
  } catch (...) {
    hub.fail(std::current_exception());
  }
  thread.context_.debt_ns = 0;
  thread.state_ = Thread::State::finished;
  if (!hub.cancelling()) scheduler.end_thread(thread);
  hub.fibers().finish(hub.main());
}

void Scheduler::run_idle(void* argument) {
  Cpu& cpu = *static_cast<Cpu*>(argument);
  Hub& hub = cpu.scheduler_.hub_;
  try {
    throw_if_cancelling(hub.cancelling());
    cpu.run_idle_thread();
  } catch (const Cancelled&) {
  } catch (...) {
    hub.fail(std::current_exception());
    try {
      hub.park(static_cast<PhysicalTime&>(cpu.time_).index(), core::kNever);
    } catch (const Cancelled&) {
    }
  }
  hub.fibers().finish(hub.main());
}

void Scheduler::end_thread(Thread& thread) {
  Cpu& cpu = *thread.cpu_;
  tell_thread_ends(thread);
  cpu.finish_slice(thread);
  Thread* next = nullptr;
  try {
    while ((next = cpu.run_queue_.take_next()) == nullptr)
      cpu.wait_for_work();
  } catch (const Cancelled&) {
  } catch (...) {
    hub_.fail(std::current_exception());
  }
  if (next == nullptr) hub_.fibers().finish(hub_.main());
  cpu.current_ = next;
  hub_.fibers().finish(next->fiber_);
}

void Scheduler::switch_away(Thread& previous) {
  Cpu& cpu = *previous.cpu_;
  tell_thread_ends(previous);
  cpu.finish_slice(previous);
  Thread* next = cpu.run_queue_.take_next();
  bool was_idle = false;
  cpu.idles_on_ = &previous;
  for (; next == nullptr; next = cpu.run_queue_.take_next()) {
    cpu.wait_for_work();
    was_idle = true;
  }
  cpu.idles_on_ = nullptr;
  cpu.current_ = next;
  if (next != &previous) {
    hub_.fibers().switch_to(previous.fiber_, next->fiber_);
    throw_if_cancelling(hub_.cancelling());
    switch_in(previous);
  } else if (was_idle) {
    switch_in(previous);
  } else {
    previous.state_ = Thread::State::running;
    hub_.timeline().tell(core::Happening::thread_begins, previous.subject_);
    cpu.start_slice(previous);
  }
}

void Scheduler::tell_thread_ends(const Thread& thread) {
  core::Timeline& timeline = hub_.timeline();
  if (!timeline.on_happening.watched()) return;
  const bool waits = thread.state_ == Thread::State::blocked && thread.waits_for_ != nullptr;
  timeline.tell(core::Happening::thread_ends, thread.subject_,
                waits ? timeline.names().intern(thread.waits_for_) : 0);
}

// First steps of a thread that has been given its CPU, on its own stack.
void Scheduler::switch_in(Thread& thread) {
  Cpu& cpu = *thread.cpu_;
  if (cpu.physical_ == nullptr) cpu.time_.thread_runs(cpu, thread);
  cpu.current_ = &thread;
  cpu.context_ = &thread.context_;
  thread.state_ = Thread::State::running;
  cpu.need_resched_ = false;
  cpu.refresh_pending();
  cpu.resume_here();
  hub_.timeline().tell(core::Happening::thread_begins, thread.subject_);
  ++cpu.context_switches_;
  cpu.start_slice(thread);
  cpu.pay_now(Work::context_switch);
}

// --- waking and blocking
// ----------------------------------------------------------------------------------------

Cpu& Scheduler::choose_cpu(const Thread& thread, Cpu* waker) {
  TAPESTRY_ASSERT(!cpus_.empty(), "a machine has a CPU before it has threads");
  const CpuMask allowed = thread.attributes_.affinity;
  const auto may_use = [&](const Cpu& cpu) { return (allowed >> cpu.index_ & 1) != 0; };
  const auto idle = [](const Cpu& cpu) {
    return cpu.current_ == nullptr && cpu.run_queue_.empty();
  };
  Cpu* last = thread.cpu_;
  // While the CPU that it blocked on waits for work on its stack, it can run nowhere else.
  if (last != nullptr && last->idles_on_ == &thread) return *last;
  if (last != nullptr && may_use(*last) && idle(*last)) return *last;
  if (waker != nullptr && may_use(*waker) && idle(*waker)) return *waker;
  Cpu* shortest = nullptr;
  for (const auto& cpu : cpus_) {
    if (!may_use(*cpu)) continue;
    if (idle(*cpu)) return *cpu;
    if (shortest == nullptr || cpu->run_queue_.size() < shortest->run_queue_.size())
      shortest = cpu.get();
  }
  TAPESTRY_ASSERT(shortest != nullptr, "a thread may run on some CPU of its machine");
  return last != nullptr && may_use(*last) ? *last : *shortest;
}

void Scheduler::make_ready(Thread& thread, Cpu* waker) {
  TAPESTRY_ASSERT(thread.state_ == Thread::State::blocked, "only a blocked thread is woken");
  hub_.timeline().require_settled("a run queue");
  Cpu& target = choose_cpu(thread, waker);
  Thread* running = target.current_;
  if (running != nullptr) target.run_queue_.charge(*running);
  if (thread.cpu_ != nullptr && thread.cpu_ != &target)
    target.run_queue_.adopt(thread, thread.cpu_->run_queue_);
  thread.cpu_ = &target;
  thread.state_ = Thread::State::ready;
  thread.waits_for_ = nullptr;
  target.run_queue_.add_woken(thread, running);
  const bool takes_over = running == nullptr || target.run_queue_.preempts(thread, *running);
  if (!takes_over) {
    target.start_slice(*running);
  } else if (waker == nullptr) {
    target.request_attention();
  } else if (waker == &target) {
    if (running != nullptr) target.set_need_resched();
  } else {
    waker->charge(Work::resched_ipi);
    waker->settle();
    target.time_.kick(*waker, target);
  }
}

void Scheduler::block(const char* waits_for) {
  hub_.timeline().require_settled("blocking");
  Thread& thread = current();
  TAPESTRY_ASSERT(&cpu().context() == &thread.context_, "only a thread blocks, never a handler");
  TAPESTRY_ASSERT(
      cpu().interrupts_enabled() && cpu().bottom_halves_enabled() && cpu().preemption_off_ == 0,
      "a thread blocks with nothing excluded");
  thread.state_ = Thread::State::blocked;
  thread.waits_for_ = waits_for;
  thread.blocked_since_ = hub_.timeline().now();
  switch_away(thread);
}

void Scheduler::sleep_until(core::Instant until) {
  struct Sleep {
    Thread& thread;
    bool over = false;
  } sleep{current()};
  auto wake = [](void* object, std::uint64_t) {
    Sleep& ending = *static_cast<Sleep*>(object);
    Scheduler& scheduler = ending.thread.scheduler_;
    scheduler.cpu().charge(Work::wakeup);
    scheduler.cpu().settle();
    ending.over = true;
    if (ending.thread.state_ == Thread::State::blocked)
      scheduler.make_ready(ending.thread, &scheduler.cpu());
  };
  Timer timer(wake, &sleep);
  timer.arm(cpu(), until);
  while (!sleep.over) {
    block("a timer");
    cpu().settle();
  }
}

void Scheduler::yield() {
  Cpu& here = cpu();
  here.settle();
  if (here.run_queue_.empty()) return;
  Thread& thread = current();
  here.run_queue_.charge(thread);
  thread.state_ = Thread::State::ready;
  here.run_queue_.add_yielded(thread);
  switch_away(thread);
}

// --- the end
// -------------------------------------------------------------------------------------------------

void Scheduler::cancel_all() {
  const auto end = [this](FiberSlot& slot) {
    while (slot.holds_suspended())
      hub_.cancel(slot);
  };
  for (const auto& time : physical_times_)
    end(time->first_slot());
  for (const auto& cpu : cpus_)
    end(cpu->idle_fiber_);
  for (const auto& thread : threads_)
    end(thread->fiber_);
}

std::vector<std::string> Scheduler::blocked_threads() const {
  std::vector<std::string> lines;
  for (const auto& thread : threads_) {
    if (thread->state_ != Thread::State::blocked) continue;
    const std::int64_t since = core::nanos_since_start(thread->blocked_since_);
    lines.push_back(options_.machine + ": " + thread->name() + " waits for " +
                    (thread->waits_for_ ? thread->waits_for_ : "nothing") + " since " +
                    std::to_string(since) + " ns");
  }
  return lines;
}

}  // namespace tapestry::sched
