// Evaluating expectations against results.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "app/scenario/expectation.hpp"
#include "app/scenario/expression.hpp"
#include "app/scenario/names.hpp"

namespace tapestry::app {
namespace {

double as_double(const MetricValue& value) {
  // Counts stay below 2^53, nanoseconds of a run too: the conversion is exact.
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

class Evaluation {
 public:
  Evaluation(const Metrics& results, const std::vector<Published>& published)
      : results_(results), published_(published) {}

  // Nothing if some part has no value; `trouble` says why.
  std::optional<double> evaluate(const Term& term) {
    switch (term.kind) {
      case Term::Kind::number:
        return term.number;
      case Term::Kind::metric:
        return result(term.name);
      case Term::Kind::published:
        return figure(term.name);
      case Term::Kind::negate: {
        const auto operand = evaluate(*term.left);
        return operand ? std::optional(-*operand) : std::nullopt;
      }
      default:
        return combine(term);
    }
  }

  const std::string& trouble() const { return trouble_; }
  // "a.b.c = 5" for each result and figure used, each once, in order of use.
  const std::vector<std::string>& used() const { return used_; }

 private:
  std::optional<double> combine(const Term& term) {
    const auto left = evaluate(*term.left);
    const auto right = left ? evaluate(*term.right) : std::nullopt;
    if (!right) return std::nullopt;
    double value = 0;
    if (term.kind == Term::Kind::add) value = *left + *right;
    if (term.kind == Term::Kind::subtract) value = *left - *right;
    if (term.kind == Term::Kind::multiply) value = *left * *right;
    if (term.kind == Term::Kind::divide) {
      if (*right == 0) return fail("a division by zero");
      value = *left / *right;
    }
    if (!std::isfinite(value)) return fail("a number too large to compare");
    return value;
  }

  std::optional<double> result(const MetricName& name) {
    const auto variant = results_.find(name.variant);
    if (variant == results_.end()) return fail("no results of variant " + name.variant);
    const auto workload = variant->second.find(name.workload);
    if (workload == variant->second.end()) {
      return fail("no results of workload " + name.workload + " in variant " + name.variant);
    }
    const auto metric = workload->second.find(name.metric);
    if (metric == workload->second.end()) {
      std::vector<std::string> known;
      for (const auto& [other, value] : workload->second)
        known.push_back(other);
      return fail(name.variant + "." + name.workload + " has no metric " + name.metric + "; " +
                  suggest(name.metric, known, "it has"));
    }
    const double value = as_double(metric->second);
    if (!std::isfinite(value)) return fail(name.to_string() + " is not a finite number");
    return note(name.to_string(), value);
  }

  std::optional<double> figure(const MetricName& name) {
    const auto found = std::find_if(published_.begin(), published_.end(),
                                    [&name](const Published& entry) { return entry.name == name; });
    if (found == published_.end()) return fail("no published figure for " + name.to_string());
    return note("published(" + name.to_string() + ")", found->value);
  }

  double note(const std::string& name, double value) {
    std::string line = name + " = " + format_number(value);
    if (std::find(used_.begin(), used_.end(), line) == used_.end())
      used_.push_back(std::move(line));
    return value;
  }

  std::optional<double> fail(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
    return std::nullopt;
  }

  const Metrics& results_;
  const std::vector<Published>& published_;
  std::string trouble_;
  std::vector<std::string> used_;
};

// The larger over the smaller; two zeros are equal. Nothing if one is negative or only one is zero.
std::optional<double> factor_between(double left, double right) {
  if (left == right && left >= 0) return 1.0;
  if (left <= 0 || right <= 0) return std::nullopt;
  return std::max(left, right) / std::min(left, right);
}

struct Outcome {
  bool passed;
  std::string text;  // "120 > 100"
};

Outcome compare(double left, double right, bool holds, const char* sign) {
  return {holds,
          format_number(left) + (holds ? " " : " is not ") + sign + " " + format_number(right)};
}

Outcome compare_within(const Expression& expression, double left, double right) {
  const std::string both = format_number(left) + " against " + format_number(right) + ", ";
  const std::string limit = format_number(expression.tolerance);
  if (expression.relation == Relation::within_factor) {
    const auto factor = factor_between(left, right);
    if (!factor) return {false, both + "between which there is no factor"};
    const bool passed = *factor <= expression.tolerance;
    return {passed, both + "a factor of " + format_number(*factor) +
                        (passed ? "" : ", more than " + limit)};
  }
  const double difference = std::fabs(left - right);
  const bool passed = difference <= expression.tolerance / 100 * std::fabs(right);
  if (right == 0) return {passed, both + "which no percentage relates"};
  const double percent = difference / std::fabs(right) * 100;
  return {passed, both + "apart by " + format_number(percent) + "%" +
                      (passed ? "" : ", more than " + limit + "%")};
}

Outcome decide(const Expression& expression, double left, double right) {
  switch (expression.relation) {
    case Relation::less:
      return compare(left, right, left < right, "<");
    case Relation::less_equal:
      return compare(left, right, left <= right, "<=");
    case Relation::greater:
      return compare(left, right, left > right, ">");
    case Relation::greater_equal:
      return compare(left, right, left >= right, ">=");
    case Relation::equal:
      return compare(left, right, left == right, "==");
    default:
      return compare_within(expression, left, right);
  }
}

bool is_leaf(const Term& term) { return term.left == nullptr; }

}  // namespace

std::string format_number(double number) {
  constexpr double kExact = 1e15;  // whole numbers below this are shown in full
  char text[40];
  char* end = nullptr;
  if (number == std::trunc(number) && std::fabs(number) < kExact) {
    end = std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(number)).ptr;
  } else {
    end = std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr;
  }
  return {text, end};
}

Verdict judge(const Expectation& expectation, const Metrics& results,
              const std::vector<Published>& published) {
  const Expression& expression = *expectation.expression;
  Evaluation evaluation(results, published);
  const auto left = evaluation.evaluate(*expression.left);
  const auto right = left ? evaluation.evaluate(*expression.right) : std::nullopt;
  if (!right) return {false, expectation.that + ": " + evaluation.trouble()};

  const Outcome outcome = decide(expression, *left, *right);
  Verdict verdict{outcome.passed, expectation.that + ": " + outcome.text};
  if (!is_leaf(*expression.left) || !is_leaf(*expression.right)) {
    const char* separator = " (";
    for (const std::string& used : evaluation.used()) {
      verdict.text += separator + used;
      separator = ", ";
    }
    if (!evaluation.used().empty()) verdict.text += ")";
  }
  return verdict;
}

}  // namespace tapestry::app
