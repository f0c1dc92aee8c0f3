// The parsed form of an expectation's text. Internal to expectation.cpp and its evaluation.
#pragma once

#include <memory>
#include <string>

#include "app/scenario/expectation.hpp"

namespace tapestry::app {

// One node: a leaf, or an operation on `left` and `right`.
struct Term {
  enum class Kind : unsigned char {
    number,
    metric,
    published,
    negate,
    add,
    subtract,
    multiply,
    divide
  };

  Kind kind = Kind::number;
  double number = 0;
  MetricName name;
  std::unique_ptr<Term> left;  // of negate: the only operand
  std::unique_ptr<Term> right;
};

enum class Relation : unsigned char {
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  within_factor,  // neither side more than `tolerance` times the other
  within_percent  // left differs from right by at most `tolerance` percent of right
};

struct Expression {
  Relation relation = Relation::less;
  double tolerance = 0;
  std::unique_ptr<Term> left;
  std::unique_ptr<Term> right;
};

// How numbers are shown to people: 22097, 1.5, 5.52737e+09; the same in every locale.
std::string format_number(double number);

}  // namespace tapestry::app
