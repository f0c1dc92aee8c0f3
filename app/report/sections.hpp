// The sections of a report that need nothing but results. One without anything to show is left out.
#pragma once

#include <string>
#include <vector>

#include "app/run/runner.hpp"
#include "app/scenario/scenario.hpp"

namespace tapestry::app {

struct ReportSection {
  std::string anchor;
  std::string title;
  std::string lead;  // how to read it, one or two sentences
  std::string body;  // HTML
};

std::vector<ReportSection> report_sections(const ScenarioFile& file, const RunReport& report);

}  // namespace tapestry::app
