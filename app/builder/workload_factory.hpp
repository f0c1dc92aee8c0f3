// From a workload's options in a scenario to the processes that make it.
#pragma once

#include <memory>
#include <vector>

#include "app/builder/hardware.hpp"
#include "app/scenario/scenario.hpp"
#include "core/result.hpp"
#include "workloads/workload.hpp"

namespace tapestry::app {

struct MadeWorkload {
  std::unique_ptr<workloads::Workload> workload;
  std::string warning;  // about the capture that it replays; empty: none
};

// An error names the capture that could not be read, or what of the scenario stands against it.
core::Result<MadeWorkload> make_workload(const Scenario& scenario, const Workload& workload,
                                         const std::vector<kernel::Machine*>& machines,
                                         Hardware& hardware);

}  // namespace tapestry::app
