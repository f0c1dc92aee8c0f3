#include "kernel/machine.hpp"

#include <algorithm>
#include <string_view>

#include "core/assert.hpp"
#include "kernel/lkl.hpp"
#include "kernel/uml.hpp"
#include "kernel/uml_tick.hpp"
#include "kernel/world.hpp"
#include "net/gro.hpp"

namespace tapestry::kernel {

using sched::Work;

namespace {

constexpr std::int64_t kPageBytes = 4096;

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

core::Nanos jiffy(const MachineOptions& options) { return core::Nanos{1'000'000'000 / options.hz}; }

sched::SchedulerOptions scheduler_options(const World& world, const MachineOptions& options) {
  sched::SchedulerOptions scheduler{.machine = options.name,
                                    .preemption = options.preemption,
                                    .settle_mode = world.options().settle_mode,
                                    .seed = world.options().seed};
  // A slice ends at a tick. Where that is an interrupt like any other it is not modelled; for a
  // guest it would be one more signal.
  if (options.platform == PlatformKind::uml)
    scheduler.time_slice = std::max(scheduler.time_slice, jiffy(options));
  return scheduler;
}

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

// "3.7" is 3007, "2.6.36" is 2006: none of the changes lies between two kernels of one such number.
int version_of(std::string_view name) {
  int part = 0, major = -1;
  for (const char c : name) {
    if (c != '.') {
      part = part * 10 + (c - '0');
      continue;
    }
    if (major >= 0) break;
    major = part;
    part = 0;
  }
  return major * 1000 + part;
}

// What TCP learned when; docs/eras.md.
void apply_era(std::string_view era, net::TcpOptions& tcp) {
  const int version = version_of(era);
  if (version < 3000) tcp.initial_window = std::min<std::uint32_t>(tcp.initial_window, 3);
  tcp.proportional_reduction &= version >= 3002;
  tcp.small_queues &= version >= 3006;
  tcp.tail_loss_probe &= version >= 3010;
  tcp.autosize &= version >= 3012;
  tcp.autocork &= version >= 3014;
  tcp.rack &= version >= 4004;
  tcp.autosize_by_rtt &= version >= 5018;
}

net::StackOptions stack_options(const MachineOptions& options) {
  net::StackOptions stack = options.stack;
  stack.bulk_dequeue = options.era.bulk_dequeue;
  stack.byte_queue_limits = options.era.byte_queue_limits;
  stack.software_segmentation = options.era.software_segmentation;
  stack.receive_offload = options.era.gro;
  stack.gro_buckets = options.era.gro_hash ? net::Gro::kBuckets : 1;
  if (!options.era.gro_batches) stack.gro_normal_batch = 1;
  apply_era(options.era.name, stack.tcp);
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
      tick_(uml_ ? std::make_unique<UmlTick>(*this) : nullptr),
      napi_(scheduler_, softirqs_, napi_options(options_)),
      stack_({scheduler_, softirqs_, jiffies_, napi_, world.packets(), *this, tasklets_},
             stack_options(options_)) {
  interrupts_->bind(scheduler_, softirqs_);
  softirqs_.start_threads();
  if (uml_) uml_->boot(*tick_);
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

void Machine::read_clock() {
  const auto read = [this] { cpu().charge(Work::clock_read); };
  if (options_.platform == PlatformKind::native) {
    read();
  } else {
    system_call(read);
  }
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

void Machine::charge_copy(std::size_t bytes, core::CacheOwner from) {
  const auto amount = static_cast<std::int64_t>(bytes);
  cpu().charge_cold_read(from, amount);
  if (uml_)
    cpu().charge(Work::guest_copy_user, (amount + kPageBytes - 1) / kPageBytes, amount);
  else
    cpu().charge(Work::copy, 1, amount);
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
