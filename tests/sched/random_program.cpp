#include "tests/sched/random_program.hpp"

#include <algorithm>
#include <utility>

namespace tapestry::tests {

namespace {

sched::CostTable some_costs(std::uint64_t program) {
  // Half of the programs cost nothing but what they spend themselves: many ties.
  return program % 2 == 0 ? small_costs() : sched::CostTable::zero();
}

TestMachineOptions some_machine(std::uint64_t program) {
  static constexpr sched::Preemption kModels[] = {
      sched::Preemption::none, sched::Preemption::voluntary, sched::Preemption::full};
  return {.cpus = 2,
          .preemption = kModels[program % 3],
          .time_slice = core::Nanos{300},
          .softirqs = {.restarts_max = 3, .time_max = core::Nanos{400}},
          .napi = {.budget = 100, .budget_time = core::Nanos{200}}};
}

}  // namespace

RandomProgram::RandomProgram(sched::SettleMode mode, std::uint64_t program, std::uint64_t seed)
    : world_(mode, some_costs(program), seed),
      random_(program, "program"),
      machine_(&world_.add_machine(some_machine(program))) {
  for (std::size_t i = 0; i < kQueues; ++i) {
    queues_.push_back(&world_.make<sched::WaitQueue>("an item"));
    items_.push_back(0);
  }
  add_interrupts();
  add_deferred();
  add_threads();
}

RandomProgram::Actor& RandomProgram::add_actor(std::string name, std::size_t steps,
                                               bool may_block) {
  Actor& actor = world_.make<Actor>();
  actor.program = this;
  actor.name = std::move(name);
  actor.may_block = may_block;
  for (std::size_t i = 0; i < steps; ++i) {
    actor.steps.push_back({random_.uniform(12), random_.uniform(1000),
                           static_cast<std::int64_t>(random_.uniform(150))});
  }
  return actor;
}

void RandomProgram::add_threads() {
  for (int i = 0; i < 4; ++i) {
    Actor& actor = add_actor("thread " + std::to_string(i), 25, true);
    sched::ThreadAttributes attributes{.name = actor.name};
    attributes.nice = static_cast<int>(random_.uniform(5)) - 2;
    attributes.realtime_priority = random_.uniform(5) == 0 ? 1 : 0;
    attributes.affinity = random_.uniform(4) + 1 == 4 ? sched::kAnyCpu : 1 + random_.uniform(3);
    attributes.kernel_thread = random_.uniform(2) == 0;
    machine_->scheduler.spawn(attributes, [this, &actor] {
      for (const Step& step : actor.steps)
        play(actor, step);
    });
  }
}

void RandomProgram::add_interrupts() {
  for (std::size_t i = 0; i < 3; ++i) {
    Actor& actor = add_actor("irq " + std::to_string(i), 4, false);
    auto& handler = world_.make<Handler>([this, &actor] { play_next(actor); });
    irq::IrqLine& line =
        machine_->interrupts.add_line(actor.name, irq::Trigger::edge, handler, i % kCpus);
    lines_.push_back(&line);
    std::int64_t at_ns = 0;
    for (int n = 0; n < 12; ++n) {
      at_ns += static_cast<std::int64_t>(random_.uniform(500));
      world_.at(at_ns, [&line] { line.raise(); });
    }
  }
}

void RandomProgram::add_deferred() {
  for (const irq::Vector vector : {irq::Vector::hi, irq::Vector::net_tx, irq::Vector::rcu}) {
    Actor& actor = add_actor(irq::vector_name(vector), 5, false);
    machine_->softirqs.set_handler(
        vector, world_.make<SoftirqFunction>([this, &actor](sched::Cpu&) { play_next(actor); }));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string number = std::to_string(i);
    const auto expired = [](void* actor, std::uint64_t) {
      Actor& its = *static_cast<Actor*>(actor);
      its.program->play_next(its);
    };
    const auto run = [](void* actor) {
      Actor& its = *static_cast<Actor*>(actor);
      its.program->play_next(its);
    };
    timers_.push_back(&world_.make<sched::Timer>(expired, &add_actor("timer " + number, 3, false)));
    jiffy_timers_.push_back(&world_.make<irq::JiffyTimer>(
        machine_->jiffies, run, &add_actor("jiffy timer " + number, 3, false)));
    tasklets_.push_back(&world_.make<irq::Tasklet>(machine_->tasklets, run,
                                                   &add_actor("tasklet " + number, 3, false)));
  }
  struct Poller final : irq::NapiPoller {
    Poller(RandomProgram& owner, Actor& its) : program(owner), actor(its) {}
    int poll(int budget) override {
      program.play_next(actor);
      const int work = static_cast<int>(actor.next % 3) * budget / 2;
      if (work < budget) program.napi_->complete_done(work);
      return work;
    }
    RandomProgram& program;
    Actor& actor;
  };
  auto& poller = world_.make<Poller>(*this, add_actor("napi", 5, false));
  napi_ = &world_.make<irq::Napi>(machine_->napi, "napi", poller);
  napi_->enable();
}

// --- the steps
// ---------------------------------------------------------------------------------------

void RandomProgram::play_next(Actor& actor) {
  const Step step = actor.steps[actor.next++ % actor.steps.size()];
  if (actor.next > 40) return;  // or handlers keep each other busy for ever
  play(actor, step);
}

void RandomProgram::play(Actor& actor, const Step& step) {
  switch (step.kind) {
    case 0:
      return wake(step.number % kQueues);
    case 1:
    case 2:
      return defer(step);
    case 3:
    case 4:
      return section(actor, step);
    case 5:
    case 6:
    case 7:
      if (actor.may_block) return blocking(step);
      break;
    default:
      break;
  }
  work(actor, step);
}

// Charges in pieces, so that the modes differ in what they pay when; then touches what all share.
void RandomProgram::work(Actor& actor, const Step& step) {
  std::int64_t left_ns = step.span_ns;
  while (left_ns > 0) {
    const std::int64_t piece_ns = std::min<std::int64_t>(left_ns, 40);
    World::owe(cpu(), piece_ns);
    left_ns -= piece_ns;
  }
  cpu().settle();
  ++shared_;
  world_.story.log(cpu(), actor.name + " step " + std::to_string(step.kind) + " makes it " +
                              std::to_string(shared_));
  World::owe(cpu(), static_cast<std::int64_t>(step.number % 7));
}

void RandomProgram::wake(std::size_t queue) {
  cpu().settle();
  ++items_[queue];
  queues_[queue]->wake_one(cpu());
}

void RandomProgram::defer(const Step& step) {
  const std::size_t one_of_two = step.number / 16 % 2;
  switch (step.number % 8) {
    case 0:
      return machine_->softirqs.raise(irq::Vector::hi);
    case 1:
      return machine_->softirqs.raise(irq::Vector::net_tx);
    case 2:
      return machine_->softirqs.raise(irq::Vector::rcu);
    case 3:
      return tasklets_[one_of_two]->schedule();
    case 4:
      return timers_[one_of_two]->arm(cpu(), in(step.span_ns));
    case 5:
      return timers_[one_of_two]->cancel(cpu());
    case 6:
      cpu().settle();
      return jiffy_timers_[one_of_two]->modify(machine_->jiffies.jiffies() + step.number % 3);
    default:
      napi_->schedule();
  }
}

void RandomProgram::section(Actor& actor, const Step& step) {
  const bool in_thread = actor.may_block;
  switch (step.number % 4) {
    case 0: {
      const sched::InterruptsOff off(cpu());
      return work(actor, step);
    }
    case 1: {
      if (!in_thread) return work(actor, step);
      const sched::BottomHalvesOff off(cpu());
      work(actor, step);
      return machine_->softirqs.raise(irq::Vector::net_tx);
    }
    case 2: {
      if (!in_thread) return work(actor, step);
      const sched::PreemptionOff off(cpu());
      return work(actor, step);
    }
    default: {
      irq::IrqLine& line = *lines_[step.number / 4 % lines_.size()];
      line.mask();
      work(actor, step);
      line.unmask();
      cpu().settle();
      line.set_affinity(step.number % kCpus);
    }
  }
}

void RandomProgram::blocking(const Step& step) {
  sched::Scheduler& scheduler = machine_->scheduler;
  const std::size_t queue = step.number / 8 % kQueues;
  switch (step.number % 6) {
    case 0:
      return scheduler.sleep_until(in(step.span_ns));
    case 1:
      return scheduler.yield();
    case 2:
      return cpu().cond_resched();
    case 3:
      if (queues_[queue]->wait_until(scheduler, in(3 * step.span_ns),
                                     [&] { return items_[queue] > 0; }))
        --items_[queue];
      return;
    case 4: {
      sched::SpinWait wait;  // nobody tells it: only the deadline ends it
      cpu().spin_until(wait, in(step.span_ns), sched::Work::spin, [] { return false; });
      return;
    }
    default: {
      const bool user = cpu().context().kind == sched::ContextKind::user;
      if (user) cpu().enter_kernel();
      World::owe(cpu(), step.span_ns);
      cpu().might_sleep();
      if (user) cpu().leave_kernel();
    }
  }
}

std::string RandomProgram::run(std::int64_t until_ns) {
  world_.run_until(until_ns);
  std::string text = world_.story.text();
  for (std::size_t i = 0; i < kCpus; ++i) {
    const sched::Cpu& cpu = machine_->scheduler.cpu(i);
    text += cpu.name() + ": idle " + std::to_string(cpu.usage().idle().count()) + ", busy " +
            std::to_string(cpu.usage().busy().count()) + ", switches " +
            std::to_string(cpu.context_switches()) + "\n";
  }
  for (const auto& thread : machine_->scheduler.threads())
    text += thread->name() + ": " + std::to_string(thread->cpu_time().count()) + "\n";
  return text;
}

}  // namespace tapestry::tests
