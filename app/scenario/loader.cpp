// The order of events.
#include "app/scenario/loader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "app/scenario/decode.hpp"
#include "app/scenario/fields.hpp"
#include "app/scenario/guards.hpp"
#include "app/scenario/names.hpp"
#include "app/scenario/overrides.hpp"
#include "app/scenario/schema.hpp"
#include "app/scenario/whole.hpp"
#include "app/scenario/yaml_reader.hpp"

namespace tapestry::app {
namespace {

namespace fs = std::filesystem;

LoadedScenario refuse(const Diagnostics& diagnostics) {
  return {std::nullopt, diagnostics.sorted()};
}

// ---- Files that the scenario names ----

class Files {
 public:
  Files(const std::string& scenario_path, const LoadOptions& options)
      : folder_(fs::path(scenario_path).parent_path()), options_(options) {}

  void locate(const Value& tree, Scenario& scenario, Diagnostics& diagnostics) const {
    locate_costs(tree.find("costs"), scenario.costs, scenario.costs_path, diagnostics);
    for (Machine& machine : scenario.machines) {
      const Value::Entry* const machines = tree.find("machines");
      if (machine.costs.empty() || machines == nullptr) continue;
      locate_costs(machines->value.find(machine.name)->value.find("costs"), machine.costs,
                   machine.costs_path, diagnostics);
    }
    for (Workload& workload : scenario.workloads) {
      auto* const replay = std::get_if<ReplayWorkload>(&workload.kind);
      if (replay == nullptr || replay->file.empty()) continue;
      replay->path = beside(replay->file);
      if (exists(replay->path)) continue;
      const Value::Entry* const entry =
          tree.find("workloads")->value.find(workload.name)->value.find("file");
      diagnostics.add(entry->value.at,
                      entry->value.path + ": there is no file " + quote(replay->path),
                      "a path is seen from the scenario's own folder");
    }
  }

 private:
  std::string beside(const std::string& file) const {
    return (folder_ / file).lexically_normal().string();
  }

  bool exists(const std::string& path) const {
    std::error_code ignored;
    return !options_.files_must_exist || fs::is_regular_file(path, ignored);
  }

  void locate_costs(const Value::Entry* entry, const std::string& name, std::string& path,
                    Diagnostics& diagnostics) const {
    if (name.empty() || entry == nullptr) return;
    const bool is_path =
        name.find('/') != std::string::npos || fs::path(name).extension() == ".yaml";
    std::vector<std::string> folders = {beside("costs")};
    folders.insert(folders.end(), options_.costs_folders.begin(), options_.costs_folders.end());
    if (is_path) {
      path = beside(name);
      if (exists(path)) return;
    } else {
      for (const std::string& folder : folders) {
        path = (fs::path(folder) / (name + ".yaml")).string();
        if (exists(path)) return;
      }
    }
    diagnostics.add(entry->value.at, entry->value.path + ": there is no cost table " + quote(name),
                    is_path ? "a path is seen from the scenario's own folder"
                            : suggest(name, tables_in(folders), "tables"));
  }

  static std::vector<std::string> tables_in(const std::vector<std::string>& folders) {
    std::vector<std::string> names;
    for (const std::string& folder : folders) {
      std::error_code error;
      for (fs::directory_iterator at(folder, error), end; !error && at != end;
           at.increment(error)) {
        if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
  const LoadOptions& options_;
};

// ---- Variants ----

// What all variants have in common is reported once; what only some have names the first of them.
void combine(const std::vector<VariantTree>& trees, const std::vector<Diagnostics>& of_variants,
             Diagnostics& diagnostics) {
  std::map<std::pair<Position, std::string>, std::size_t> counts;
  for (const Diagnostics& of_one : of_variants) {
    for (const Diagnostic& diagnostic : of_one.all())
      ++counts[{diagnostic.at, diagnostic.text}];
  }
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (Diagnostic diagnostic : of_variants[i].all()) {
      std::size_t& count = counts[{diagnostic.at, diagnostic.text}];
      if (count == 0) continue;  // reported with an earlier variant
      if (count < trees.size()) diagnostic.text += " (in variant " + trees[i].name + ")";
      count = 0;
      diagnostics.add(std::move(diagnostic));
    }
  }
}

std::vector<Scenario> decode_variants(const std::vector<VariantTree>& trees, const Files& files,
                                      Diagnostics& diagnostics) {
  std::vector<Scenario> scenarios;
  std::vector<Diagnostics> of_variants(trees.size());
  for (std::size_t i = 0; i < trees.size(); ++i) {
    Scenario scenario = decode_scenario(trees[i], of_variants[i]);
    resolve_names(scenario, of_variants[i]);
    if (of_variants[i].empty()) check_rules(scenario, of_variants[i]);
    files.locate(trees[i].tree, scenario, of_variants[i]);
    scenarios.push_back(std::move(scenario));
  }
  combine(trees, of_variants, diagnostics);
  return scenarios;
}

// ---- --set ----

// Applies what concerns the file itself and returns what concerns its variants.
std::vector<Assignment> apply_to_file(std::vector<Assignment> assignments, Value& file,
                                      Diagnostics& diagnostics) {
  std::vector<Assignment> to_variants;
  for (Assignment& assignment : assignments) {
    if (is_run_section(head_of(assignment.path, file).section)) {
      to_variants.push_back(std::move(assignment));
    } else if (auto fault = assign(file, assignment)) {
      diagnostics.add(std::move(*fault));
    }
  }
  return to_variants;
}

}  // namespace

LoadedScenario parse_scenario(std::string_view text, const std::string& path,
                              const LoadOptions& options) {
  Diagnostics diagnostics;
  GuardedText guarded = guard_text(text);
  if (guarded.refusal) {
    diagnostics.add(std::move(*guarded.refusal));
    return refuse(diagnostics);
  }
  std::optional<Value> file = read_yaml(guarded.text, diagnostics);
  if (!file) return refuse(diagnostics);
  if (file->is_empty()) {
    diagnostics.add({}, "the scenario is empty", "begin with schema: tapestry/1");
    return refuse(diagnostics);
  }
  if (!file->is_map()) {
    diagnostics.add(file->at, "a scenario is a map that begins with schema: tapestry/1, not " +
                                  describe(*file));
    return refuse(diagnostics);
  }

  std::vector<Assignment> assignments =
      apply_to_file(parse_overrides(options.overrides, diagnostics), *file, diagnostics);
  const std::vector<VariantTree> trees = expand_variants(*file, assignments, diagnostics);
  ScenarioFile scenario;
  scenario.variants = decode_variants(trees, Files(path, options), diagnostics);
  decode_whole(*file, scenario, diagnostics);
  Diagnostics of_schema;
  check_schema(*file, diagnostics, of_schema);
  for (const Diagnostic& diagnostic : of_schema.all())
    diagnostics.add(diagnostic);
  if (!diagnostics.empty()) return refuse(diagnostics);
  return {std::move(scenario), {}};
}

LoadedScenario load_scenario(const std::string& path, const LoadOptions& options) {
  Diagnostics diagnostics;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    diagnostics.add({}, "a folder, not a scenario file");
    return refuse(diagnostics);
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    diagnostics.add({}, "the scenario cannot be opened");
    return refuse(diagnostics);
  }
  // One byte more than is allowed shows that there is too much, however large the file is.
  std::string text(kMostScenarioBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_scenario(text, path, options);
}

}  // namespace tapestry::app
