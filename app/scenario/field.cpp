// The words in which a field says what is wrong.
#include "app/scenario/field.hpp"

#include <algorithm>

#include "app/scenario/names.hpp"

namespace tapestry::app {
namespace {

std::string range_of(const Attribute& attribute) {
  if (attribute.low.empty()) return "at most " + attribute.high;
  if (attribute.high.empty()) return "at least " + attribute.low;
  return attribute.low + " to " + attribute.high;
}

std::string expectation_of(const Attribute& attribute) {
  std::string text(type_article(attribute.type));
  if (!attribute.choices.empty()) {
    text = attribute.type == AttributeType::choices ? "a list of these: " : "one of these: ";
    for (std::size_t i = 0; i < attribute.choices.size(); ++i) {
      text += (i > 0 ? ", " : "") + attribute.choices[i];
    }
  }
  if (!attribute.unlimited.empty()) text += ", or " + attribute.unlimited;
  return text;
}

// Text of the file goes into a message only if it fits one line of it.
bool is_presentable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost && std::all_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
         });
}

}  // namespace

bool is_readable(const Value& value, const Attribute& attribute, Diagnostics& diagnostics) {
  if (!value.is_scalar()) {
    diagnostics.add(value.at, value.path + ": expected " + expectation_of(attribute) + ", found " +
                                  describe(value));
    return false;
  }
  const bool bare = attribute.type == AttributeType::flag ||
                    attribute.type == AttributeType::count ||
                    attribute.type == AttributeType::number;
  if (bare && value.quoted) {
    diagnostics.add(
        value.at,
        value.path + ": expected " + expectation_of(attribute) + ", found a text in quotes",
        "remove the quotes");
    return false;
  }
  if (value.text.empty()) {
    diagnostics.add(
        value.at, value.path + ": expected " + expectation_of(attribute) + ", found an empty text");
    return false;
  }
  return true;
}

bool is_list_of_names(const Value& value, const Attribute& attribute, Diagnostics& diagnostics) {
  if (value.is_list() && !value.items.empty()) return true;
  diagnostics.add(value.at,
                  value.path + ": expected " + expectation_of(attribute) + ", found " +
                      (value.is_list() ? "an empty list" : describe(value)),
                  "such as [host.tap0, host.eth0]");
  return false;
}

void report_listed_twice(const Value& item, Diagnostics& diagnostics) {
  diagnostics.add(item.at, item.path + ": " + quote(item.text) + " is listed twice");
}

void report_unreadable(const Value& value, const Attribute& attribute, const std::string& why,
                       Diagnostics& diagnostics) {
  std::string hint;
  if (attribute.type == AttributeType::flag) {
    hint = "yes, no, on and off are texts here";
  } else if (!attribute.unlimited.empty()) {
    hint = "or write " + attribute.unlimited;
  }
  const std::string reason =
      is_presentable(value.text) ? why : quote(value.text) + " is not " + expectation_of(attribute);
  diagnostics.add(value.at, value.path + ": " + reason, std::move(hint));
}

void report_out_of_range(const Value& value, const Attribute& attribute, Diagnostics& diagnostics) {
  diagnostics.add(value.at, value.path + ": " + value.text + " is out of range, which is " +
                                range_of(attribute));
}

std::optional<std::size_t> read_choice(const Value& value, const Attribute& attribute,
                                       Diagnostics& diagnostics) {
  if (!is_readable(value, attribute, diagnostics)) return std::nullopt;
  const auto found = std::find(attribute.choices.begin(), attribute.choices.end(), value.text);
  if (found == attribute.choices.end()) {
    diagnostics.add(value.at, value.path + ": unknown " + attribute.name + " " + quote(value.text),
                    suggest(value.text, attribute.choices));
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - attribute.choices.begin());
}

void check_keys(const Value& map, const std::vector<std::string>& known, std::string_view what,
                Diagnostics& diagnostics) {
  for (const Value::Entry& entry : map.entries) {
    if (is_private_note(entry.key)) continue;
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    diagnostics.add(
        entry.key_at,
        entry.value.path + ": unknown key " + quote(entry.key) + " in " + std::string(what),
        suggest(entry.key, known));
  }
}

void report_no_kind(const Value& map, std::string_view section, const Attribute& selector,
                    Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const AttributeGroup& group : attribute_groups()) {
    if (group.section != section) continue;
    for (const Attribute& attribute : group.attributes) {
      if (std::find(known.begin(), known.end(), attribute.name) == known.end())
        known.push_back(attribute.name);
    }
  }
  if (section == "devices") known.emplace_back("line");
  check_keys(map, known, std::string(section) + " of any " + selector.name, diagnostics);
  report_missing(map, selector, diagnostics);
}

void report_missing(const Value& map, const Attribute& attribute, Diagnostics& diagnostics) {
  const std::string place = map.path.empty() ? "the scenario" : map.path;
  diagnostics.add(map.at, place + ": " + quote(attribute.name) + " is missing",
                  attribute.name + " is " + expectation_of(attribute) + ": " + attribute.help);
}

void report_empty(const Value::Entry& entry, const Attribute& attribute, Diagnostics& diagnostics) {
  std::string hint = "write " + expectation_of(attribute);
  if (!attribute.required) {
    hint += ", or remove the line";
    if (!attribute.assumed.empty()) hint += " for the default, " + attribute.assumed;
  }
  diagnostics.add(entry.key_at, entry.value.path + ": the value is missing", std::move(hint));
}

}  // namespace tapestry::app
