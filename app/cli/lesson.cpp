// tapestry lesson: a question to predict, and a run that says which answer was right.
//
// A lesson is a scenario with a question. No key is stored: each answer has a condition on the
// results, and the run decides. Lessons are numbered by their files' names, 1-interrupt.yaml on.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "app/cli/cli.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/shipped.hpp"
#include "app/results/layout.hpp"
#include "app/results/output.hpp"

namespace tapestry::app {

namespace {

struct Lesson {
  std::string number;
  std::string path;
};

std::vector<Lesson> lessons() {
  std::vector<Lesson> found;
  for (const std::string& path : shipped_lessons()) {
    const std::string name = std::filesystem::path(path).filename().string();
    found.push_back({name.substr(0, name.find('-')), path});
  }
  return found;
}

char letter_of(std::size_t answer) { return static_cast<char>('a' + answer); }

// A paragraph without hanging indent, as prose has it.
void print_prose(const std::string& text) {
  for (const std::string& paragraph : layout::paragraphs(text))
    fmt::print("{}\n", layout::filled(paragraph));
}

void print_question(const Lesson& lesson, const ScenarioFile& file) {
  fmt::print("Lesson {}: {}\n\n", lesson.number, file.title);
  print_prose(file.about);
  print_prose(file.question);
  for (std::size_t i = 0; i < file.answers.size(); ++i)
    fmt::print("{}",
               layout::wrapped(fmt::format("{}) {}", letter_of(i), file.answers[i].text), "  "));
  fmt::print("\nAnswer with: tapestry lesson {} --answer LETTER\n", lesson.number);
}

int list_lessons() {
  for (const Lesson& lesson : lessons()) {
    ScenarioArguments arguments;
    arguments.file = lesson.path;
    if (const auto file = load_or_explain(arguments))
      fmt::print("{:>2}  {}\n", lesson.number, file->title);
  }
  return kGood;
}

std::vector<Verdict> judge_answers(const ScenarioFile& file, const RunReport& report) {
  std::vector<Verdict> verdicts;
  const Metrics metrics = metrics_of(report);
  for (const Answer& answer : file.answers)
    verdicts.push_back(judge(answer.when, metrics, file.published));
  return verdicts;
}

void print_verdict(const std::string& path, const ScenarioFile& file, const RunReport& report,
                   std::size_t given, const std::vector<Verdict>& verdicts) {
  fmt::print("{}", print_table(file, report, {}, {path, {}, "seams"}));
  fmt::print("\n{} is {}.\n\n", letter_of(given), verdicts[given].passed ? "right" : "wrong");
  print_prose(file.answers[given].when.because);
  for (std::size_t i = 0; i < file.answers.size(); ++i)
    fmt::print(
        "{}", layout::wrapped(fmt::format("{}) {}: {}", letter_of(i),
                                          verdicts[i].passed ? "right" : "wrong", verdicts[i].text),
                              "  "));
  if (verdicts[given].passed) return;
  fmt::print("\n");
  for (std::size_t i = 0; i < file.answers.size(); ++i)
    if (verdicts[i].passed) print_prose(file.answers[i].when.because);
}

void print_graded(const LessonArguments& arguments, const ScenarioFile& file,
                  const RunReport& report, std::size_t given,
                  const std::vector<Verdict>& verdicts) {
  nlohmann::ordered_json document;
  document["schema_version"] = 1;
  document["lesson"] = arguments.number;
  document["title"] = file.title;
  document["question"] = file.question;
  document["answer"] = std::string(1, letter_of(given));
  document["right"] = verdicts[given].passed;
  document["answers"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < file.answers.size(); ++i)
    document["answers"].push_back({{"answer", std::string(1, letter_of(i))},
                                   {"text", file.answers[i].text},
                                   {"right", verdicts[i].passed},
                                   {"detail", verdicts[i].text}});
  document["fingerprint"] = report.fingerprint;
  fmt::print("{}\n", document.dump(2));
}

int grade(const LessonArguments& arguments, const std::string& path, const ScenarioFile& file) {
  const std::string& answer = arguments.answer;
  const auto given = static_cast<std::size_t>(answer[0] - 'a');
  if (answer.size() != 1 || answer[0] < 'a' || given >= file.answers.size()) {
    fmt::print(stderr, "error: --answer: '{}' is none of the answers a to {}\n", answer,
               letter_of(file.answers.size() - 1));
    return kUsage;
  }
  const RunReport report = run_scenario(file, arguments.runner);
  if (!report.error.empty()) fmt::print(stderr, "error: {}\n", report.error);
  if (const int code = exit_code_of(report); code != kGood) return code;
  const std::vector<Verdict> verdicts = judge_answers(file, report);
  if (arguments.json)
    print_graded(arguments, file, report, given, verdicts);
  else
    print_verdict(path, file, report, given, verdicts);
  return verdicts[given].passed ? kGood : kExpectationFailed;
}

}  // namespace

int lesson_command(const LessonArguments& arguments) {
  if (arguments.number.empty()) return list_lessons();
  const std::vector<Lesson> all = lessons();
  const auto lesson = std::find_if(
      all.begin(), all.end(), [&](const Lesson& one) { return one.number == arguments.number; });
  if (lesson == all.end()) {
    fmt::print(stderr, "error: there is no lesson {}; tapestry lesson lists them\n",
               arguments.number);
    return kUsage;
  }
  ScenarioArguments scenario;
  scenario.file = lesson->path;
  const auto file = load_or_explain(scenario);
  if (!file) return kUsage;
  if (!arguments.answer.empty()) return grade(arguments, lesson->path, *file);
  print_question(*lesson, *file);
  return kGood;
}

}  // namespace tapestry::app
