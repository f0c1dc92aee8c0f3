#include "kernel/machine.hpp"

#include "core/assert.hpp"
#include "kernel/lkl.hpp"
#include "kernel/uml.hpp"
#include "kernel/world.hpp"

namespace tapestry::kernel {

using sched::Work;

namespace {

std::unique_ptr<Uml> uml_of(Machine& machine, const MachineOptions& options) {
  if (options.platform != PlatformKind::uml) return nullptr;
  TAPESTRY_ASSERT(options.host != nullptr, "a UML guest has a host");
  TAPESTRY_ASSERT(options.cpus == 1, "a UML guest has one CPU");
  return std::make_unique<Uml>(machine, *options.host, options.host_cpu);
}

std::unique_ptr<Lkl> lkl_of(Machine& machine, const MachineOptions& options) {
  if (options.platform != PlatformKind::lkl) return nullptr;
  TAPESTRY_ASSERT(options.host != nullptr, "an LKL guest has a host");
  TAPESTRY_ASSERT(options.cpus == 1, "an LKL guest has one CPU");
  const auto only = [](std::size_t cpu) { return sched::CpuMask{1} << cpu; };
  const sched::CpuMask guest = options.host_floats ? sched::kAnyCpu : only(options.host_cpu);
  return std::make_unique<Lkl>(
      machine, *options.host,
      Lkl::Placement{guest, options.poll_cpu ? only(*options.poll_cpu) : guest});
}

std::unique_ptr<irq::InterruptController> controller_of(Uml* uml, Lkl* lkl) {
  if (lkl != nullptr) return std::make_unique<LklInterrupts>(*lkl);
  if (uml != nullptr) return std::make_unique<UmlInterrupts>(*uml);
  return std::make_unique<irq::InterruptController>(irq::ControllerOptions{});
}

sched::SchedulerOptions scheduler_options(const World& world, const MachineOptions& options) {
  return {.machine = options.name,
          .preemption = options.preemption,
          .settle_mode = world.options().settle_mode,
          .seed = world.options().seed};
}

core::Nanos jiffy(const MachineOptions& options) { return core::Nanos{1'000'000'000 / options.hz}; }

irq::SoftirqOptions softirq_options(const MachineOptions& options) {
  irq::SoftirqOptions softirq = options.softirq;
  // MAX_SOFTIRQ_TIME is in jiffies: at least one.
  softirq.time_max =
      options.era.softirq_time_limit ? std::max(softirq.time_max, jiffy(options)) : core::kForever;
  softirq.skip_inline_while_thread_runs = options.era.skip_inline_while_thread_runs;
  return softirq;
}

irq::NapiOptions napi_options(const MachineOptions& options) {
  irq::NapiOptions napi = options.napi;
  if (napi.budget_time.count() == 0) napi.budget_time = 2 * jiffy(options);
  return napi;
}

net::StackOptions stack_options(const MachineOptions& options) {
  net::StackOptions stack = options.stack;
  stack.bulk_dequeue = options.era.bulk_dequeue;
  stack.byte_queue_limits = options.era.byte_queue_limits;
  stack.software_segmentation = options.era.software_segmentation;
  return stack;
}

}  // namespace

Machine::Machine(World& world, MachineOptions options, const sched::CostTable& costs)
    : world_(world),
      options_(std::move(options)),
      uml_(uml_of(*this, options_)),
      lkl_(lkl_of(*this, options_)),
      interrupts_(controller_of(uml_.get(), lkl_.get())),
      scheduler_(world.hub(), costs, *interrupts_, scheduler_options(world, options_)),
      has_cpus_(add_cpus()),
      softirqs_(scheduler_, softirq_options(options_)),
      tasklets_(scheduler_, softirqs_),
      jiffies_(scheduler_, softirqs_, options_.hz),
      napi_(scheduler_, softirqs_, napi_options(options_)),
      stack_({scheduler_, softirqs_, jiffies_, napi_, world.packets(), *this},
             stack_options(options_)) {
  interrupts_->bind(scheduler_, softirqs_);
  softirqs_.start_threads();
  if (uml_) uml_->boot();
  if (lkl_) lkl_->boot();
}

Machine::~Machine() = default;

bool Machine::add_cpus() {
  if (uml_) {
    scheduler_.add_cpu(*uml_);
    return true;
  }
  if (lkl_) {
    scheduler_.add_cpu(*lkl_);
    return true;
  }
  for (std::size_t cpu = 0; cpu < options_.cpus; ++cpu)
    scheduler_.add_cpu();
  return options_.cpus > 0;
}

void Machine::enter_kernel() {
  cpu().enter_kernel();
  if (uml_) {
    uml_->trace_system_call();
    cpu().charge(Work::guest_syscall);
  } else if (lkl_) {
    cpu().charge(Work::lock);
    cpu().charge(Work::guest_syscall);
  } else {
    cpu().charge(Work::syscall);
  }
  cpu().settle();
  ++system_calls_;
}

void Machine::leave_kernel() {
  if (lkl_) {
    cpu().charge(Work::lock);
    lkl_->run_pending_interrupts();
  }
  cpu().leave_kernel();
}

void Machine::cancel_all() {
  scheduler_.cancel_all();
  if (lkl_) lkl_->cancel_all();
}

void Machine::charge_copy(std::size_t bytes) {
  cpu().charge(Work::copy, 1, static_cast<std::int64_t>(bytes));
  if (uml_) cpu().charge(Work::guest_copy_user, 1, static_cast<std::int64_t>(bytes));
}

sched::Usage Machine::usage() const {
  sched::Usage sum;
  auto& scheduler = const_cast<sched::Scheduler&>(scheduler_);
  for (std::size_t cpu = 0; cpu < scheduler.cpus(); ++cpu)
    sum += scheduler.cpu(cpu).usage();
  if (uml_) sum.add_stolen(uml_->stolen());
  if (lkl_) sum.add_stolen(lkl_->stolen());
  return sum;
}

}  // namespace tapestry::kernel
