#include "app/builder/run_world.hpp"

#include "core/assert.hpp"

namespace tapestry::app {

namespace {

// Servers listen before the first client asks; netperf's control connection sees to that.
constexpr core::Nanos kHeadStart{1'000'000};

kernel::PlatformKind platform_of(Platform platform) {
  switch (platform) {
    case Platform::native:
      return kernel::PlatformKind::native;
    case Platform::uml:
      return kernel::PlatformKind::uml;
    case Platform::lkl:
      break;
  }
  return kernel::PlatformKind::lkl;
}

sched::Preemption preemption_of(Preempt preempt) {
  switch (preempt) {
    case Preempt::none:
      return sched::Preemption::none;
    case Preempt::voluntary:
      return sched::Preemption::voluntary;
    case Preempt::full:
      break;
  }
  return sched::Preemption::full;
}

kernel::MachineOptions machine_options(const Machine& machine,
                                       const std::vector<kernel::Machine*>& machines) {
  const auto era = kernel::era_of(machine.kernel);
  TAPESTRY_ASSERT(era.has_value(), "the loader knows the kernels");
  kernel::MachineOptions options;
  options.name = machine.name;
  options.platform = platform_of(machine.platform);
  options.era = *era;
  options.cpus = static_cast<std::size_t>(machine.cpus);
  options.hz = machine.hz;
  options.preemption = preemption_of(machine.preempt);
  if (machine.host) options.host = machines[machine.host->index];
  if (machine.pin) options.host_cpu = static_cast<std::size_t>(*machine.pin);
  options.host_floats = !machine.pin;
  if (machine.poll_pin) options.poll_cpu = static_cast<std::size_t>(*machine.poll_pin);
  const Sysctls& sysctl = machine.sysctl;
  if (sysctl.netdev_budget) options.napi.budget = *sysctl.netdev_budget;
  if (sysctl.netdev_budget_usecs)
    options.napi.budget_time = std::chrono::microseconds(*sysctl.netdev_budget_usecs);
  if (sysctl.dev_weight) options.stack.dev_weight = *sysctl.dev_weight;
  if (sysctl.netdev_max_backlog)
    options.stack.backlog_max = static_cast<std::size_t>(*sysctl.netdev_max_backlog);
  if (sysctl.rmem_default)
    options.stack.rmem_default = static_cast<std::uint32_t>(*sysctl.rmem_default);
  if (sysctl.wmem_default)
    options.stack.wmem_default = static_cast<std::uint32_t>(*sysctl.wmem_default);
  return options;
}

}  // namespace

RunWorld::RunWorld(const Scenario& scenario, const Workload& workload, const CostTables& costs,
                   RunWorldOptions options)
    : scenario_(scenario),
      options_(workload),
      world_({.seed = scenario.seed, .settle_mode = options.settle_mode}) {
  // A host stands before its guests, whatever the order in the file.
  machines_.resize(scenario.machines.size());
  for (std::size_t built = 0; built < scenario.machines.size();) {
    for (std::size_t i = 0; i < scenario.machines.size(); ++i) {
      const Machine& machine = scenario.machines[i];
      if (machines_[i] != nullptr || (machine.host && machines_[machine.host->index] == nullptr))
        continue;
      machines_[i] = &world_.add_machine(machine_options(machine, machines_), *costs[i]);
      if (options.check_napi) machines_[i]->napi().set_check(&napi_check_);
      ++built;
    }
  }
  hardware_ = std::make_unique<Hardware>(scenario, world_, machines_);
}

core::Result<std::unique_ptr<RunWorld>> RunWorld::build(const Scenario& scenario,
                                                        const Workload& workload,
                                                        const CostTables& costs,
                                                        RunWorldOptions options) {
  std::unique_ptr<RunWorld> run(new RunWorld(scenario, workload, costs, options));
  auto made = make_workload(scenario, workload, run->machines_, *run->hardware_);
  if (!made) return made.error();
  run->made_ = std::move(*made);
  return run;
}

RunWorld::~RunWorld() {
  world_.unwind();
  made_.workload.reset();
  hardware_.reset();
}

void RunWorld::open_devices(bool of_guests) {
  for (std::size_t i = 0; i < scenario_.devices.size(); ++i) {
    kernel::Machine& machine = *machines_[scenario_.devices[i].machine.index];
    if ((machine.host() != nullptr) != of_guests) continue;
    net::Device& device = hardware_->device(i);
    machine.scheduler().spawn({.name = "ip link set " + device.name() + " up"},
                              [&] { machine.system_call([&] { device.open(); }); });
    world_.run_until(core::kNever - core::Nanos{1});
  }
}

void RunWorld::bring_up() {
  open_devices(false);
  open_devices(true);
  origin_ = core::after(world_.timeline().now(), options_.start + kHeadStart);
}

void RunWorld::start_workload() { made_.workload->start(origin_); }

}  // namespace tapestry::app
