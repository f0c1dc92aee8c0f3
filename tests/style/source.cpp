#include "tests/style/source.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace tapestry::tests {

namespace {

// Walks once over a text and blanks what is not code; line ends stay.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), code_(text) {}

  std::string run() {
    while (at_ < text_.size())
      step();
    return std::move(code_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (starts("//")) return blank_to(line_end());
    if (starts("/*")) return blank_to(behind("*/", at_ + 2));
    if (starts("R\"")) return blank_raw_string();
    if (c == '"') return blank_literal('"');
    // 1'000 holds no character literal.
    if (c == '\'' && (at_ == 0 || !is_word(text_[at_ - 1]))) return blank_literal('\'');
    if (c == '#' && first_on_line()) return blank_to(directive_end());
    ++at_;
  }

  bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }

  std::size_t line_end() const { return std::min(text_.find('\n', at_), text_.size()); }

  std::size_t behind(std::string_view end, std::size_t from) const {
    const std::size_t found = text_.find(end, from);
    return found == std::string_view::npos ? text_.size() : found + end.size();
  }

  bool first_on_line() const {
    std::size_t i = at_;
    while (i > 0 && (text_[i - 1] == ' ' || text_[i - 1] == '\t'))
      --i;
    return i == 0 || text_[i - 1] == '\n';
  }

  // A directive goes on behind a backslash at the end of its line.
  std::size_t directive_end() const {
    std::size_t end = line_end();
    while (end < text_.size() && text_[end - 1] == '\\') {
      end = std::min(text_.find('\n', end + 1), text_.size());
    }
    return end;
  }

  void blank_raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank_to(text_.size());
    const std::string end = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    blank_to(behind(end, open));
  }

  void blank_literal(char quote) {
    std::size_t i = at_ + 1;
    while (i < text_.size() && text_[i] != quote && text_[i] != '\n')
      i += text_[i] == '\\' ? 2 : 1;
    blank_to(std::min(i + 1, text_.size()));
  }

  void blank_to(std::size_t end) {
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') code_[at_] = ' ';
    }
  }

  std::string_view text_;
  std::string code_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

Source make_source(std::string path, std::string text) {
  std::string code = Blanker(text).run();
  return {std::move(path), std::move(text), std::move(code)};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Include> includes_of(const Source& source) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  std::vector<Include> includes;
  int line = 0;
  for (std::string_view text : lines_of(source.text)) {
    ++line;
    if (text.find('#') == std::string_view::npos) continue;
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_match(text.begin(), text.end(), match, kInclude)) {
      includes.push_back({line, match[1] == "\"", match[2]});
    }
  }
  return includes;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Source> read_sources(const std::string& root, const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<Source> sources;
  const fs::path top = fs::path(root) / folder;
  if (!fs::exists(top)) return sources;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cpp" && extension != ".hpp" && extension != ".inl") continue;
    sources.push_back(make_source(entry.path().lexically_relative(root).generic_string(),
                                  read_file(entry.path().string())));
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources;
}

}  // namespace tapestry::tests
