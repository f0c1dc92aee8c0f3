// The style guard reads sources by simple means; these tests say what it must not fall for.

#include "tests/style/source.hpp"

#include <catch2/catch.hpp>

#include "tests/style/functions.hpp"

namespace tapestry::tests::source_test {

namespace {

std::string code_of(std::string text) { return make_source("x.cpp", std::move(text)).code; }

// Every function as "name@line+length", in one string.
std::string functions_in(std::string text) {
  std::string list;
  for (const Function& function : functions_of(code_of(std::move(text)))) {
    if (!list.empty()) list += ' ';
    list += function.name + "@" + std::to_string(function.line) + "+" +
            std::to_string(function.length_lines);
  }
  return list;
}

}  // namespace

TEST_CASE("code is the text without comments, literals and directives, at the same columns") {
  struct Row {
    std::string text, code;
  };
  const Row row = GENERATE(values<Row>({
      {"a; // b", "a;     "},
      {"a; /* b\nc */ d", "a;     \n     d"},
      {R"(f("a // b", 'c'))", R"(f(        ,    ))"},
      {R"(f("a\"b") + c)", R"(f(      ) + c)"},
      {"R\"x(a \" )x\" b", "            b"},
      {"1'000 + 'a'", "1'000 +    "},
      {"'\\'' + b", "     + b"},
      {"#define A \\\n  { b\nc", "           \n     \nc"},
      {"a # b", "a # b"},
      {"unterminated /* b", "unterminated     "},
      {"", ""},
  }));
  CHECK(code_of(row.text) == row.code);
}

TEST_CASE("includes are found with their line and their kind") {
  const Source source = make_source("x.cpp",
                                    "// #include \"no.hpp\"\n"
                                    "#include <boost/context/fiber.hpp>\n"
                                    "  #  include \"core/time.hpp\"  // why\n");
  const std::vector<Include> includes = includes_of(source);
  REQUIRE(includes.size() == 2);
  CHECK(includes[0].line == 2);
  CHECK_FALSE(includes[0].quoted);
  CHECK(includes[0].path == "boost/context/fiber.hpp");
  CHECK(includes[1].line == 3);
  CHECK(includes[1].quoted);
  CHECK(includes[1].path == "core/time.hpp");
}

TEST_CASE("functions are found, and measured from their head to their closing brace") {
  struct Row {
    std::string text, functions;
  };
  const Row row = GENERATE(values<Row>({
      {"int f() {\n  return 1;\n}\n", "f@1+3"},
      {"int f();\nint g() { return 1; }\n", "g@2+1"},
      {"namespace a::b {\nvoid f(int x,\n       int y)\n{\n}\n}", "f@2+4"},
      {"class A : public B {\n public:\n  int f() const { return 1; }\n  int x_{1};\n};", "f@3+1"},
      {"A::A(int x) : x_{x}, y_(x) {\n  g();\n}\nvoid f() {\n}", "A::A@1+3 f@4+2"},
      {"A::A() : B<int>{1} {\n}", "A::A@1+2"},
      {"A::~A() {}\nbool A::operator==(B b) const {\n}", "A::~A@1+1 A::operator==@2+2"},
      {"template <class T, class U>\nauto f(T t) -> std::vector<U> {\n}", "f@1+3"},
      {"template <class T> struct A {\n  void f() {\n  }\n};", "f@2+2"},
      {"enum class E : int { kA, kB };\nvoid f() {}", "f@2+1"},
      {"constexpr int kTable[] = {\n  1,\n  2\n};\nvoid f() {}", "f@5+1"},
      {"void f(std::vector<int> v = {}) {\n  if (v) {\n  } else {\n  }\n}", "f@1+5"},
      {"void f() {\n  auto g = [](int x) {\n    return x;\n  };\n}\nvoid h() {}", "f@1+5 h@6+1"},
      {"TEST_CASE(\"a } b\") {\n  SECTION(\"{\") {\n  }\n}", "TEST_CASE@1+4"},
      {"// f() {\n#define A {\nvoid g() {}", "g@3+1"},
      {"auto f = [] {\n  return 1;\n};\nvoid g() {}", "auto f = []@1+3 g@4+1"},
      {"extern \"C\" {\nvoid f() {\n}\n}", "f@2+2"},
      {"", ""},
  }));
  CAPTURE(row.text);
  CHECK(functions_in(row.text) == row.functions);
}

}  // namespace tapestry::tests::source_test
