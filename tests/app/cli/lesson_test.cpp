// Lessons: each asks a question that exactly one of its answers answers, and a run says which.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/results/layout.hpp"
#include "tests/support/program.hpp"

namespace tapestry::tests::lesson_test {

using Catch::Contains;

namespace {

std::vector<std::string> numbers() {
  std::vector<std::string> found;
  const std::string list = tapestry({"lesson"}).out;
  for (std::size_t at = 0; at < list.size(); at = list.find('\n', at) + 1)
    found.push_back(list.substr(at, list.find("  ", at + 1) - at));
  for (std::string& number : found)
    number.erase(0, number.find_first_not_of(' '));
  return found;
}

nlohmann::json graded(const std::string& number, const std::string& answer, int& code) {
  const Finished done = tapestry({"lesson", number, "--answer", answer, "--json"});
  code = done.code;
  return nlohmann::json::parse(done.out);
}

}  // namespace

TEST_CASE("each lesson has one right answer, and says so by its exit code", "[cli][lesson]") {
  const std::vector<std::string> all = numbers();
  REQUIRE(all.size() >= 6);
  for (const std::string& number : all) {
    INFO("lesson " << number);
    int code = -1;
    const nlohmann::json first = graded(number, "a", code);
    CHECK(code == (first["right"].get<bool>() ? 0 : 1));
    int right = 0;
    for (const nlohmann::json& answer : first["answers"]) {
      INFO(answer["answer"] << ": " << answer["detail"]);
      right += answer["right"].get<bool>() ? 1 : 0;
      CHECK_THAT(answer["detail"].get<std::string>(), !Contains("has no metric"));
    }
    CHECK(right == 1);
  }
}

TEST_CASE("a lesson asks at 80 columns, and tells a wrong answer from a right one",
          "[cli][lesson]") {
  const std::string question = tapestry({"lesson", "2"}).out;
  CHECK_THAT(question, Contains("Lesson 2: Why NAPI") && Contains("  a) ") &&
                           Contains("Answer with: tapestry lesson 2 --answer LETTER"));
  const Finished wrong = tapestry({"lesson", "2", "--answer", "a"});
  const Finished right = tapestry({"lesson", "2", "--answer", "b"});
  CHECK(wrong.code == 1);
  CHECK(right.code == 0);
  CHECK_THAT(wrong.out, Contains("a is wrong.") && Contains("the interrupt stays off"));
  CHECK_THAT(right.out, Contains("b is right."));
  for (const std::string& text : {question, wrong.out, right.out})
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      CHECK(text.find('\n', at) - at <= app::layout::kColumns);
}

TEST_CASE("a lesson or an answer that does not exist is refused", "[cli][lesson]") {
  CHECK(tapestry({"lesson", "99"}).code == 2);
  CHECK_THAT(tapestry({"lesson", "99"}).err, Contains("there is no lesson 99"));
  for (const char* answer : {"z", "ab", "1"}) {
    const Finished done = tapestry({"lesson", "2", "--answer", answer});
    CHECK(done.code == 2);
    CHECK_THAT(done.err, Contains("is none of the answers a to c"));
    CHECK(done.out.empty());
  }
}

}  // namespace tapestry::tests::lesson_test
