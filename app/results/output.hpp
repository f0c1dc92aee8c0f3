// The three ways in which results are printed: a table for people, one JSON document, CSV.
#pragma once

#include <string>
#include <vector>

#include "app/run/runner.hpp"
#include "app/scenario/scenario.hpp"

namespace tapestry::app {

// Where a result came from; in every artefact.
struct Provenance {
  std::string scenario;                // path as given
  std::vector<std::string> overrides;  // --set, as given
  std::string settle;                  // always, seams, random
};

struct JudgedExpectation {
  Expectation expectation;
  Verdict verdict;
};

// What runs reported, by variant, workload and name.
Metrics metrics_of(const RunReport& report);

std::vector<JudgedExpectation> judge_all(const ScenarioFile& file, const RunReport& report);

std::string print_table(const ScenarioFile& file, const RunReport& report,
                        const std::vector<JudgedExpectation>& judged, const Provenance& provenance);
// The block of print_table that says why batches ended; empty if there is nothing to say.
std::string batches_block(const RunReport& report);
// What broke the NAPI contract, a line for each; empty if nothing did.
std::string napi_block(const RunReport& report);
std::string print_json(const ScenarioFile& file, const RunReport& report,
                       const std::vector<JudgedExpectation>& judged, const Provenance& provenance);
std::string print_csv(const ScenarioFile& file, const RunReport& report,
                      const Provenance& provenance);

}  // namespace tapestry::app
