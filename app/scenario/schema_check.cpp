// Validation with valijson, in words of ours and at places in the file.
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "app/scenario/json.hpp"
#include "app/scenario/schema.hpp"

namespace tapestry::app {
namespace {

using Context = std::vector<std::string>;  // "<root>", "[devices]", "[guest.vec0]", "[0]"

// The value that valijson means.
const Value* find(const Value& root, const Context& context) {
  const Value* value = &root;
  for (std::size_t i = 1; i < context.size() && value != nullptr; ++i) {
    const std::string_view step = std::string_view(context[i]).substr(1, context[i].size() - 2);
    if (value->is_list()) {
      std::size_t index = value->items.size();
      std::from_chars(step.data(), step.data() + step.size(), index);
      value = index < value->items.size() ? &value->items[index] : nullptr;
    } else {
      const Value::Entry* const entry = value->find(step);
      value = entry != nullptr ? &entry->value : nullptr;
    }
  }
  return value;
}

bool contains(const Value& value, Position at) {
  if (value.at == at) return true;
  for (const Value& item : value.items) {
    if (contains(item, at)) return true;
  }
  return std::any_of(value.entries.begin(), value.entries.end(), [at](const Value::Entry& entry) {
    return entry.key_at == at || contains(entry.value, at);
  });
}

// A fault makes all that encloses it fail too, which says nothing new.
bool encloses(const Context& outer, const Context& inner) {
  return outer.size() < inner.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

// valijson's sentence, in the terms of a scenario; empty if it only says that something else
// failed.
std::string explain(const std::string& description, const Value& value) {
  const auto says = [&description](std::string_view part) {
    return description.find(part) != std::string::npos;
  };
  const std::string quoted_name = [&description] {
    const std::size_t end = description.rfind('\'');
    const std::size_t begin =
        end == 0 || end == std::string::npos ? std::string::npos : description.rfind('\'', end - 1);
    return begin == std::string::npos ? std::string() : description.substr(begin, end - begin + 1);
  }();
  if (says("Missing required property")) return quoted_name + " is missing";
  if (says("could not be validated using")) return "an unknown key " + quoted_name;
  if (says("type")) return describe(value) + " is of the wrong type here";
  if (says("enum")) return describe(value) + " is none of the words allowed here";
  if (says("pattern")) return describe(value) + " is not written as this attribute is";
  if (says("minimum") || says("maximum") || says("greater") || says("less")) {
    return describe(value) + " is out of range";
  }
  return {};
}

// valijson's schemas cannot be copied or moved.
struct ParsedSchema {
  valijson::Schema schema;

  ParsedSchema() {
    const nlohmann::json document = nlohmann::json::parse(scenario_schema());
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema);
  }
};

}  // namespace

void check_schema(const Value& file, const Diagnostics& reported, Diagnostics& diagnostics) {
  const nlohmann::json document = to_json<nlohmann::json>(file);
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  static const ParsedSchema parsed;
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(parsed.schema, adapter, &results)) return;

  for (const auto& fault : results) {
    const bool follows = std::any_of(results.begin(), results.end(), [&fault](const auto& other) {
      return encloses(fault.context, other.context);
    });
    const Value* const value = find(file, fault.context);
    if (follows || value == nullptr) continue;
    const auto& known = reported.all();
    const bool is_known = std::any_of(
        known.begin(), known.end(),
        [value](const Diagnostic& diagnostic) { return contains(*value, diagnostic.at); });
    if (is_known) continue;
    std::string reason = explain(fault.description, *value);
    if (reason.empty()) {
      const bool has_reason = std::any_of(results.begin(), results.end(), [&](const auto& other) {
        return other.context == fault.context && !explain(other.description, *value).empty();
      });
      if (has_reason) continue;
      reason = describe(*value) + " does not fit the schema";
    }
    const std::string place = value->path.empty() ? "the scenario" : value->path;
    diagnostics.add(value->at, place + ": " + reason);
  }
}

}  // namespace tapestry::app
