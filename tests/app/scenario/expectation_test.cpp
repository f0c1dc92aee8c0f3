// Expectations: how they are read, and how they are judged.
#include "app/scenario/expectation.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::tests::expectation_test {

using namespace app;

namespace {

Metrics some_results() {
  Metrics results;
  results["tap"]["udp"] = {{"throughput_bps", 5.5e9},
                           {"drops", std::int64_t{0}},
                           {"packets_per_second", std::int64_t{22000}}};
  results["legacy"]["udp"] = {{"throughput_bps", 1.1e9}, {"drops", std::int64_t{7}}};
  results["kern-vec-tap"]["rr"] = {{"latency_p50_ns", std::int64_t{50'000}}};
  results["1.10"]["udp"] = {{"drops", std::int64_t{-3}}};
  return results;
}

std::vector<Published> some_figures() {
  Published figure;
  figure.name = {"tap", "udp", "packets_per_second"};
  figure.value = 20000;
  return {figure};
}

Verdict judged(const std::string& text, const Metrics& results = some_results()) {
  const ParsedExpectation parsed = parse_expectation(text);
  INFO(text << " -> " << parsed.error);
  REQUIRE(parsed.expectation.has_value());
  return judge(*parsed.expectation, results, some_figures());
}

}  // namespace

TEST_CASE("an expectation is judged by numbers, and shows them", "[app][scenario]") {
  struct Row {
    const char* text;
    bool passed;
    const char* numbers;
  };
  const Row rows[] = {
      {"tap.udp.throughput_bps > legacy.udp.throughput_bps", true, "5500000000 > 1100000000"},
      {"tap.udp.throughput_bps < legacy.udp.throughput_bps", false,
       "5500000000 is not < 1100000000"},
      {"tap.udp.drops == 0", true, "0 == 0"},
      {"legacy.udp.drops <= 6", false, "7 is not <= 6"},
      {"legacy.udp.drops >= 7", true, "7 >= 7"},
      {"tap.udp.throughput_bps / legacy.udp.throughput_bps >= 4.5", true,
       "5 >= 4.5 (tap.udp.throughput_bps = 5500000000, legacy.udp.throughput_bps = 1100000000)"},
      {"1 + 2 * 3 == 7", true, "7 == 7"},
      {"(1 + 2) * 3 == 9", true, "9 == 9"},
      {"10 - 4 - 3 == 3", true, "3 == 3"},
      {"8 / 4 / 2 == 1", true, "1 == 1"},
      {"-2 * -(3) == 6", true, "6 == 6"},
      {"2 - -2 == 4", true, "4 == 4"},
      {"1.10.udp.drops < 1.10", true, "-3 < 1.1"},
      {"1e3 == 1000", true, "1000 == 1000"},
      {"kern-vec-tap.rr.latency_p50_ns - 1 < 50000", true, "49999 < 50000"},
      {"tap.udp.packets_per_second within 1.5x of published(tap.udp.packets_per_second)", true,
       "22000 against 20000, a factor of 1.1"},
      {"tap.udp.packets_per_second within 1.05x of published(tap.udp.packets_per_second)", false,
       "22000 against 20000, a factor of 1.1, more than 1.05"},
      {"10000 within 1.5x of published(tap.udp.packets_per_second)", false,
       "a factor of 2, more than 1.5"},
      {"tap.udp.packets_per_second within 10% of published(tap.udp.packets_per_second)", true,
       "apart by 10%"},
      {"tap.udp.packets_per_second within 9.9% of published(tap.udp.packets_per_second)", false,
       "apart by 10%, more than 9.9%"},
      {"tap.udp.drops within 2x of 0", true, "0 against 0, a factor of 1"},
      {"legacy.udp.drops within 2x of tap.udp.drops", false, "between which there is no factor"},
      {"1.10.udp.drops within 2x of 3", false, "between which there is no factor"},
      {"legacy.udp.drops within 50% of tap.udp.drops", false, "which no percentage relates"},
  };
  for (const Row& row : rows) {
    const Verdict verdict = judged(row.text);
    INFO(verdict.text);
    CHECK(verdict.passed == row.passed);
    CHECK(verdict.text.find(row.text) == 0);
    CHECK(verdict.text.find(row.numbers) != std::string::npos);
  }
}

TEST_CASE("an expectation that cannot be evaluated fails and says why", "[app][scenario]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"tapp.udp.drops == 0", "no results of variant tapp"},
      {"tap.tcp.drops == 0", "no results of workload tcp in variant tap"},
      {"tap.udp.drop == 0", "tap.udp has no metric drop; did you mean 'drops'?"},
      {"published(tap.udp.drops) == 0", "no published figure for tap.udp.drops"},
      {"1 / tap.udp.drops > 0", "a division by zero"},
      {"tap.udp.drops / tap.udp.drops == 1", "a division by zero"},
      {"1e300 * 1e300 > 1", "a number too large to compare"},
  };
  for (const auto& [text, why] : rows) {
    const Verdict verdict = judged(text);
    INFO(verdict.text);
    CHECK_FALSE(verdict.passed);
    CHECK(verdict.text.find(why) != std::string::npos);
  }
  Metrics results = some_results();
  results["tap"]["udp"]["drops"] = std::numeric_limits<double>::quiet_NaN();
  CHECK(judged("tap.udp.drops == 0", results).text.find("is not a finite number") !=
        std::string::npos);
  CHECK_FALSE(judged("tap.udp.drops < 1", results).passed);
}

TEST_CASE("an expectation knows the results and figures that it needs", "[app][scenario]") {
  const auto parsed = parse_expectation("a.b.c + a.b.c * d.e.f < published(a.b.c)");
  REQUIRE(parsed.expectation);
  CHECK(parsed.expectation->metrics == std::vector<MetricName>{{"a", "b", "c"}, {"d", "e", "f"}});
  CHECK(parsed.expectation->published == std::vector<MetricName>{{"a", "b", "c"}});
}

TEST_CASE("a text that is no expectation is refused at the place where it stops being one",
          "[app][scenario]") {
  struct Row {
    const char* text;
    std::size_t offset;
    const char* error;
  };
  const Row rows[] = {
      {"", 0, "expected a value at the end"},
      {"   ", 3, "expected a value at the end"},
      {"1", 1, "expected a comparison"},
      {"1 <", 3, "expected a value at the end"},
      {"1 < 2 < 3", 6, "the expectation should end here"},
      {"1 = 2", 2, "expected a comparison"},
      {"1 != 2", 2, "expected a comparison"},
      {"1 => 2", 2, "expected a comparison"},
      {"drops > 1", 0, "'drops' is not a metric, which is written variant.workload.metric"},
      {"udp.drops > 1", 0, "'udp.drops' is not a metric"},
      {".udp.drops > 1", 0, "is not a metric"},
      {"a..drops > 1", 0, "is not a metric"},
      {"a.b. > 1", 0, "is not a metric"},
      {"(1 < 2", 3, "expected ')'"},
      {"1) < 2", 1, "expected a comparison"},
      {"1 + < 2", 4, "expected a number or a metric"},
      {"12abc > 1", 0, "'12abc' is not a metric"},
      {"1 < published(a.b.c", 19, "expected ')'"},
      {"1 < published(5)", 14, "'5' is not a metric"},
      {"1 within 2 of 3", 9, "expected a factor such as 1.5x or a percentage"},
      {"1 within x of 3", 9, "expected a factor"},
      {"1 within 0.5x of 3", 9, "a factor is at least 1"},
      {"1 within 2x 3", 12, "expected 'of'"},
      {"1 $ 2", 2, "expected a comparison"},
  };
  for (const Row& row : rows) {
    const ParsedExpectation parsed = parse_expectation(row.text);
    INFO(row.text << " -> " << parsed.error << " at " << parsed.offset);
    CHECK_FALSE(parsed.expectation.has_value());
    CHECK(parsed.error.find(row.error) != std::string::npos);
    CHECK(parsed.offset == row.offset);
  }
  CHECK_FALSE(parse_expectation(std::string(2000, '1')).expectation);
  CHECK(parse_expectation(std::string(500, '-') + "1 < 2").error.find("nested more than 50") == 0);
}

}  // namespace tapestry::tests::expectation_test
