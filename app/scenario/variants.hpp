// From the tree of a file to one complete tree per variant.
//
// A variant is written in the shape of the base and laid over it: maps are merged entry by entry,
// anything else replaces what was there. `~` removes an entry of the base. A changed `kind` or
// `platform` starts that device, workload or machine afresh, because another kind has other
// attributes. `matrix` maps paths to lists and multiplies its variant: {devices.guest.vec0.depth:
// [32, 64]} in variant `depth` gives `depth-32` and `depth-64`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/tree_path.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

inline constexpr std::size_t kMostVariants =
    1000;  // whoever needs more has written a matrix by mistake
inline constexpr std::size_t kMostVariantValues = 200'000;  // of all trees together: 200 a variant

struct VariantTree {
  std::string name;
  Position at;
  Value tree;  // a map of the sections below
};

// The keys of a scenario that belong to a run and can therefore differ between variants.
const std::vector<std::string>& run_sections();
bool is_run_section(std::string_view key);

// Expands `file`, a map, then applies to every variant each assignment into a run section. An
// assignment into a machine, device, link or workload skips the variants that do not have it; one
// that finds it nowhere is a fault. Without faults there is at least one variant.
std::vector<VariantTree> expand_variants(const Value& file,
                                         const std::vector<Assignment>& assignments,
                                         Diagnostics& diagnostics);

}  // namespace tapestry::app
