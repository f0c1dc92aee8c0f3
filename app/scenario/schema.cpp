// From attributes to JSON Schema.
#include "app/scenario/schema.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <string_view>
#include <vector>

#include "app/scenario/attribute.hpp"
#include "app/scenario/json.hpp"

namespace tapestry::app {
namespace {

using Json = nlohmann::ordered_json;

// ---- One attribute ----

constexpr const char* kNumber = "[0-9]+(\\.[0-9]+)?";

std::string pattern_of(AttributeType type) {
  switch (type) {
    case AttributeType::duration:
      return std::string(kNumber) + "(ns|us|ms|s|min|h)";
    case AttributeType::size:
      return std::string(kNumber) + "(B|[kKmMgGtT]i?B?)";
    case AttributeType::rate:
      return std::string(kNumber) + "([kKmMgGtT]i?)?(bit|bps|b/s|bit/s|B/s)";
    case AttributeType::percent:
      return std::string(kNumber) + "%";
    case AttributeType::prefix:
      return "[0-9]+(\\.[0-9]+){3}/[0-9]+";
    case AttributeType::mac:
      return "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}";
    default:
      return {};
  }
}

// A text may look like something else to a YAML reader: `no`, `1.10` and `null` are names here.
Json any_text() { return {{"type", {"string", "number", "boolean", "null"}}}; }

// Words that look like numbers, such as the kernel 6.1, reach a validator as numbers.
Json words(const std::vector<std::string>& choices) {
  Json list = Json::array();
  for (const std::string& choice : choices) {
    list.push_back(choice);
    const Json bare = plain_scalar_to_json<Json>(choice);
    if (!bare.is_string()) list.push_back(bare);
  }
  return list;
}

void add_limits(const Attribute& attribute, Json& schema) {
  if (!attribute.low.empty()) schema["minimum"] = plain_scalar_to_json<Json>(attribute.low);
  if (!attribute.high.empty()) schema["maximum"] = plain_scalar_to_json<Json>(attribute.high);
}

Json type_schema(const Attribute& attribute) {
  switch (attribute.type) {
    case AttributeType::text:
    case AttributeType::name:
      return any_text();
    case AttributeType::flag:
      return {{"type", "boolean"}};
    case AttributeType::count:
    case AttributeType::number: {
      Json schema = {{"type", attribute.type == AttributeType::count ? "integer" : "number"}};
      if (attribute.type == AttributeType::count && attribute.low.empty()) schema["minimum"] = 0;
      add_limits(attribute, schema);
      if (attribute.choices.empty()) return schema;
      Json list = Json::array();
      for (const std::string& choice : attribute.choices)
        list.push_back(plain_scalar_to_json<Json>(choice));
      return {{"enum", list}};
    }
    case AttributeType::choice:
      return {{"enum", words(attribute.choices)}};
    case AttributeType::choices:
      return {{"type", "array"},
              {"items", {{"enum", words(attribute.choices)}}},
              {"uniqueItems", true}};
    case AttributeType::names:
      return {{"type", "array"}, {"items", any_text()}, {"uniqueItems", true}};
    case AttributeType::map:
      return {{"type", "object"}};
    default:
      break;
  }
  std::string pattern = pattern_of(attribute.type);
  if (!attribute.unlimited.empty()) pattern = "(" + pattern + "|" + attribute.unlimited + ")";
  return {{"type", "string"}, {"pattern", "^" + pattern + "$"}};
}

Json attribute_schema(const Attribute& attribute) {
  Json schema = type_schema(attribute);
  std::string description = attribute.help;
  const bool quantity = schema.contains("pattern");
  if (quantity && !attribute.low.empty()) description += "; at least " + attribute.low;
  if (quantity && !attribute.high.empty()) description += "; at most " + attribute.high;
  schema["description"] = description;
  if (!attribute.assumed.empty()) {
    schema["default"] =
        quantity ? Json(attribute.assumed) : plain_scalar_to_json<Json>(attribute.assumed);
  }
  return schema;
}

// ---- Maps ----

Json map_of(Json properties, Json required) {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["patternProperties"] = {{"^x-", true}};
  schema["additionalProperties"] = false;
  return schema;
}

Json group_schema(const AttributeGroup& group) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Attribute& attribute : group.attributes) {
    properties[attribute.name] = attribute_schema(attribute);
    if (attribute.required) required.push_back(attribute.name);
  }
  return map_of(std::move(properties), std::move(required));
}

const AttributeGroup& group_titled(std::string_view title) {
  for (const AttributeGroup& group : attribute_groups()) {
    if (group.title == title) return group;
  }
  TAPESTRY_ASSERT(false, "every group that the schema refers to is declared");
}

std::vector<const AttributeGroup*> groups_of(std::string_view section) {
  std::vector<const AttributeGroup*> groups;
  for (const AttributeGroup& group : attribute_groups()) {
    if (!group.kind.empty() && group.section == section) groups.push_back(&group);
  }
  return groups;
}

Json reference(const std::string& definition) { return {{"$ref", "#/definitions/" + definition}}; }

Json things(const std::string& definition, const std::string& description) {
  return {{"type", "object"},
          {"description", description},
          {"patternProperties", {{"^x-", true}, {"^(?!x-)", reference(definition)}}}};
}

// What a thing looks like depends on its `kind` or `platform`.
Json thing_schema(const std::string& section, const std::string& selecting, const Json& unless) {
  Json branches = Json::array();
  Json kinds = Json::array();
  for (const AttributeGroup* const group : groups_of(section)) {
    kinds.push_back(group->kind);
    Json condition = {{"properties", {{selecting, {{"const", group->kind}}}}},
                      {"required", {selecting}}};
    if (!unless.is_null()) condition["not"] = unless;
    branches.push_back({{"if", condition}, {"then", reference(section + "-" + group->kind)}});
  }
  return {
      {"type", "object"}, {"properties", {{selecting, {{"enum", kinds}}}}}, {"allOf", branches}};
}

// ---- Changes: what a variant may say ----

// `~` removes what the base says.
Json or_removed(Json schema) {
  if (schema.contains("enum")) {
    schema["enum"].push_back(nullptr);
  } else if (schema["type"].is_string()) {
    schema["type"] = {schema["type"], "null"};
  }
  schema.erase("default");
  return schema;
}

// The words of both; no list of words if one of them takes any.
void unite_words(Json& both, const Json& other) {
  if (!both.contains("enum")) return;
  if (!other.contains("enum")) {
    both.erase("enum");
    return;
  }
  for (const Json& word : other["enum"]) {
    Json& words = both["enum"];
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
}

// Two kinds may use one name differently; a change that does not say its kind may mean either.
Json either(const Json& one, const Json& other) {
  Json both = one;
  for (const char* const key : {"minimum", "maximum", "description"}) {
    if (!other.contains(key) || !one.contains(key) || one.at(key) != other.at(key)) both.erase(key);
  }
  unite_words(both, other);
  if (both.contains("items") && other.contains("items")) unite_words(both["items"], other["items"]);
  return both;
}

Json change_schema(const std::vector<const AttributeGroup*>& groups) {
  Json properties = Json::object();
  for (const AttributeGroup* const group : groups) {
    for (const Attribute& attribute : group->attributes) {
      const Json schema = or_removed(attribute_schema(attribute));
      Json& known = properties[attribute.name];
      known = known.is_null() ? schema : either(known, schema);
    }
  }
  Json schema = map_of(std::move(properties), Json::array());
  schema["type"] = {"object", "null"};
  return schema;
}

Json changes(const std::string& definition, const std::string& description) {
  Json schema = things(definition, description);
  schema["type"] = {"object", "null"};
  return schema;
}

// ---- The whole ----

Json sysctl_schema() {
  Json schema = group_schema(group_titled("machines, sysctl"));
  schema["description"] = group_titled("machines, sysctl").help;
  return schema;
}

Json sides_schema() {
  Json schema = {{"type", "object"}, {"additionalProperties", any_text()}};
  schema["description"] = "source addresses, IPv4 or MAC, and the machine that sends their frames";
  return schema;
}

Json line_schema() {
  return {{"type", "string"},
          {"description", "UML's own notation: vec0:transport=tap,ifname=tap0,depth=128,gro=1"}};
}

// A vector device given as a line has its remaining attributes beside it.
Json line_device_schema() {
  Json schema = group_schema(group_titled("devices, kind: vector"));
  schema["properties"]["line"] = line_schema();
  schema["required"] = {"line"};
  return schema;
}

void add_things(Json& definitions) {
  for (const char* const section : {"machines", "devices", "workloads"}) {
    for (const AttributeGroup* const group : groups_of(section)) {
      Json schema = group_schema(*group);
      if (schema["properties"].contains("sysctl")) schema["properties"]["sysctl"] = sysctl_schema();
      if (schema["properties"].contains("sides")) schema["properties"]["sides"] = sides_schema();
      schema["description"] = group->help;
      definitions[std::string(section) + "-" + group->kind] = std::move(schema);
    }
  }
  definitions["machine"] = thing_schema("machines", "platform", nullptr);
  definitions["machine"]["required"] = {"platform"};
  definitions["devices-line"] = line_device_schema();
  Json device = thing_schema("devices", "kind", {{"required", {"line"}}});
  device["allOf"].push_back(
      {{"if", {{"required", {"line"}}}}, {"then", reference("devices-line")}});
  device["anyOf"] = Json::array({{{"required", {"kind"}}}, {{"required", {"line"}}}});
  definitions["device"] = std::move(device);
  definitions["link"] = group_schema(group_titled("links"));
  definitions["workload"] = thing_schema("workloads", "kind", nullptr);
  definitions["workload"]["required"] = {"kind"};
  definitions["capture"] = group_schema(group_titled("captures"));
}

void add_changes(Json& definitions) {
  Json machine = change_schema(groups_of("machines"));
  machine["properties"]["sysctl"] = change_schema({&group_titled("machines, sysctl")});
  definitions["machine-change"] = std::move(machine);
  Json device = change_schema(groups_of("devices"));
  device["properties"]["line"] = or_removed(line_schema());
  definitions["device-change"] = std::move(device);
  definitions["link-change"] = change_schema({&group_titled("links")});
  Json workload = change_schema(groups_of("workloads"));
  workload["properties"]["sides"] = or_removed(sides_schema());
  definitions["workload-change"] = std::move(workload);
}

Json list_of(const Json& items, const std::string& description) {
  return {{"type", "array"}, {"items", items}, {"description", description}};
}

Json variant_schema() {
  Json properties = Json::object();
  for (const Attribute& attribute : group_titled("the scenario").attributes) {
    const bool of_the_run =
        attribute.name == "seed" || attribute.name == "costs" || attribute.name == "stop";
    if (of_the_run) properties[attribute.name] = or_removed(attribute_schema(attribute));
  }
  properties["machines"] = changes("machine-change", "changes to machines; ~ removes one");
  properties["devices"] = changes("device-change", "changes to devices; ~ removes one");
  properties["links"] = changes("link-change", "changes to links; ~ removes one");
  properties["workloads"] = changes("workload-change", "changes to workloads; ~ removes one");
  properties["captures"] =
      or_removed(list_of(reference("capture"), "capture points instead of the base's"));
  properties["matrix"] = {
      {"type", "object"},
      {"minProperties", 1},
      {"additionalProperties", {{"type", "array"}, {"minItems", 1}}},
      {"description", "paths and the values that each takes: one variant per combination"}};
  Json schema = map_of(std::move(properties), Json::array());
  schema["type"] = {"object", "null"};
  return schema;
}

}  // namespace

std::string scenario_schema() {
  Json whole = group_schema(group_titled("the scenario"));
  Json& properties = whole["properties"];
  properties["machines"] = things("machine", "the kernels, by name");
  properties["devices"] = things("device", "network devices, as MACHINE.INTERFACE");
  properties["links"] = things("link", "wires between nics, by name");
  properties["workloads"] = things("workload", "the traffic, by name; one run each");
  properties["variants"] = things("variant", "named changes to the base; one run each");
  properties["variants"]["minProperties"] = 1;
  properties["captures"] = list_of(reference("capture"), "where frames can be captured");
  properties["published"] =
      list_of(group_schema(group_titled("published")), "figures measured on the real thing");
  properties["expect"] =
      list_of(group_schema(group_titled("expect")), "what the results are expected to show");
  properties["answers"] = list_of(group_schema(group_titled("answers")), "to a lesson's question");
  whole["required"] = {"schema", "title"};  // the rest may come from variants

  Json definitions = Json::object();
  add_things(definitions);
  add_changes(definitions);
  definitions["variant"] = variant_schema();

  Json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "A Tapestry scenario"},
      {"description", "Machines, devices, links and workloads of one simulated experiment"}};
  schema.update(whole);
  schema["definitions"] = std::move(definitions);
  return schema.dump(2) + "\n";
}

}  // namespace tapestry::app
