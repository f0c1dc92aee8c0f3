// Finds the functions of a source file by their braces, without a compiler: enough to measure them.
//
// A brace is judged by its head, the code between the last statement's end and the brace. At the
// level of namespaces and classes, a head with parentheses opens a function, unless it names a
// namespace, a class or an enumeration, or belongs to a member's initializer. Whatever stands
// inside a function, lambdas included, is part of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::tests {

struct Function {
  std::string name;  // as written before the parameters, such as "Cpu::settle"
  int line;          // where its head starts
  int length_lines;  // from there to its closing brace, both included
};

// `code` is Source::code: without comments, literals and directives.
std::vector<Function> functions_of(std::string_view code);

}  // namespace tapestry::tests
