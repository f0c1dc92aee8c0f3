// Text that no parser should see, and text that only looks unusual.
#include "app/scenario/guards.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::guards_test {

using namespace app;
using namespace std::string_literals;

TEST_CASE("a byte order mark, CRLF and a missing final newline change nothing", "[app][scenario]") {
  const std::string plain = "a: 1\nb: 2\n";
  CHECK(guard_text(plain).text == plain);
  CHECK(guard_text("\xef\xbb\xbf" + plain).text == plain);
  CHECK(guard_text("a: 1\r\nb: 2\r\n").text == plain);
  CHECK(guard_text("a: 1\nb: 2").text == plain);
  CHECK(guard_text("\xef\xbb\xbf"
                   "a: 1\r\nb: 2")
            .text == plain);
}

TEST_CASE("the same scenario with other line ends loads as the same scenario", "[app][scenario]") {
  std::string windows = "\xef\xbb\xbf";
  for (const char c : small_scenario())
    windows += c == '\n' ? "\r\n"s : std::string(1, c);
  windows.resize(windows.size() - 2);
  const LoadedScenario loaded = load(windows);
  REQUIRE(said(loaded).empty());
  CHECK(loaded.scenario->variants.front().devices.size() == 2);
}

TEST_CASE("text that is no plain UTF-8 is refused where it begins to be none", "[app][scenario]") {
  struct Row {
    const char* what;
    std::string bytes;
    int line, column;
    const char* text;
  };
  const Row rows[] = {
      {"a tab as the first character of a line", "a:\n\tb: 1\n", 2, 1, "a tab in the indentation"},
      {"a tab after spaces", "a:\n  \tb: 1\n", 2, 3, "a tab in the indentation"},
      {"UTF-16 with its mark",
       "\xff\xfe"
       "a\0:\0"s,
       1, 1, "UTF-16"},
      {"UTF-16 without its mark", "\0a\0:\0 \0b"s, 1, 1, "UTF-16"},
      {"UTF-32", "\xff\xfe\0\0a\0\0\0"s, 1, 1, "UTF-16 or UTF-32"},
      {"one zero byte", "title: long enough not to be UTF-16\nabout: \0\n"s, 2, 8,
       "a control character"},
      {"an escape character", "title: \x1b[31mred\n", 1, 8, "a control character"},
      {"a lone carriage return", "a: 1\rb: 2\n", 1, 5, "a carriage return"},
      {"a continuation byte alone", "a: \x80\n", 1, 4, "not valid UTF-8"},
      {"a character cut short", "a: \xe2\x82\n", 1, 4, "not valid UTF-8"},
      {"an overlong slash", "a: \xc0\xaf\n", 1, 4, "not valid UTF-8"},
      {"half a surrogate pair", "a: \xed\xa0\x80\n", 1, 4, "not valid UTF-8"},
      {"a character beyond the last", "a: \xf4\x90\x80\x80\n", 1, 4, "not valid UTF-8"},
  };
  for (const Row& row : rows) {
    const GuardedText guarded = guard_text(row.bytes);
    INFO(row.what);
    REQUIRE(guarded.refusal.has_value());
    CHECK(guarded.refusal->at == Position{Source::file, row.line, row.column});
    CHECK(guarded.refusal->text.find(row.text) != std::string::npos);
  }
}

TEST_CASE("letters of every language and tabs after text are text", "[app][scenario]") {
  CHECK_FALSE(guard_text("title: Gewebe, \xe7\xb9\x94\xe7\x89\xa9, \xf0\x9f\xa7\xb5\n").refusal);
  CHECK_FALSE(guard_text("a: 1\t# a comment after a tab\n").refusal);
}

TEST_CASE("a scenario of more than 256 KiB is refused before it is read", "[app][scenario]") {
  CHECK_FALSE(guard_text(std::string(kMostScenarioBytes, ' ')).refusal);
  const GuardedText guarded = guard_text(std::string(kMostScenarioBytes + 1, ' '));
  REQUIRE(guarded.refusal);
  CHECK(guarded.refusal->text == "the scenario is larger than 256 KiB");
}

}  // namespace tapestry::tests::guards_test
