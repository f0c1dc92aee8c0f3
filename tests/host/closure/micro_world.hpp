// A machine on which one operation is run again and again, and how long it took in virtual time.
//
//     MicroWorld micro(costs, mode, 1);
//     micro.time([&](Stopwatch& watch) {
//       ... what has to be there before ...
//       watch.start();
//       micro.machine().system_call([&] { ... });
//       watch.stop();
//     });
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernel/world.hpp"
#include "workloads/workload.hpp"

namespace tapestry::tests::closure {

// Of the running thread of one machine; settles, so that what an operation owes is part of it.
class Stopwatch {
 public:
  explicit Stopwatch(kernel::Machine& machine) : machine_(machine) {}
  void start() { started_ = workloads::present(machine_); }
  void stop() { total_ += workloads::present(machine_) - started_; }
  // What was timed and does not belong to it.
  void leave_out(core::Nanos span) { total_ -= span; }
  core::Nanos total() const { return total_; }

 private:
  kernel::Machine& machine_;
  core::Instant started_{};
  core::Nanos total_{0};
};

class MicroWorld {
 public:
  static constexpr int kWarmups = 3;
  static constexpr int kTimes = 50;

  MicroWorld(const sched::CostTable& costs, sched::SettleMode mode, std::size_t cpus)
      : world_({.settle_mode = mode}),
        costs_(costs),
        machine_(world_.add_machine({.name = "m", .era = *kernel::era_of("6.18"), .cpus = cpus},
                                    costs)) {}
  MicroWorld(const MicroWorld&) = delete;
  MicroWorld& operator=(const MicroWorld&) = delete;
  // What an operation uses is made before its world runs and must outlive its threads.
  void end() { world_.unwind(); }

  kernel::Machine& machine() { return machine_; }
  kernel::World& world() { return world_; }
  const sched::CostTable& costs() const { return costs_; }

  kernel::Machine& add_guest() {
    return world_.add_machine({.name = "guest",
                               .platform = kernel::PlatformKind::uml,
                               .era = *kernel::era_of("6.1"),
                               .hz = 100,
                               .host = &machine_},
                              costs_);
  }

  // Runs the operation on CPU 0 of `on`, some times before it counts; the mean in picoseconds.
  // Negative if it did not come to its end. `prepare` runs first, in the same thread.
  std::int64_t time(
      kernel::Machine& on, bool kernel_thread, const std::function<void(Stopwatch&)>& operation,
      const std::function<void()>& prepare = [] {}) {
    Stopwatch warm(on), watch(on);
    bool done = false;
    on.scheduler().spawn({.name = "bench", .affinity = 1, .kernel_thread = kernel_thread}, [&] {
      prepare();
      for (int i = 0; i < kWarmups; ++i)
        operation(warm);
      for (int i = 0; i < kTimes; ++i)
        operation(watch);
      done = true;
    });
    world_.run_until(core::kStart + std::chrono::seconds(10));
    end();
    return done ? watch.total().count() * 1000 / kTimes : -1;
  }
  std::int64_t time(
      const std::function<void(Stopwatch&)>& operation,
      const std::function<void()>& prepare = [] {}) {
    return time(machine_, false, operation, prepare);
  }

 private:
  kernel::World world_;
  const sched::CostTable& costs_;
  kernel::Machine& machine_;
};

}  // namespace tapestry::tests::closure
