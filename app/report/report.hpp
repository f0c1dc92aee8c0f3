// A run as one HTML file: complete without a network, a script or this program.
#pragma once

#include <string>
#include <vector>

#include "app/results/output.hpp"

namespace tapestry::app {

std::string print_report(const ScenarioFile& file, const RunReport& report,
                         const std::vector<JudgedExpectation>& judged,
                         const Provenance& provenance);

}  // namespace tapestry::app
