// What the types of attributes are called.
#include "app/scenario/attribute.hpp"

namespace tapestry::app {

std::string_view type_name(AttributeType type) {
  switch (type) {
    case AttributeType::text:
      return "text";
    case AttributeType::name:
      return "name";
    case AttributeType::names:
      return "names";
    case AttributeType::flag:
      return "flag";
    case AttributeType::count:
      return "count";
    case AttributeType::number:
      return "number";
    case AttributeType::duration:
      return "duration";
    case AttributeType::size:
      return "size";
    case AttributeType::rate:
      return "rate";
    case AttributeType::percent:
      return "percent";
    case AttributeType::choice:
      return "choice";
    case AttributeType::choices:
      return "choices";
    case AttributeType::prefix:
      return "prefix";
    case AttributeType::mac:
      return "mac";
    case AttributeType::map:
      return "map";
  }
  return {};
}

std::string_view type_article(AttributeType type) {
  switch (type) {
    case AttributeType::text:
      return "a text";
    case AttributeType::name:
      return "a name";
    case AttributeType::names:
      return "a list of names";
    case AttributeType::flag:
      return "true or false";
    case AttributeType::count:
      return "a whole number";
    case AttributeType::number:
      return "a number";
    case AttributeType::duration:
      return "a time such as 50us";
    case AttributeType::size:
      return "a size such as 1500B or 64KiB";
    case AttributeType::rate:
      return "a rate such as 10Gbit";
    case AttributeType::percent:
      return "a percentage such as 0.1%";
    case AttributeType::choice:
      return "a word";
    case AttributeType::choices:
      return "a list of words";
    case AttributeType::prefix:
      return "an IPv4 address with prefix length, such as 10.77.0.1/24";
    case AttributeType::mac:
      return "a MAC address such as 3e:30:db:47:2a:7a";
    case AttributeType::map:
      return "a map";
  }
  return {};
}

}  // namespace tapestry::app
