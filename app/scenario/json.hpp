// From YAML scalars to JSON, by the rules of YAML 1.2 that editors follow too.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/scenario/scalar.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

// What a plain scalar is to a YAML 1.2 reader: null, a boolean, a number, or else a string.
template <class Json>
Json plain_scalar_to_json(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc{} && end == text.data() + text.size()) return whole;
  if (const auto number = parse_number(text)) return *number;
  return std::string(text);
}

template <class Json>
Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::empty:
      return nullptr;
    case Value::Kind::scalar:
      return value.quoted ? Json(value.text) : plain_scalar_to_json<Json>(value.text);
    case Value::Kind::list: {
      Json list = Json::array();
      for (const Value& item : value.items)
        list.push_back(to_json<Json>(item));
      return list;
    }
    case Value::Kind::map:
      break;
  }
  Json map = Json::object();
  for (const Value::Entry& entry : value.entries)
    map[entry.key] = to_json<Json>(entry.value);
  return map;
}

}  // namespace tapestry::app
