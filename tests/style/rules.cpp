#include "tests/style/rules.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "tests/style/functions.hpp"

namespace tapestry::tests {

namespace {

std::string place(const Source& source, int line) {
  return source.path + ":" + std::to_string(line) + ": ";
}

// Lines of a table that are neither empty nor a comment.
std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> rows;
  for (std::string_view line : lines_of(text)) {
    if (!line.empty() && line.front() != '#') rows.emplace_back(line);
  }
  return rows;
}

int columns_of(std::string_view line) {
  // A byte 10xxxxxx continues a UTF-8 character.
  return static_cast<int>(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

// A library that only a few files may know.
struct Library {
  std::string headers;  // how its includes start
  std::vector<std::string> users;
  std::string why;
};

const std::vector<Library> kLibraries = {
    {"boost/context",
     {"sched/fiber.", "tests/bench/"},
     "only sched/fiber.* switches stacks: use sched::Fiber"},
    {"boost/asio",
     {"host/live/", "app/", "tests/host/live/", "tests/app/"},
     "simulated waiting is a sched::WaitQueue; Asio is for real descriptors"},
};

}  // namespace

Layers parse_layers(const std::string& text) {
  Layers layers;
  for (const std::string& row : rows_of(text)) {
    const std::size_t colon = row.find(':');
    if (colon == std::string::npos) throw std::runtime_error("layers.txt: no colon: " + row);
    std::istringstream below(row.substr(colon + 1));
    std::set<std::string>& allowed = layers[row.substr(0, colon)];
    for (std::string layer; below >> layer;)
      allowed.insert(layer);
  }
  return layers;
}

std::string layer_of(const Layers& layers, const std::string& path) {
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    if (layers.contains(path.substr(0, slash))) return path.substr(0, slash);
  }
  return "";
}

std::vector<Exception> parse_exceptions(const std::string& text) {
  std::vector<Exception> exceptions;
  for (const std::string& row : rows_of(text)) {
    std::istringstream fields(row);
    Exception exception;
    fields >> exception.rule >> exception.target >> std::ws;
    std::getline(fields, exception.reason);
    if (exception.reason.empty()) {
      throw std::runtime_error("exceptions.txt: an exception needs a reason: " + row);
    }
    exceptions.push_back(exception);
  }
  return exceptions;
}

Findings check_layers(const Layers& layers, const Source& source) {
  Findings findings;
  const std::string from = layer_of(layers, source.path);
  if (from.empty()) {
    findings.push_back({"layer", source.path, source.path + ": in no layer of layers.txt"});
    return findings;
  }
  for (const Include& include : includes_of(source)) {
    const std::string to = layer_of(layers, include.path);
    if (include.quoted && to.empty()) {
      findings.push_back({"layer", source.path,
                          place(source, include.line) + "\"" + include.path +
                              "\" starts at no layer: write the path from the root, or <" +
                              include.path + ">"});
    } else if (!to.empty() && to != from && !layers.at(from).contains(to)) {
      findings.push_back({"layer", source.path,
                          place(source, include.line) + from + " must not know " + to + " (" +
                              include.path + "): see layers.txt"});
    }
  }
  return findings;
}

Findings check_libraries(const Source& source) {
  Findings findings;
  for (const Include& include : includes_of(source)) {
    for (const Library& library : kLibraries) {
      if (!include.path.starts_with(library.headers)) continue;
      const bool allowed = std::ranges::any_of(
          library.users, [&](const std::string& user) { return source.path.starts_with(user); });
      if (allowed) continue;
      findings.push_back({"library", source.path,
                          place(source, include.line) + "<" + include.path + ">: " + library.why});
    }
  }
  return findings;
}

Findings check_sizes(const Source& source) {
  Findings findings;
  const std::vector<std::string_view> lines = lines_of(source.text);
  if (lines.size() > kMaxFileLines) {
    findings.push_back({"file-length", source.path,
                        source.path + ": " + std::to_string(lines.size()) + " lines, over " +
                            std::to_string(kMaxFileLines) + ": split it where its stories part"});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (columns_of(lines[i]) <= kMaxColumns) continue;
    findings.push_back({"line-length", source.path,
                        place(source, static_cast<int>(i) + 1) + "over " +
                            std::to_string(kMaxColumns) + " columns: wrap it"});
  }
  for (const Function& function : functions_of(source.code)) {
    if (function.length_lines <= kMaxFunctionLines) continue;
    findings.push_back({"function-length", source.path + ":" + function.name,
                        place(source, function.line) + function.name + " has " +
                            std::to_string(function.length_lines) + " lines, over " +
                            std::to_string(kMaxFunctionLines) + ": give its steps names"});
  }
  return findings;
}

Findings check_openings(const Source& source) {
  Findings findings;
  if (!source.path.ends_with(".hpp")) return findings;
  if (!source.text.starts_with("//")) {
    findings.push_back({"story", source.path,
                        source.path + ": a header opens with a comment that tells its story"});
  }
  if (source.text.find("\n#pragma once\n") == std::string::npos) {
    findings.push_back({"pragma-once", source.path, source.path + ": lacks #pragma once"});
  }
  return findings;
}

Findings check_dead(const std::vector<Source>& sources) {
  std::set<std::string> included;
  for (const Source& source : sources) {
    for (const Include& include : includes_of(source))
      included.insert(include.path);
  }
  Findings findings;
  for (const Source& source : sources) {
    if (source.path.ends_with(".cpp") || included.contains(source.path)) continue;
    findings.push_back(
        {"dead", source.path, source.path + ": no source includes it: remove it, or use it"});
  }
  return findings;
}

Findings check_all(const Layers& layers, const Source& source) {
  Findings all;
  for (const Findings& some : {check_layers(layers, source), check_libraries(source),
                               check_sizes(source), check_openings(source), check_words(source)}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace tapestry::tests
