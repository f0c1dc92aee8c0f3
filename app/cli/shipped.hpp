// What ships with the program: its scenarios and cost tables.
#pragma once

#include <string>
#include <vector>

namespace tapestry::app {

// The folder `scenarios` of the working directory if that is a project's, else of the project that
// the running program was built in.
const std::string& shipped_folder();

// The scenarios in it, sorted by name.
std::vector<std::string> shipped_scenarios();
// The lessons in it, sorted by name: scenarios, too.
std::vector<std::string> shipped_lessons();
// The cost tables in it, sorted by name.
std::vector<std::string> shipped_costs();

}  // namespace tapestry::app
