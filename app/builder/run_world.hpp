// The world of one run: one variant of a scenario, one of its workloads.
//
// Built, brought up (every device opened by a process of its machine, hosts first), then run.
// Destroyed in the order that references need: threads first, then workload and hardware, then the
// kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/builder/hardware.hpp"
#include "app/builder/workload_factory.hpp"
#include "app/scenario/scenario.hpp"
#include "core/result.hpp"
#include "irq/napi_check.hpp"
#include "kernel/world.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::app {

struct RunWorldOptions {
  sched::SettleMode settle_mode = sched::SettleMode::seams;
  bool check_napi = false;  // the NAPI contract is watched
};

using CostTables = std::vector<const sched::CostTable*>;

class RunWorld {
 public:
  // `costs`: the table of each machine, in the scenario's order. They and `scenario` outlive it.
  static core::Result<std::unique_ptr<RunWorld>> build(const Scenario& scenario,
                                                       const Workload& workload,
                                                       const CostTables& costs,
                                                       RunWorldOptions options);
  ~RunWorld();

  // Opens every device. Runs the world until that is done.
  void bring_up();
  // The instant that the workload begins at: after bring_up, plus its own start.
  void start_workload();

  const Scenario& scenario() const { return scenario_; }
  kernel::World& world() { return world_; }
  workloads::Workload& workload() { return *made_.workload; }
  const std::string& warning() const { return made_.warning; }
  const irq::NapiCheck& napi_check() const { return napi_check_; }
  Hardware& hardware() { return *hardware_; }
  const std::vector<kernel::Machine*>& machines() const { return machines_; }
  core::Instant origin() const { return origin_; }

 private:
  RunWorld(const Scenario& scenario, const Workload& workload, const CostTables& costs,
           RunWorldOptions options);
  void open_devices(bool of_guests);

  const Scenario& scenario_;
  const Workload& options_;
  irq::NapiCheck napi_check_;
  kernel::World world_;
  std::vector<kernel::Machine*> machines_;
  std::unique_ptr<Hardware> hardware_;
  MadeWorkload made_;
  core::Instant origin_{};
};

}  // namespace tapestry::app
