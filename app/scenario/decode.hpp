// From the tree of one variant to a Scenario.
//
//   decode  every attribute by its field: types, units, defaults, ranges, unknown keys
//   resolve every name to the index of what it names
//   check   what only the whole shows: cycles of hosts, who may attach to what, networks, two ends
//   of a link
//
// Decoding and resolving go on after faults. Checking begins only where there are none, so that one
// fault is reported once.
#pragma once

#include <string>
#include <vector>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/scenario.hpp"
#include "app/scenario/value.hpp"
#include "app/scenario/variants.hpp"

namespace tapestry::app {

Scenario decode_scenario(const VariantTree& variant, Diagnostics& diagnostics);
void resolve_names(Scenario& scenario, Diagnostics& diagnostics);
void check_rules(Scenario& scenario, Diagnostics& diagnostics);  // also fills in Link::ends

// ---- Parts of decode_scenario ----

// The entries of a section, without private notes. Reports those that cannot be names and leaves
// them out, and reports those that are no maps. A section that is not there has none.
std::vector<const Value::Entry*> things_in(const Value& tree, const std::string& section,
                                           Diagnostics& diagnostics);

std::vector<Device> decode_devices(const Value& tree, Diagnostics& diagnostics);
std::vector<Workload> decode_workloads(const Value& tree, Diagnostics& diagnostics);

}  // namespace tapestry::app
