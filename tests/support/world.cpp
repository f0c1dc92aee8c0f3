#include "tests/support/world.hpp"

namespace tapestry::tests {

TestMachine::TestMachine(World& world, const TestMachineOptions& options)
    : interrupts(options.controller),
      scheduler(world.hub, world.costs, interrupts,
                {.machine = options.name,
                 .preemption = options.preemption,
                 .settle_mode = world.mode,
                 .seed = world.seed,
                 .time_slice = options.time_slice}),
      softirqs(scheduler, options.softirqs),
      tasklets(scheduler, softirqs),
      jiffies(scheduler, softirqs, options.hz),
      napi(scheduler, softirqs, options.napi) {
  interrupts.bind(scheduler, softirqs);
  for (std::size_t cpu = 0; cpu < options.cpus; ++cpu)
    scheduler.add_cpu();
  if (options.softirq_threads) softirqs.start_threads();
}

World::World(sched::SettleMode mode_of_all, sched::CostTable table, std::uint64_t seed_of_all)
    : mode(mode_of_all),
      costs(std::move(table)),
      seed(seed_of_all),
      hub(timeline, fibers),
      story(timeline),
      device_(timeline.add_actor("device", core::Phase::device)) {}

World::~World() {
  hub.begin_cancelling();
  for (const auto& machine : machines_)
    machine->scheduler.cancel_all();
  while (!objects_.empty())
    objects_.pop_back();
}

TestMachine& World::add_machine(const TestMachineOptions& options) {
  machines_.push_back(std::make_unique<TestMachine>(*this, options));
  return *machines_.back();
}

void World::at(std::int64_t instant_ns, std::function<void()> event) {
  events_.push_back({std::move(event)});
  auto happen = [](void* object, std::uint64_t) { static_cast<Event*>(object)->happen(); };
  timeline.events().push(core::kStart + core::Nanos{instant_ns}, device_, happen, &events_.back());
}

sched::Hub::Stop World::run(core::Instant until) { return hub.run(until); }

}  // namespace tapestry::tests
