// Only ticks at which a timer is due interrupt a CPU, as with NO_HZ: each CPU has one
// high-resolution timer, programmed for the first of them.
#include "irq/jiffy_timer.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace tapestry::irq {

struct JiffyTimers::PerCpu {
  explicit PerCpu(JiffyTimers& timers)
      : actor(armed.add_actor("jiffy timer", core::Phase::device)), tick(&tick_is_due, &timers) {}

  core::EventQueue armed;
  core::ActorId actor;
  sched::Timer tick;
};

JiffyTimers::JiffyTimers(sched::Scheduler& scheduler, Softirqs& softirqs, int hz)
    : scheduler_(scheduler), softirqs_(softirqs), tick_(1'000'000'000 / std::max(hz, 1)) {
  TAPESTRY_ASSERT(hz >= 100 && hz <= 1000, "a kernel has 100 to 1000 ticks a second");
  TAPESTRY_ASSERT(tick_.count() * hz == 1'000'000'000, "a tick is a whole number of nanoseconds");
  softirqs.set_handler(Vector::timer, *this);
}

JiffyTimers::~JiffyTimers() = default;

JiffyTimers::PerCpu& JiffyTimers::on(std::size_t cpu) {
  while (cpu >= state_.size())
    [[unlikely]] state_.push_back(std::make_unique<PerCpu>(*this));
  return *state_[cpu];
}

std::uint64_t JiffyTimers::jiffies() const {
  const core::Timeline& timeline = scheduler_.hub().timeline();
  timeline.require_settled("jiffies");
  return static_cast<std::uint64_t>(core::nanos_since_start(timeline.now()) / tick_.count());
}

std::uint64_t JiffyTimers::to_jiffies(core::Nanos span) const {
  TAPESTRY_ASSERT(span.count() >= 0, "a timer lies ahead");
  const std::int64_t whole = span / tick_;
  return static_cast<std::uint64_t>(whole + (span % tick_ != core::Nanos{0} ? 1 : 0));
}

// --- expiry
// -----------------------------------------------------------------------------------------

void JiffyTimers::tick_is_due(void* object, std::uint64_t) {
  static_cast<JiffyTimers*>(object)->softirqs_.raise(Vector::timer);
}

void JiffyTimers::softirq(sched::Cpu& cpu) {
  PerCpu& state = on(cpu.index());
  for (;;) {
    cpu.settle();
    if (state.armed.next_instant() > cpu.timeline().now()) break;
    state.armed.run_next();
  }
  program(cpu);
}

void JiffyTimers::expire(void* object, std::uint64_t) {
  JiffyTimer& timer = *static_cast<JiffyTimer*>(object);
  timer.pending_ = false;
  timer.expired_(timer.object_);
}

// Its cost is in timer_program of whoever modified the timer, and in the interrupt.
void JiffyTimers::program(sched::Cpu& cpu) {
  PerCpu& state = on(cpu.index());
  const core::Instant next = state.armed.next_instant();
  if (next == core::kNever || (state.tick.armed() && state.tick.expires() <= next)) return;
  state.tick.arm_uncharged(cpu, next);
}

// --- one timer
// --------------------------------------------------------------------------------------

JiffyTimer::~JiffyTimer() { take_out(); }

void JiffyTimer::take_out() {
  if (!pending_) return;
  timers_.on(cpu_).armed.cancel(event_);
  pending_ = false;
}

void JiffyTimer::modify(std::uint64_t jiffy) {
  sched::Cpu& cpu = timers_.scheduler_.cpu();
  cpu.charge(sched::Work::timer_program);
  cpu.settle();
  take_out();
  const std::uint64_t due = std::max(jiffy, timers_.jiffies() + 1);
  TAPESTRY_ASSERT(due < static_cast<std::uint64_t>(core::kForever / timers_.tick_),
                  "a timer expires within the time that 64 bits of nanoseconds hold");
  JiffyTimers::PerCpu& state = timers_.on(cpu.index());
  const core::Instant at = core::kStart + timers_.tick_ * static_cast<std::int64_t>(due);
  event_ = state.armed.push(at, state.actor, &JiffyTimers::expire, this, 0);
  cpu_ = cpu.index();
  pending_ = true;
  timers_.program(cpu);
}

void JiffyTimer::cancel() {
  sched::Cpu& cpu = timers_.scheduler_.cpu();
  cpu.settle();
  if (!pending_) return;
  cpu.charge(sched::Work::timer_program);
  cpu.settle();
  take_out();
}

}  // namespace tapestry::irq
