// A machine: one kernel of one era, on one platform. CPUs, interrupts, softirqs, threads, protocol
// stack.
//
// Machines nest. On platform `native` a CPU parks in the hub. On platform `uml` the machine's one
// CPU is a thread of its host, on `lkl` now one and now another: what the guest spends, that thread
// spends; the host's interrupts and other threads steal from it; an idle guest blocks it. The host,
// a remote server and a guest are all Machines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "irq/controller.hpp"
#include "irq/jiffy_timer.hpp"
#include "irq/napi.hpp"
#include "irq/softirq.hpp"
#include "irq/tasklet.hpp"
#include "kernel/era.hpp"
#include "net/stack.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::kernel {

class World;
class Uml;
class UmlTick;
class Lkl;

enum class PlatformKind : std::uint8_t { native, uml, lkl };

struct MachineOptions {
  std::string name;
  PlatformKind platform = PlatformKind::native;
  Era era{};
  std::size_t cpus = 1;
  int hz = 250;
  sched::Preemption preemption = sched::Preemption::voluntary;
  class Machine* host = nullptr;               // of a guest
  std::size_t host_cpu = 0;                    // the guest's threads are pinned there
  bool host_floats = false;                    // lkl: they are not, and use any CPU of the host
  std::optional<std::size_t> poll_cpu{};       // lkl: of its poll and timer threads; else as these
  net::StackOptions stack{};                   // sysctls; the era's switches are applied on top
  irq::NapiOptions napi{300, core::Nanos{0}};  // budget_time 0: two jiffies
  irq::SoftirqOptions softirq{};
};

class Machine final : public net::UserMemory {
 public:
  Machine(World& world, MachineOptions options, const sched::CostTable& costs);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs `body` as one system call of the running thread: pays for the way in, runs it in kernel
  // mode, pays for the way out, lets others run. On `uml` the way in and out are the tracer's
  // stops; on `lkl` they are the lock of its CPU.
  template <typename Body>
  auto system_call(Body body) {
    enter_kernel();
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      leave_kernel();
    } else {
      auto result = body();
      leave_kernel();
      return result;
    }
  }
  // A process reads the clock (clock_gettime): in the vdso, but for a guest without one, where it
  // is a system call.
  void read_clock();
  void enter_kernel();
  void leave_kernel();
  std::uint64_t system_calls() const { return system_calls_; }

  // Charges copy; on uml instead guest_copy_user, the walk through the process's page tables for
  // each page of a buffer that begins with one, and a plain copy. Bytes that are not in this CPU's
  // cache cost a cold_read besides.
  void charge_copy(std::size_t bytes, core::CacheOwner from) override;
  // Bytes that this CPU has just written or read.
  void charge_copy(std::size_t bytes) { charge_copy(bytes, cpu().cache_owner()); }

  sched::Cpu& cpu() { return scheduler_.cpu(); }
  sched::Scheduler& scheduler() { return scheduler_; }
  irq::InterruptController& interrupts() { return *interrupts_; }
  irq::Softirqs& softirqs() { return softirqs_; }
  irq::Tasklets& tasklets() { return tasklets_; }
  irq::JiffyTimers& jiffies() { return jiffies_; }
  irq::NapiCore& napi() { return napi_; }
  net::Stack& stack() { return stack_; }
  World& world() { return world_; }
  Machine* host() const { return options_.host; }
  Uml* uml() { return uml_.get(); }  // null unless on platform uml
  Lkl* lkl() { return lkl_.get(); }  // null unless on platform lkl
  const std::string& name() const { return options_.name; }
  const MachineOptions& options() const { return options_; }
  const Era& era() const { return options_.era; }

  // Ends all threads by unwinding them; for tearing a world down.
  void cancel_all();

  // Sum over its CPUs, up to now; in a guest with what the host has stolen.
  sched::Usage usage() const;

 private:
  bool add_cpus();

  World& world_;
  MachineOptions options_;
  std::unique_ptr<Uml> uml_;
  std::unique_ptr<Lkl> lkl_;
  std::unique_ptr<irq::InterruptController> interrupts_;
  sched::Scheduler scheduler_;
  bool has_cpus_;  // what follows keeps state for each CPU
  irq::Softirqs softirqs_;
  irq::Tasklets tasklets_;
  irq::JiffyTimers jiffies_;
  std::unique_ptr<UmlTick> tick_;  // on uml
  irq::NapiCore napi_;
  net::Stack stack_;
  std::uint64_t system_calls_ = 0;
};

}  // namespace tapestry::kernel
