// What --set says: `path.to.key=value`, the value in YAML (32, 10Gbit, [32, 64], {kind: tap}).
#pragma once

#include <string>
#include <vector>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/tree_path.hpp"

namespace tapestry::app {

// Reads each argument; a faulty one is reported at `--set:NUMBER:COLUMN` and left out.
std::vector<Assignment> parse_overrides(const std::vector<std::string>& arguments,
                                        Diagnostics& diagnostics);

}  // namespace tapestry::app
