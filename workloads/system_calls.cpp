#include "workloads/system_calls.hpp"

namespace tapestry::workloads {

SystemCalls::SystemCalls(Place on, SystemCallsOptions options) : on_(on), options_(options) {}

void SystemCalls::start(core::Instant origin) {
  started_ = true;
  origin_ = origin;
  attendance_.enter();
  on_.machine.scheduler().spawn({.name = "dd", .affinity = on_.affinity()}, [this] { run(); });
}

void SystemCalls::run() {
  kernel::Machine& machine = on_.machine;
  wait_until(machine, origin_);
  const core::Instant begin = present(machine);
  for (int i = 0; i < options_.count; ++i) {
    machine.cpu().charge(sched::Work::application);
    machine.system_call([&] {  // read(/dev/zero): the kernel clears the process's buffer
      machine.cpu().charge(sched::Work::device_file);
      machine.charge_copy(options_.bytes);
    });
    machine.system_call([&] {  // write(/dev/null): looks at nothing
      machine.cpu().charge(sched::Work::device_file);
    });
    took_ = present(machine) - begin;
    calls_ += 2;
  }
  attendance_.leave(present(machine));
}

Outcome SystemCalls::outcome() const {
  Outcome outcome;
  outcome.window = took_;
  outcome.calls = calls_;
  outcome.call_time = took_;
  outcome.finished_at = attendance_.last();
  return outcome;
}

}  // namespace tapestry::workloads
