// What belongs to the file and not to a run: title, published figures, expectations.
#pragma once

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/scenario.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

// Reads it from `file` into `scenario`, whose variants are there already: published figures and
// expectations name variants, workloads and metrics, and a name that no run has is a fault.
void decode_whole(const Value& file, ScenarioFile& scenario, Diagnostics& diagnostics);

}  // namespace tapestry::app
