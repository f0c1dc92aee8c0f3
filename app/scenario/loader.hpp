// From a scenario file to a ScenarioFile, or to everything that is wrong with it.
//
//   text -> guards -> tree with positions -> --set -> variants merged -> schema -> typed values ->
//   names
//
// Each arrow is a file of this folder. The loader opens no file but the scenario; it only looks
// whether the capture and cost table that are named exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/scenario.hpp"

namespace tapestry::app {

struct LoadOptions {
  // Each is a `path.to.key=value` as given to --set. Paths into machines, devices, links,
  // workloads, captures, seed, costs and stop change every variant that has such a thing, after the
  // variant's own changes; other paths (variants.tap.devices...) change the file itself.
  std::vector<std::string> overrides;
  // Where `costs: NAME` looks for NAME.yaml, after the folder `costs` beside the scenario.
  std::vector<std::string> costs_folders;
  // Whether a capture or cost table that is not there is an error.
  bool files_must_exist = true;
};

struct LoadedScenario {
  std::optional<ScenarioFile> scenario;  // present exactly if there are no diagnostics
  std::vector<Diagnostic>
      diagnostics;  // in the order of the file, Diagnostics::kMostDiagnostics at most
};

LoadedScenario load_scenario(const std::string& path, const LoadOptions& options = {});

// The same for text that is already there. `path` is where it would be: what the text names is
// looked for beside it.
LoadedScenario parse_scenario(std::string_view text, const std::string& path,
                              const LoadOptions& options = {});

}  // namespace tapestry::app
