// Reading and checking what belongs to the file as a whole.
#include "app/scenario/whole.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/scenario/fields.hpp"
#include "app/scenario/names.hpp"
#include "app/scenario/variants.hpp"

namespace tapestry::app {
namespace {

class WholeReader {
 public:
  WholeReader(const Value& file, ScenarioFile& scenario, Diagnostics& diagnostics)
      : file_(file), scenario_(scenario), diagnostics_(diagnostics) {}

  void read() {
    read_heading();
    read_list("published", "a published figure", published_fields(),
              [this](const Value& item, PublishedEntry& entry) { take_published(item, entry); });
    read_list("expect", "an expectation", expect_fields(),
              [this](const Value& item, ExpectEntry& entry) {
                if (auto good = expectation_of(item, entry))
                  scenario_.expectations.push_back(std::move(*good));
              });
    read_list("answers", "an answer", answer_fields(),
              [this](const Value& item, AnswerEntry& entry) {
                if (auto when = expectation_of(item, entry.when))
                  scenario_.answers.push_back({std::move(entry.answer), std::move(*when)});
              });
    check_lesson();
  }

 private:
  void read_heading() {
    std::vector<std::string> known;
    append_names(heading_fields(), known);
    known.insert(known.end(), run_sections().begin(), run_sections().end());
    for (const char* const key : {"variants", "published", "expect", "answers"})
      known.emplace_back(key);
    check_keys(file_, known, "the scenario", diagnostics_);
    Heading heading;
    read_fields(file_, heading_fields(), heading, diagnostics_);
    scenario_.title = std::move(heading.title);
    scenario_.about = std::move(heading.about);
    scenario_.question = std::move(heading.question);
  }

  template <class Entry, class Take>
  void read_list(const char* section, const std::string& what, const Fields<Entry>& fields,
                 Take take) {
    const Value::Entry* const found = file_.find(section);
    if (found == nullptr) return;
    if (!found->value.is_list()) {
      diagnostics_.add(found->value.at,
                       std::string(section) + ": expected a list, found " + describe(found->value));
      return;
    }
    std::vector<std::string> known;
    append_names(fields, known);
    for (const Value& item : found->value.items) {
      if (!item.is_map()) {
        diagnostics_.add(item.at, item.path + ": " + what + " is a map, found " + describe(item));
        continue;
      }
      const std::size_t faults = diagnostics_.size();
      Entry entry;
      check_keys(item, known, what, diagnostics_);
      read_fields(item, fields, entry, diagnostics_);
      if (diagnostics_.size() == faults) take(item, entry);
    }
  }

  // ---- Names of results ----

  const Scenario* variant_named(const std::string& name) const {
    const auto found =
        std::find_if(scenario_.variants.begin(), scenario_.variants.end(),
                     [&name](const Scenario& variant) { return variant.variant == name; });
    return found == scenario_.variants.end() ? nullptr : &*found;
  }

  // The fault of a name that no result will have, or nothing. `part` says which part of it is
  // wrong.
  enum class Part : unsigned char { variant, workload, metric };
  struct BadName {
    Part part;
    std::string text;
    std::string hint;
  };

  std::optional<BadName> check_name(const MetricName& name) const {
    if (scenario_.variants.empty()) return std::nullopt;  // the variants are faulty themselves
    const Scenario* const variant = variant_named(name.variant);
    if (variant == nullptr) {
      std::vector<std::string> known;
      for (const Scenario& other : scenario_.variants)
        known.push_back(other.variant);
      return BadName{Part::variant, "there is no variant " + quote(name.variant),
                     suggest(name.variant, known, "variants")};
    }
    std::vector<std::string> workloads;
    for (const Workload& workload : variant->workloads)
      workloads.push_back(workload.name);
    if (std::find(workloads.begin(), workloads.end(), name.workload) == workloads.end()) {
      return BadName{Part::workload,
                     "there is no workload " + quote(name.workload) + " in variant " + name.variant,
                     suggest(name.workload, workloads, "workloads")};
    }
    std::vector<std::string> machines;
    for (const Machine& machine : variant->machines)
      machines.push_back(machine.name);
    const std::vector<std::string> metrics = metric_names(machines);
    if (std::find(metrics.begin(), metrics.end(), name.metric) == metrics.end()) {
      return BadName{Part::metric, "there is no metric " + quote(name.metric),
                     suggest(name.metric, metrics, "metrics")};
    }
    return std::nullopt;
  }

  // ---- Published figures ----

  void take_published(const Value& item, PublishedEntry& entry) {
    if (const auto bad = check_name(entry.name)) {
      static constexpr const char* kKeys[] = {"variant", "workload", "metric"};
      const Value& part = item.find(kKeys[static_cast<std::size_t>(bad->part)])->value;
      diagnostics_.add(part.at, part.path + ": " + bad->text, bad->hint);
      return;
    }
    Published& figure = entry.published;
    figure.name = std::move(entry.name);
    figure.at = item.at;
    const bool above = figure.low && figure.value < *figure.low;
    const bool below = figure.high && figure.value > *figure.high;
    if (above || below) {
      diagnostics_.add(
          item.find("value")->value.at,
          item.path + ".value: lies outside " + (above ? "low" : "high") + " of its own entry");
    }
    for (const Published& other : scenario_.published) {
      if (other.name != figure.name) continue;
      diagnostics_.add(item.at, item.path + ": a second figure for " + figure.name.to_string() +
                                    ", after that in line " + std::to_string(other.at.line));
    }
    scenario_.published.push_back(std::move(figure));
  }

  // ---- Expectations ----

  // The place of a byte of the text; of its beginning if the text spans lines or holds escapes.
  static Position inside(const Value& text, std::size_t offset) {
    Position at = text.at;
    if (text.text.find('\n') == std::string::npos)
      at.column += static_cast<int>(offset) + (text.quoted ? 1 : 0);
    return at;
  }

  // A question has answers, and answers have a question.
  void check_lesson() {
    const Value::Entry* const question = file_.find("question");
    const Value::Entry* const answers = file_.find("answers");
    const std::size_t given = answers == nullptr ? 0 : answers->value.items.size();
    if (question != nullptr && (given < kAnswersMin || given > kAnswersMax))
      diagnostics_.add(question->value.at,
                       "question: needs 2 to 9 answers, found " + std::to_string(given),
                       "answers: a list of {answer: ..., that: ...}");
    if (question == nullptr && answers != nullptr)
      diagnostics_.add(answers->value.at, "answers: there is no question that they answer");
  }

  std::optional<Expectation> expectation_of(const Value& item, ExpectEntry& entry) {
    const Value& that = item.find("that")->value;
    ParsedExpectation parsed = parse_expectation(entry.that);
    if (!parsed.expectation) {
      diagnostics_.add(inside(that, parsed.offset), that.path + ": " + parsed.error,
                       "such as: tap.udp.throughput_bps > 1.5 * legacy.udp.throughput_bps");
      return std::nullopt;
    }
    for (const MetricName& name : parsed.expectation->metrics)
      check_operand(that, name, "");
    for (const MetricName& name : parsed.expectation->published) {
      if (!check_operand(that, name, "published(")) continue;
      const bool known =
          std::any_of(scenario_.published.begin(), scenario_.published.end(),
                      [&name](const Published& figure) { return figure.name == name; });
      if (!known) {
        diagnostics_.add(position_of(that, name, "published("),
                         that.path + ": nothing is published for " + name.to_string(),
                         "add it to the list under published");
      }
    }
    parsed.expectation->because = std::move(entry.because);
    parsed.expectation->at = that.at;
    return std::move(parsed.expectation);
  }

  static Position position_of(const Value& that, const MetricName& name,
                              const std::string& before) {
    const std::size_t found = that.text.find(before + name.to_string());
    return inside(that, found == std::string::npos ? 0 : found + before.size());
  }

  bool check_operand(const Value& that, const MetricName& name, const std::string& before) {
    const auto bad = check_name(name);
    if (!bad) return true;
    Position at = position_of(that, name, before);
    if (bad->part != Part::variant) at.column += static_cast<int>(name.variant.size()) + 1;
    if (bad->part == Part::metric) at.column += static_cast<int>(name.workload.size()) + 1;
    diagnostics_.add(at, that.path + ": " + bad->text, bad->hint);
    return false;
  }

  static constexpr std::size_t kAnswersMin = 2;
  static constexpr std::size_t kAnswersMax = 9;

  const Value& file_;
  ScenarioFile& scenario_;
  Diagnostics& diagnostics_;
};

}  // namespace

void decode_whole(const Value& file, ScenarioFile& scenario, Diagnostics& diagnostics) {
  WholeReader(file, scenario, diagnostics).read();
}

}  // namespace tapestry::app
