#include "tests/style/functions.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

#include "tests/style/source.hpp"

namespace tapestry::tests {

namespace {

enum class Opens { kContainer, kFunction, kInitializer };

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return std::string(text);
}

// Without "template <...>", whose parameters may say class.
std::string without_template(std::string_view raw_head) {
  std::string head = trimmed(raw_head);
  while (head.starts_with("template")) {
    std::size_t i = head.find('<');
    if (i == std::string::npos) break;
    int depth = 0;
    do {
      if (head[i] == '<') ++depth;
      if (head[i] == '>') --depth;
      ++i;
    } while (depth > 0 && i < head.size());
    head = trimmed(head.substr(i));
  }
  return head;
}

bool is_access_specifier(std::string_view head) {
  return head == "public" || head == "protected" || head == "private";
}

// True if a single ':' follows the parameters: the list that initializes a constructor's members.
bool has_member_initializers(std::string_view head) {
  int depth = 0;
  bool behind_parameters = false;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const char c = head[i];
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0) behind_parameters = true;
    if (c != ':' || depth > 0) continue;
    const bool doubled = head.substr(i).starts_with("::");
    if (doubled) ++i;
    if (!doubled && behind_parameters) return true;
  }
  return false;
}

Opens judge(const std::string& raw_head) {
  static const std::regex kContainer(
      R"(^(inline\s+)?namespace\b|^extern$|\b(class|struct|union|enum)\s[^()]*$)");
  const std::string head = without_template(raw_head);
  if (head.empty() || head.back() == '=' || head.find(')') == std::string::npos) {
    const bool lambda = !head.empty() && head.back() == ']';
    if (std::regex_search(head, kContainer)) return Opens::kContainer;
    return lambda ? Opens::kFunction : Opens::kInitializer;
  }
  if (std::regex_search(head, kContainer)) return Opens::kContainer;
  const bool at_member = is_word(head.back()) || head.back() == '>';
  if (at_member && has_member_initializers(head)) return Opens::kInitializer;
  return Opens::kFunction;
}

// The name that stands before the parameters; what it is qualified with belongs to it.
std::string name_of(const std::string& raw_head) {
  const std::string head = without_template(raw_head);
  static const std::regex kName(
      R"(((?:[A-Za-z_]\w*(?:<[^()]*>)?::)*(?:operator[^(]*|~?[A-Za-z_]\w*))\s*\()");
  std::smatch match;
  return std::regex_search(head, match, kName) ? match[1].str() : head;
}

class Scanner {
 public:
  explicit Scanner(std::string_view code) : code_(code) {}

  std::vector<Function> run() {
    for (; at_ < code_.size(); ++at_)
      step(code_[at_]);
    return std::move(functions_);
  }

 private:
  void step(char c) {
    if (c == '\n') ++line_;
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
    if (c == '{') return open();
    if (c == '}') return forget_head();
    if (c == ';' && parentheses_ == 0) return forget_head();
    if (c == ':' && is_access_specifier(head_)) return forget_head();
    if (head_.empty() && is_space(c)) return;
    if (head_.empty()) head_line_ = line_;
    head_ += c;
  }

  void open() {
    const Opens opens = parentheses_ > 0 ? Opens::kInitializer : judge(head_);
    if (opens == Opens::kContainer) return forget_head();
    skip_to_closing_brace();
    if (opens == Opens::kFunction) {
      functions_.push_back({name_of(head_), head_line_, line_ - head_line_ + 1});
      return forget_head();
    }
    if (head_.empty()) head_line_ = line_;
    head_ += '}';  // the head goes on behind an initializer: "Cpu() : debt_{0} {"
  }

  // From an opening brace to the brace that closes it; leaves the place there.
  void skip_to_closing_brace() {
    int depth = 0;
    for (; at_ < code_.size(); ++at_) {
      if (code_[at_] == '\n') ++line_;
      if (code_[at_] == '{') ++depth;
      if (code_[at_] == '}' && --depth == 0) return;
    }
  }

  void forget_head() { head_.clear(); }

  std::string_view code_;
  std::size_t at_ = 0;
  int line_ = 1;
  int parentheses_ = 0;
  std::string head_;
  int head_line_ = 1;
  std::vector<Function> functions_;
};

}  // namespace

std::vector<Function> functions_of(std::string_view code) { return Scanner(code).run(); }

}  // namespace tapestry::tests
