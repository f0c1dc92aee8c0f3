// Where CPU time went: by context, by cost, and both as flame graphs.
#pragma once

#include "app/report/sections.hpp"

namespace tapestry::app {

ReportSection context_section(const RunReport& report);
ReportSection cost_section(const RunReport& report);
ReportSection flame_section(const RunReport& report);

}  // namespace tapestry::app
