// Fields tie an attribute to the member of a struct that holds it, so that one table per struct
// declares, reads and documents its attributes:
//
//   const Fields<Link> kFields = {
//       field("rate", &Link::rate, {.required = true, .low = "1kbit", .high = "1Tbit", .help =
//       "..."}), field("delay", &Link::delay, {.assumed = "0us", .high = "10s", .help = "..."}),
//   };
//   read_fields(map, kFields, link, diagnostics);
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/scenario/attribute.hpp"
#include "app/scenario/diagnostic.hpp"
#include "app/scenario/scalar.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

template <class Owner>
struct Field {
  Attribute attribute;
  // Stores what `value` says, or reports why it cannot. `value` is not empty.
  std::function<void(const Value& value, const Attribute&, Owner&, Diagnostics&)> read;
};

template <class Owner>
using Fields = std::vector<Field<Owner>>;

// What a table says about an attribute beside its name and member.
struct Declared {
  bool required = false;
  std::string assumed{};
  std::string low{};
  std::string high{};
  std::string unlimited{};
  std::string help{};
};

// The words of an enumeration, in the order of its values. Specialised beside each table.
template <class Enumeration>
struct Words;

// ---- Reading one value ----

// Whether `value` is a scalar that may become an attribute of this type; reports it if not.
bool is_readable(const Value& value, const Attribute& attribute, Diagnostics& diagnostics);

bool is_list_of_names(const Value& value, const Attribute& attribute, Diagnostics& diagnostics);
void report_listed_twice(const Value& item, Diagnostics& diagnostics);

void report_unreadable(const Value& value, const Attribute& attribute, const std::string& why,
                       Diagnostics& diagnostics);
void report_out_of_range(const Value& value, const Attribute& attribute, Diagnostics& diagnostics);

// The position of `value`'s text among the attribute's choices; reported if it is none of them.
std::optional<std::size_t> read_choice(const Value& value, const Attribute& attribute,
                                       Diagnostics& diagnostics);

template <class T>
bool in_range(const T& read, const Attribute& attribute) {
  const auto limit = [](const std::string& text) { return *Scalar<T>::parse(text); };
  if (!attribute.low.empty() && less(read, limit(attribute.low))) return false;
  return attribute.high.empty() || !less(limit(attribute.high), read);
}

template <class T>
void read_scalar(const Value& value, const Attribute& attribute, T& out, Diagnostics& diagnostics) {
  if (!is_readable(value, attribute, diagnostics)) return;
  const auto read = Scalar<T>::parse(value.text);
  if (!read) return report_unreadable(value, attribute, read.error().message, diagnostics);
  if constexpr (kHasRange<T>) {
    if (!in_range(*read, attribute)) return report_out_of_range(value, attribute, diagnostics);
  }
  if (!attribute.choices.empty() && !read_choice(value, attribute, diagnostics)) return;
  out = *read;
}

template <class T>
void read_member(const Value& value, const Attribute& attribute, T& out, Diagnostics& diagnostics) {
  if constexpr (std::is_enum_v<T>) {
    if (const auto index = read_choice(value, attribute, diagnostics)) out = static_cast<T>(*index);
  } else {
    read_scalar(value, attribute, out, diagnostics);
  }
}

template <class Thing>
void read_member(const Value& value, const Attribute& attribute, Reference<Thing>& out,
                 Diagnostics& diagnostics) {
  read_scalar(value, attribute, out.name, diagnostics);
  out.at = value.at;
  out.path = value.path;
}

// A list of names, each once.
template <class Thing>
void read_member(const Value& value, const Attribute& attribute, std::vector<Reference<Thing>>& out,
                 Diagnostics& diagnostics) {
  if (!is_list_of_names(value, attribute, diagnostics)) return;
  for (const Value& item : value.items) {
    Reference<Thing> one;
    read_scalar(item, attribute, one.name, diagnostics);
    one.at = item.at;
    one.path = item.path;
    for (const Reference<Thing>& other : out)
      if (other.name == one.name) report_listed_twice(item, diagnostics);
    out.push_back(std::move(one));
  }
}

template <class T>
void read_member(const Value& value, const Attribute& attribute, std::optional<T>& out,
                 Diagnostics& diagnostics) {
  out.reset();
  if (!attribute.unlimited.empty() && value.is_scalar() && value.text == attribute.unlimited)
    return;
  T read{};
  const std::size_t faults = diagnostics.size();
  read_member(value, attribute, read, diagnostics);
  if (diagnostics.size() == faults) out = std::move(read);
}

// ---- Declaring ----

template <class T>
struct Member {
  using Type = T;
  static constexpr bool kIsReference = false;
};
template <class T>
struct Member<std::optional<T>> : Member<T> {};
template <class Thing>
struct Member<Reference<Thing>> {
  using Type = std::string;
  static constexpr AttributeType kType = AttributeType::name;
  static constexpr bool kIsReference = true;
};
template <class Thing>
struct Member<std::vector<Reference<Thing>>> {
  using Type = std::string;
  static constexpr AttributeType kType = AttributeType::names;
  static constexpr bool kIsReference = true;
};

inline Attribute attribute_of(std::string name, AttributeType type, Declared declared) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  attribute.required = declared.required;
  attribute.assumed = std::move(declared.assumed);
  attribute.low = std::move(declared.low);
  attribute.high = std::move(declared.high);
  attribute.unlimited = std::move(declared.unlimited);
  attribute.help = std::move(declared.help);
  return attribute;
}

template <class Owner, class T>
Field<Owner> field(std::string name, T Owner::*member, Declared declared) {
  using Type = typename Member<T>::Type;
  Field<Owner> made;
  if constexpr (std::is_enum_v<Type>) {
    made.attribute = attribute_of(std::move(name), AttributeType::choice, std::move(declared));
    for (const std::string_view word : Words<Type>::kWords)
      made.attribute.choices.emplace_back(word);
  } else {
    AttributeType type = Scalar<Type>::kType;
    if constexpr (Member<T>::kIsReference) type = Member<T>::kType;
    made.attribute = attribute_of(std::move(name), type, std::move(declared));
  }
  made.read = [member](const Value& value, const Attribute& attribute, Owner& owner,
                       Diagnostics& diagnostics) {
    read_member(value, attribute, owner.*member, diagnostics);
  };
  return made;
}

// A text that is one of some words without being an enumeration.
template <class Owner>
Field<Owner> word_field(std::string name, std::string Owner::*member,
                        std::vector<std::string> words, Declared declared) {
  Field<Owner> made;
  made.attribute = attribute_of(std::move(name), AttributeType::choice, std::move(declared));
  made.attribute.choices = std::move(words);
  made.read = [member](const Value& value, const Attribute& attribute, Owner& owner,
                       Diagnostics& diagnostics) {
    if (const auto index = read_choice(value, attribute, diagnostics)) {
      owner.*member = attribute.choices[*index];
    }
  };
  return made;
}

// ---- Reading a map ----

// Reports the keys of `map` that are neither known nor private notes. `what` completes "unknown key
// 'x' in".
void check_keys(const Value& map, const std::vector<std::string>& known, std::string_view what,
                Diagnostics& diagnostics);

// Of a thing in `section` that does not say its kind: reports that, and the keys that no kind has.
void report_no_kind(const Value& map, std::string_view section, const Attribute& selector,
                    Diagnostics& diagnostics);

void report_missing(const Value& map, const Attribute& attribute, Diagnostics& diagnostics);
void report_empty(const Value::Entry& entry, const Attribute& attribute, Diagnostics& diagnostics);

// Reads every field from its entry in `map`, or from its default if there is no entry. Keys that
// belong to no field are not looked at.
template <class Owner>
void read_fields(const Value& map, const Fields<Owner>& fields, Owner& owner,
                 Diagnostics& diagnostics) {
  for (const Field<Owner>& field : fields) {
    const Attribute& attribute = field.attribute;
    const Value::Entry* const entry = map.find(attribute.name);
    if (entry != nullptr && entry->value.is_empty()) {
      report_empty(*entry, attribute, diagnostics);
    } else if (entry != nullptr) {
      field.read(entry->value, attribute, owner, diagnostics);
    } else if (attribute.required) {
      report_missing(map, attribute, diagnostics);
    } else if (!attribute.assumed.empty()) {
      const Value assumed =
          Value::scalar(attribute.assumed, map.at, join_path(map.path, attribute.name));
      field.read(assumed, attribute, owner, diagnostics);
    }
  }
}

template <class Owner>
void append_names(const Fields<Owner>& fields, std::vector<std::string>& names) {
  for (const Field<Owner>& field : fields)
    names.push_back(field.attribute.name);
}

template <class Owner>
void append_attributes(const Fields<Owner>& fields, std::vector<Attribute>& attributes) {
  for (const Field<Owner>& field : fields)
    attributes.push_back(field.attribute);
}

}  // namespace tapestry::app
