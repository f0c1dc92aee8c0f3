// The attributes of a scenario: each is declared once, and everything that needs to know about it
// reads the declaration. The decoder takes type, default and range from it, the unknown-key check
// its name, the JSON Schema all of it, and so does the list of attributes for the user.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::app {

enum class AttributeType : unsigned char {
  text,      // any text
  name,      // of a machine, device, link, cost table or file
  names,     // a list of these
  flag,      // true, false
  count,     // a whole number without unit
  number,    // a decimal number without unit
  duration,  // 50us
  size,      // 64KiB
  rate,      // 10Gbit
  percent,   // 0.1%
  choice,    // one of `choices`
  choices,   // a list of these
  prefix,    // 10.77.0.1/24
  mac,       // 3e:30:db:47:2a:7a
  map        // has attributes of its own
};

std::string_view type_name(AttributeType type);     // "duration"
std::string_view type_article(AttributeType type);  // "a duration such as 50us"

struct Attribute {
  std::string name;
  AttributeType type = AttributeType::text;
  bool required = false;
  std::string assumed;  // the default, as one would write it; empty: see `help`, or required
  std::string
      low;  // the smallest and largest allowed value, as one would write it; empty: no limit
  std::string high;
  std::vector<std::string> choices;
  std::string
      unlimited;     // a word that stands for no value at all, beside the default; may be empty
  std::string help;  // one line without full stop
};

// The attributes of one place in a scenario.
struct AttributeGroup {
  std::string title;    // "devices, kind: vector"
  std::string section;  // "devices"; empty for the scenario itself
  std::string place;    // "devices.MACHINE.INTERFACE"
  std::string kind;     // the value of `kind` or `platform` that selects these; may be empty
  std::string help;     // what it is
  std::vector<Attribute> attributes;
};

// Every attribute there is, in the order of the documentation: the whole, machines by platform,
// devices by kind, links, workloads by kind, captures, published, expect.
const std::vector<AttributeGroup>& attribute_groups();

}  // namespace tapestry::app
