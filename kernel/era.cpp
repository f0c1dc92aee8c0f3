#include "kernel/era.hpp"

#include <array>

namespace tapestry::kernel {

namespace {

//              BQL    2 ms   bulk   skip   tap    GSO    GRO    hash   batch  NAPI
constexpr std::array<Era, 8> kEras{
    {{"2.6.22", false, false, false, false, false, false, false, false, false, false},
     {"2.6.36", false, false, false, false, false, false, true, false, false, false},
     {"3.7", true, false, false, false, false, false, true, false, false, false},
     {"4.18", true, true, true, true, true, true, true, false, false, false},
     {"5.5", true, true, true, true, true, true, true, true, true, false},
     {"6.1", true, true, true, true, true, true, true, true, true, true},
     {"6.13", true, true, true, false, true, true, true, true, true, true},
     {"6.18", true, true, true, false, true, true, true, true, true, true}}};

}  // namespace

std::optional<Era> era_of(std::string_view version) {
  for (const Era& era : kEras)
    if (era.name == version) return era;
  return std::nullopt;
}

std::vector<std::string_view> era_names() {
  std::vector<std::string_view> names;
  for (const Era& era : kEras)
    names.push_back(era.name);
  return names;
}

}  // namespace tapestry::kernel
