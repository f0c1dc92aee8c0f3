// The JSON Schema (draft-07) of scenario files: what editors complete and check with.
//
// It is generated from the tables of attributes, and a test keeps scenarios/schema/scenario.json
// equal to it. The loader checks files against it too. The schema knows shapes, types, words and
// units; names, ranges of quantities and everything that needs the whole are the loader's.
#pragma once

#include <string>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {

// The text of the schema, indented, with a final newline.
std::string scenario_schema();

// Checks a whole file. Faults go to `diagnostics`, only the deepest of those that follow from each
// other, and none about a value where `reported`, which knows better words, has one already.
void check_schema(const Value& file, const Diagnostics& reported, Diagnostics& diagnostics);

}  // namespace tapestry::app
