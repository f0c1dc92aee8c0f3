// The whole, machines, links and captures.
#include "app/scenario/decode.hpp"

#include <algorithm>
#include <utility>

#include "app/scenario/fields.hpp"
#include "app/scenario/names.hpp"

namespace tapestry::app {
namespace {

std::string singular(const std::string& section) { return section.substr(0, section.size() - 1); }

// Whether an entry can be found by its name; what it is may still be at fault.
bool is_named(const Value::Entry& entry, const std::string& section, Diagnostics& diagnostics) {
  if (section == "devices" || is_name(entry.key))
    return true;  // devices have names of their own kind
  diagnostics.add(
      entry.key_at,
      entry.value.path + ": " + quote(entry.key) + " cannot name a " + singular(section),
      "use letters, digits, '_' and '-', 40 at most");
  return false;
}

std::vector<Machine> decode_machines(const Value& tree, Diagnostics& diagnostics) {
  std::vector<Machine> machines;
  const Attribute platform = selector("platform", kPlatforms);
  for (const Value::Entry* const entry : things_in(tree, "machines", diagnostics)) {
    Machine machine;
    machine.name = entry->key;
    machine.at = entry->key_at;
    const Value::Entry* const chosen = entry->value.find("platform");
    if (!entry->value.is_map()) {
      // reported already; the name remains
    } else if (chosen == nullptr) {
      report_no_kind(entry->value, "machines", platform, diagnostics);
    } else if (const auto index = read_choice(chosen->value, platform, diagnostics)) {
      machine.platform = static_cast<Platform>(*index);
      const Fields<Machine>& fields = machine_fields(machine.platform);
      std::vector<std::string> known = {"platform"};
      append_names(fields, known);
      check_keys(entry->value, known, "a machine on platform " + chosen->value.text, diagnostics);
      read_fields(entry->value, fields, machine, diagnostics);
    }
    machines.push_back(std::move(machine));
  }
  return machines;
}

std::vector<Link> decode_links(const Value& tree, Diagnostics& diagnostics) {
  std::vector<Link> links;
  std::vector<std::string> known;
  append_names(link_fields(), known);
  for (const Value::Entry* const entry : things_in(tree, "links", diagnostics)) {
    Link link;
    link.name = entry->key;
    link.at = entry->key_at;
    if (entry->value.is_map()) {
      check_keys(entry->value, known, "a link", diagnostics);
      read_fields(entry->value, link_fields(), link, diagnostics);
    }
    links.push_back(std::move(link));
  }
  return links;
}

std::vector<Capture> decode_captures(const Value& tree, Diagnostics& diagnostics) {
  std::vector<Capture> captures;
  const Value::Entry* const section = tree.find("captures");
  if (section == nullptr) return captures;
  if (!section->value.is_list()) {
    diagnostics.add(section->value.at,
                    section->value.path + ": expected a list of capture points, found " +
                        describe(section->value),
                    "write [{at: host.tap0}]");
    return captures;
  }
  std::vector<std::string> known;
  append_names(capture_fields(), known);
  for (const Value& item : section->value.items) {
    if (!item.is_map()) {
      diagnostics.add(
          item.at, item.path + ": expected a map such as {at: host.tap0}, found " + describe(item));
      continue;
    }
    Capture capture;
    check_keys(item, known, "a capture point", diagnostics);
    read_fields(item, capture_fields(), capture, diagnostics);
    captures.push_back(std::move(capture));
  }
  return captures;
}

}  // namespace

std::vector<const Value::Entry*> things_in(const Value& tree, const std::string& section,
                                           Diagnostics& diagnostics) {
  std::vector<const Value::Entry*> things;
  const Value::Entry* const found = tree.find(section);
  if (found == nullptr) return things;
  if (!found->value.is_map()) {
    diagnostics.add(
        found->value.at,
        found->value.path + ": expected a map of " + section + ", found " + describe(found->value),
        found->value.is_empty() ? "remove the line if there are none" : "");
    return things;
  }
  for (const Value::Entry& entry : found->value.entries) {
    if (is_private_note(entry.key)) continue;
    if (!is_named(entry, section, diagnostics)) continue;
    things.push_back(&entry);
    if (entry.value.is_map()) continue;
    diagnostics.add(entry.value.at, entry.value.path + ": expected a map of the " +
                                        singular(section) + "'s attributes, found " +
                                        describe(entry.value));
  }
  return things;
}

Scenario decode_scenario(const VariantTree& variant, Diagnostics& diagnostics) {
  Scenario scenario;
  scenario.variant = variant.name;
  read_fields(variant.tree, run_fields(), scenario, diagnostics);
  scenario.machines = decode_machines(variant.tree, diagnostics);
  scenario.devices = decode_devices(variant.tree, diagnostics);
  scenario.links = decode_links(variant.tree, diagnostics);
  scenario.workloads = decode_workloads(variant.tree, diagnostics);
  scenario.captures = decode_captures(variant.tree, diagnostics);
  if (scenario.machines.empty() && diagnostics.empty()) {
    const Value::Entry* const machines = variant.tree.find("machines");
    diagnostics.add(machines != nullptr ? machines->value.at : variant.tree.at,
                    "the scenario: no machine", "write machines: {host: {platform: native, ...}}");
  }
  return scenario;
}

}  // namespace tapestry::app
