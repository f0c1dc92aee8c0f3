// What the tests of scenarios share: a small good one, ways to change it, and to see what was said.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/loader.hpp"

namespace tapestry::tests {

inline const std::filesystem::path kRoot = TAPESTRY_SOURCE_ROOT;

// A guest that floods its host: the smallest scenario with all sections in use but links.
inline std::string small_scenario() {
  return R"(schema: tapestry/1
title: small
costs: zero
machines:
  host: {platform: native, kernel: "6.18", cpus: 2}
  guest: {platform: uml, kernel: "6.1", host: host}
devices:
  host.tap0: {kind: tap, address: 10.77.0.1/24}
  guest.vec0: {kind: vector, transport: tap, attach: host.tap0, address: 10.77.0.2/24}
workloads:
  udp: {kind: udp-stream, from: guest, to: host, duration: 1ms}
)";
}

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t found = text.find(what);
  if (found == std::string::npos) return "nothing to replace";
  return text.replace(found, what.size(), by);
}

// Loads text as if it stood in scenarios/.
inline app::LoadedScenario load(std::string_view text, std::vector<std::string> overrides = {}) {
  app::LoadOptions options;
  options.overrides = std::move(overrides);
  return app::parse_scenario(text, (kRoot / "scenarios/test.yaml").string(), options);
}

// Everything that was said, one line each: "file:8:3: error: ...".
inline std::vector<std::string> said(const app::LoadedScenario& loaded) {
  std::vector<std::string> lines;
  for (app::Diagnostic diagnostic : loaded.diagnostics) {
    diagnostic.hint.clear();
    lines.push_back(diagnostic.format("file"));
  }
  return lines;
}

inline std::string hint_of(const app::LoadedScenario& loaded) {
  return loaded.diagnostics.empty() ? "no diagnostics" : loaded.diagnostics.front().hint;
}

}  // namespace tapestry::tests
