// tapestry list: what there is to use in a scenario, and on it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "app/cli/cli.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/shipped.hpp"
#include "app/scenario/attribute.hpp"
#include "app/scenario/loader.hpp"
#include "kernel/era.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::app {

namespace {

void list_scenarios() {
  LoadOptions options;
  options.costs_folders = {shipped_folder() + "/costs"};
  for (const std::string& path : shipped_scenarios()) {
    const LoadedScenario loaded = load_scenario(path, options);
    fmt::print("{:<40} {}\n", path, loaded.scenario ? loaded.scenario->title : "(not valid)");
  }
}

void list_metrics() {
  for (const MetricHelp& metric : metric_table())
    fmt::print("{:<26} {}\n", metric.name, metric.help);
  for (const char* const context : {"", "hardirq_", "softirq_", "task_"})
    fmt::print("{:<26} percent of one CPU of that machine\n",
               fmt::format("MACHINE_cpu_{}percent", context));
  fmt::print("{:<26} percent of its busy time that a cost took: copy, ip_input, ...\n",
             "MACHINE_share_COST_percent");
}

// Each table with where its figures come from; what each entry costs is for the file to say.
void list_costs() {
  constexpr std::array<const char*, 5> kBases{"measured", "published", "derived", "estimated",
                                              "fitted"};
  for (const std::string& path : shipped_costs()) {
    const auto table = sched::load_cost_table(path);
    if (!table) {
      fmt::print("{:<24} (not valid)\n", path);
      continue;
    }
    std::array<std::size_t, kBases.size()> counts{};
    for (std::size_t work = 0; work < sched::kWorkCount; ++work)
      ++counts[static_cast<std::size_t>(table->entry(static_cast<sched::Work>(work)).basis)];
    std::string words;
    for (std::size_t basis = 0; basis < kBases.size(); ++basis)
      if (counts[basis] != 0)
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", counts[basis], kBases[basis]);
    fmt::print("{:<18} {:<36} {}\n", table->name(), path, words);
  }
}

void list_attributes() {
  for (const AttributeGroup& group : attribute_groups()) {
    fmt::print("{}{}\n", group.title, group.help.empty() ? "" : ": " + group.help);
    for (const Attribute& attribute : group.attributes) {
      std::string range;
      if (!attribute.low.empty() || !attribute.high.empty())
        range = fmt::format(" [{} .. {}]", attribute.low, attribute.high);
      const std::string assumed = attribute.required ? " (required)"
                                  : attribute.assumed.empty()
                                      ? ""
                                      : " (default " + attribute.assumed + ")";
      // What a choice is among; the kernels have a list of their own.
      constexpr std::size_t kFew = 8;
      std::string among;
      if (attribute.choices.size() > 1 && attribute.choices.size() <= kFew)
        among = fmt::format(": {}", fmt::join(attribute.choices, ", "));
      fmt::print("  {:<22} {:<9} {}{}{}{}\n", attribute.name, type_name(attribute.type),
                 attribute.help, among, range, assumed);
    }
  }
}

}  // namespace

int list_command(const std::string& what) {
  if (what == "scenarios") list_scenarios();
  if (what == "metrics") list_metrics();
  if (what == "attributes") list_attributes();
  if (what == "costs") list_costs();
  if (what == "kernels")
    for (const std::string_view name : kernel::era_names())
      fmt::print("{}\n", name);
  return kGood;
}

}  // namespace tapestry::app
