// Where an artefact came from: every table, capture and report names the program that made it.
#pragma once

#include <string_view>

namespace tapestry::app {

std::string_view version();  // what VERSION says, such as "0.1.0"
std::string_view commit();  // abbreviated hash, "-dirty" when files differed; "unknown" outside git
std::string_view compiler();  // the compiler and its version, such as "gcc 12.2.0"
std::string_view boost();     // the version of the Boost headers, such as "1.81"

}  // namespace tapestry::app
