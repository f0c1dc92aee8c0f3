// Files of this folder, and of installed libraries, that the build puts into the program.
#pragma once

#include <string_view>

namespace tapestry::app {

// By the file's name ("report.css"); it must be one that SConstruct lists.
std::string_view asset(std::string_view name);

}  // namespace tapestry::app
