// A source file as the style guard sees it: its text, and its code, which is the text with
// comments, literals and preprocessor lines turned to blanks. Both have the same lines and columns,
// so that whatever is found in the code can be named by its line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::tests {

struct Include {
  int line;
  bool quoted;  // "like this", from the root of the project; else <like this>
  std::string path;
};

struct Source {
  std::string path;  // from the root of the project, such as "core/time.hpp"
  std::string text;
  std::string code;
};

Source make_source(std::string path, std::string text);

std::vector<std::string_view> lines_of(std::string_view text);
std::vector<Include> includes_of(const Source& source);

// All sources of the folder and its subfolders, sorted by path.
std::vector<Source> read_sources(const std::string& root, const std::string& folder);

std::string read_file(const std::string& path);

// Whether c can stand in an identifier.
bool is_word(char c);

}  // namespace tapestry::tests
