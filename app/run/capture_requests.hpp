// What of --pcap is wrong before anything runs.
#pragma once

#include <string>
#include <vector>

#include "app/run/runner.hpp"

namespace tapestry::app {

// One line for each fault: an unknown point, a file that cannot hold what is asked of it, one that
// is written twice, and one that the run reads. `scenario`: the path of the scenario's own file.
std::vector<std::string> capture_faults(const ScenarioFile& file, const std::string& scenario,
                                        const std::vector<CaptureRequest>& requests);

}  // namespace tapestry::app
