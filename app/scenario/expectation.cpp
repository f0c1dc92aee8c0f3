// Recursive descent over the grammar in the header.
#include "app/scenario/expectation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "app/scenario/expression.hpp"
#include "app/scenario/value.hpp"

namespace tapestry::app {
namespace {

constexpr std::size_t kLongestExpectation = 1000;
constexpr int kDeepestExpression = 50;

bool is_word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '-';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::unique_ptr<Expression> parse() {
    auto expression = std::make_unique<Expression>();
    expression->left = value();
    if (!failed()) relation(*expression);
    if (!failed()) expression->right = value();
    if (!failed() && (skip_spaces(), at_ < text_.size())) fail("the expectation should end here");
    return failed() ? nullptr : std::move(expression);
  }

  const std::string& error() const { return error_; }
  std::size_t error_offset() const { return error_offset_; }
  std::vector<MetricName> metrics;
  std::vector<MetricName> published;

 private:
  bool failed() const { return !error_.empty(); }

  std::unique_ptr<Term> fail(std::string error) { return fail_at(at_, std::move(error)); }
  std::unique_ptr<Term> fail_at(std::size_t offset, std::string error) {
    if (!failed()) error_ = std::move(error), error_offset_ = offset;
    return nullptr;
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }

  bool take(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  // The name or number at this place, not taken yet.
  std::string_view word() {
    skip_spaces();
    std::size_t end = at_;
    while (end < text_.size() && is_word_character(text_[end]))
      ++end;
    return text_.substr(at_, end - at_);
  }

  bool take_word(std::string_view expected) {
    if (word() != expected) return false;
    at_ += expected.size();
    return true;
  }

  // A number that fills its word, up to an `ending` such as the x of 1.5x.
  std::optional<double> take_number(std::string_view ending = {}) {
    const std::size_t length = word().size();
    if (length == 0 || !is_digit(text_[at_])) return std::nullopt;
    double number = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    const auto taken = static_cast<std::size_t>(end - begin);
    const bool complete =
        taken + ending.size() >= length && text_.substr(at_ + taken, ending.size()) == ending;
    if (error != std::errc{} || !complete) return std::nullopt;
    at_ += taken + ending.size();
    return number;
  }

  void relation(Expression& expression) {
    static constexpr std::pair<std::string_view, Relation> kSigns[] = {
        {"<=", Relation::less_equal}, {">=", Relation::greater_equal}, {"==", Relation::equal},
        {"<", Relation::less},        {">", Relation::greater},
    };
    for (const auto& [sign, relation] : kSigns) {
      if (take(sign)) {
        expression.relation = relation;
        return;
      }
    }
    if (take_word("within")) return within(expression);
    fail("expected a comparison: <, <=, >, >=, ==, or within");
  }

  void within(Expression& expression) {
    skip_spaces();
    const std::size_t begin = at_;
    if (const auto factor = take_number("x")) {
      expression.relation = Relation::within_factor;
      expression.tolerance = *factor;
      if (*factor < 1) fail_at(begin, "a factor is at least 1");
    } else if (const auto percent = take_number(); percent && take("%")) {
      expression.relation = Relation::within_percent;
      expression.tolerance = *percent;
    } else {
      fail_at(begin, "expected a factor such as 1.5x or a percentage such as 10% after within");
    }
    if (!failed() && !take_word("of")) fail("expected 'of'");
  }

  std::unique_ptr<Term> combine(Term::Kind kind, std::unique_ptr<Term> left,
                                std::unique_ptr<Term> right) {
    if (failed()) return nullptr;
    auto term = std::make_unique<Term>();
    term->kind = kind;
    term->left = std::move(left);
    term->right = std::move(right);
    return term;
  }

  std::unique_ptr<Term> value() {
    auto left = product();
    while (!failed()) {
      if (take("+")) {
        left = combine(Term::Kind::add, std::move(left), product());
      } else if (take("-")) {
        left = combine(Term::Kind::subtract, std::move(left), product());
      } else {
        break;
      }
    }
    return left;
  }

  std::unique_ptr<Term> product() {
    auto left = factor();
    while (!failed()) {
      if (take("*")) {
        left = combine(Term::Kind::multiply, std::move(left), factor());
      } else if (take("/")) {
        left = combine(Term::Kind::divide, std::move(left), factor());
      } else {
        break;
      }
    }
    return left;
  }

  std::unique_ptr<Term> factor() {
    if (depth_ == kDeepestExpression) {
      return fail("nested more than " + std::to_string(kDeepestExpression) + " deep");
    }
    ++depth_;
    auto term = factor_inside();
    --depth_;
    return term;
  }

  std::unique_ptr<Term> factor_inside() {
    if (take("-")) return combine(Term::Kind::negate, factor(), nullptr);
    if (take("(")) {
      auto inner = value();
      if (!failed() && !take(")")) return fail("expected ')'");
      return inner;
    }
    if (const auto number = take_number()) {
      auto term = std::make_unique<Term>();
      term->number = *number;
      return term;
    }
    if (word() == "published" && after_word() == '(') {
      take_word("published");
      take("(");
      auto term = metric(Term::Kind::published, published);
      if (!failed() && !take(")")) return fail("expected ')'");
      return term;
    }
    return metric(Term::Kind::metric, metrics);
  }

  char after_word() {
    std::size_t end = at_ + word().size();
    while (end < text_.size() && text_[end] == ' ')
      ++end;
    return end < text_.size() ? text_[end] : '\0';
  }

  // variant.workload.metric, split from the right because a variant's name may contain dots.
  std::unique_ptr<Term> metric(Term::Kind kind, std::vector<MetricName>& used) {
    const std::string_view name = word();
    if (name.empty()) {
      return fail(at_ == text_.size() ? "expected a value at the end"
                                      : "expected a number or a metric");
    }
    const std::size_t last = name.rfind('.');
    const std::size_t middle =
        last == 0 || last == name.npos ? name.npos : name.rfind('.', last - 1);
    if (middle == name.npos || middle == 0 || last == middle + 1 || last + 1 == name.size()) {
      return fail(quote(name) + " is not a metric, which is written variant.workload.metric");
    }
    auto term = std::make_unique<Term>();
    term->kind = kind;
    term->name = {std::string(name.substr(0, middle)),
                  std::string(name.substr(middle + 1, last - middle - 1)),
                  std::string(name.substr(last + 1))};
    if (std::find(used.begin(), used.end(), term->name) == used.end()) used.push_back(term->name);
    at_ += name.size();
    return term;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
  std::size_t error_offset_ = 0;
};

}  // namespace

ParsedExpectation parse_expectation(std::string_view that) {
  ParsedExpectation parsed;
  if (that.size() > kLongestExpectation) {
    parsed.error = "an expectation of more than " + std::to_string(kLongestExpectation) + " bytes";
    return parsed;
  }
  Parser parser(that);
  std::shared_ptr<const Expression> expression = parser.parse();
  if (expression == nullptr) {
    parsed.error = parser.error();
    parsed.offset = parser.error_offset();
    return parsed;
  }
  Expectation expectation;
  expectation.that = that;
  expectation.expression = std::move(expression);
  expectation.metrics = std::move(parser.metrics);
  expectation.published = std::move(parser.published);
  parsed.expectation = std::move(expectation);
  return parsed;
}

}  // namespace tapestry::app
