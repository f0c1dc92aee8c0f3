#include "irq/softirq.hpp"

#include <string>

#include "core/assert.hpp"

namespace tapestry::irq {

namespace {

constexpr std::uint32_t bit(Vector vector) {
  return std::uint32_t{1} << static_cast<std::size_t>(vector);
}

// Too urgent to wait for a thread: SOFTIRQ_NOW_MASK.
constexpr std::uint32_t kAtOnce = bit(Vector::hi) | bit(Vector::tasklet);

}  // namespace

const char* vector_name(Vector vector) {
  static constexpr std::array<const char*, kVectors> kNames{
      "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};
  return kNames[static_cast<std::size_t>(vector)];
}

Softirqs::Softirqs(sched::Scheduler& scheduler, SoftirqOptions options)
    : scheduler_(scheduler), options_(options) {
  TAPESTRY_ASSERT(options_.restarts_max >= 1, "a run of softirqs makes at least one pass");
}

Softirqs::PerCpu& Softirqs::on(std::size_t cpu) {
  while (cpu >= state_.size())
    [[unlikely]] state_.push_back(std::make_unique<PerCpu>());
  return *state_[cpu];
}

void Softirqs::set_handler(Vector vector, SoftirqHandler& handler) {
  handlers_[static_cast<std::size_t>(vector)] = &handler;
}

bool Softirqs::pending(const sched::Cpu& cpu) const {
  const PerCpu* state = find(cpu.index());
  return state != nullptr && state->pending != 0;
}

std::uint64_t Softirqs::runs(std::size_t cpu, Vector vector) const {
  const PerCpu* state = find(cpu);
  return state != nullptr ? state->runs[static_cast<std::size_t>(vector)] : 0;
}

std::uint64_t Softirqs::handed_over(std::size_t cpu) const {
  const PerCpu* state = find(cpu);
  return state != nullptr ? state->handed_over : 0;
}

void Softirqs::raise(Vector vector) {
  sched::Cpu& cpu = scheduler_.cpu();
  cpu.settle();
  TAPESTRY_ASSERT(handlers_[static_cast<std::size_t>(vector)] != nullptr,
                  "a softirq is raised after its handler is known");
  PerCpu& state = on(cpu.index());
  state.pending |= bit(vector);
  cpu.timeline().tell(core::Happening::softirq_raised, 0, static_cast<std::uint64_t>(vector));
  // Nobody is on the way out of anything that would run it.
  if (!cpu.in_interrupt() && cpu.bottom_halves_enabled()) state.thread_waits.wake_one(cpu);
}

// --- a run
// -----------------------------------------------------------------------------------------

bool Softirqs::thread_does_it(const PerCpu& state) const {
  if (!options_.skip_inline_while_thread_runs || state.thread == nullptr) return false;
  if ((state.pending & kAtOnce) != 0) return false;
  return state.thread->state() == sched::Thread::State::ready ||
         state.thread->state() == sched::Thread::State::running;
}

void Softirqs::run_pending(sched::Cpu& cpu) {
  const PerCpu& state = on(cpu.index());
  if (state.pending == 0 || thread_does_it(state)) return;
  run_bounded(cpu, nullptr);
}

// __do_softirq: the bounds are judged after a pass, and only if something is left.
void Softirqs::run_bounded(sched::Cpu& cpu, sched::Thread* bill_to) {
  cpu.run_in_context(sched::ContextKind::softirq, bill_to, [this, &cpu, bill_to] {
    PerCpu& state = on(cpu.index());
    const core::Instant limit = core::after(cpu.now(cpu.settle()), options_.time_max);
    for (int passes = 1;; ++passes) {
      run_pass(cpu);
      const core::Settled settled = cpu.settle();
      if (state.pending == 0) return;
      if (!options_.hand_over) continue;
      if (passes >= options_.restarts_max || cpu.now(settled) >= limit || cpu.need_resched()) break;
    }
    if (bill_to == nullptr) ++state.handed_over;
    state.thread_waits.wake_one(cpu);
  });
}

void Softirqs::run_pass(sched::Cpu& cpu) {
  PerCpu& state = on(cpu.index());
  const std::uint32_t raised = state.pending;
  state.pending = 0;
  for (std::size_t number = 0; number < kVectors; ++number) {
    if ((raised >> number & 1) == 0) continue;
    const auto vector = static_cast<Vector>(number);
    ++state.runs[number];
    on_entry(vector, cpu, cpu.timeline().now());
    cpu.timeline().tell(core::Happening::softirq_begins, 0, number);
    cpu.charge(sched::Work::softirq);
    cpu.settle();
    handlers_[number]->softirq(cpu);
    cpu.settle();
    on_exit(vector, cpu, cpu.timeline().now());
    cpu.timeline().tell(core::Happening::softirq_ends, 0, number);
  }
}

// --- ksoftirqd
// ------------------------------------------------------------------------------------

void Softirqs::start_threads() {
  for (std::size_t cpu = 0; cpu < scheduler_.cpus(); ++cpu) {
    on(cpu).thread = &scheduler_.spawn({.name = "ksoftirqd/" + std::to_string(cpu),
                                        .affinity = sched::CpuMask{1} << cpu,
                                        .kernel_thread = true},
                                       [this] { thread_main(); });
  }
}

void Softirqs::thread_main() {
  sched::Cpu& cpu = scheduler_.cpu();  // pinned: it never moves
  PerCpu& state = on(cpu.index());
  for (;;) {
    state.thread_waits.wait(scheduler_, [&state] { return state.pending != 0; });
    run_bounded(cpu, state.thread);
    cpu.cond_resched();
  }
}

}  // namespace tapestry::irq
