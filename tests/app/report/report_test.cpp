// The report: one page, whole by itself, with every figure as text.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "app/report/chart.hpp"
#include "app/report/markup.hpp"
#include "app/report/report.hpp"
#include "app/results/layout.hpp"
#include "app/scenario/loader.hpp"

namespace tapestry::tests::report_test {

using namespace app;
using Catch::Contains;

namespace {

ScenarioFile flagship_file() {
  LoadedScenario loaded =
      load_scenario(std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/packets-per-syscall.yaml");
  REQUIRE(loaded.scenario);
  return std::move(*loaded.scenario);
}

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

RunReport report_of(const ScenarioFile& file) {
  RunnerOptions options;
  options.variants = {"legacy", "raw"};
  options.workloads = {"rr"};
  return run_scenario(file, options);
}

}  // namespace

TEST_CASE("a report needs nobody: no address, no script's file, no picture of elsewhere",
          "[app][report]") {
  const ScenarioFile file = flagship_file();
  const RunReport report = report_of(file);
  const std::string page =
      print_report(file, report, judge_all(file, report), {"a.yaml", {"seed=3"}, "seams"});
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    CHECK_THAT(page, !Contains(outside));
  for (const char* tag : {"table", "tr", "td", "div", "svg", "g", "details", "figure", "ul", "li"})
    CHECK(times(page, std::string("<") + tag + ">") + times(page, std::string("<") + tag + " ") ==
          times(page, std::string("</") + tag + ">"));
  for (const char* anchor : {"results", "latency", "contexts", "costs", "flames", "provenance"}) {
    CHECK_THAT(page, Contains(std::string("id=\"") + anchor + "\""));
    CHECK_THAT(page, Contains(std::string("href=\"#") + anchor + "\""));
  }
}

TEST_CASE("the figures of the table are in the report, and where they come from", "[app][report]") {
  const ScenarioFile file = flagship_file();
  const RunReport report = report_of(file);
  const std::string page = print_report(file, report, {}, {"a.yaml", {"seed=3"}, "seams"});
  for (const RunResult& result : report.results) {
    const auto rate = std::get<double>(result.metrics.at("transactions_per_second"));
    CHECK_THAT(page, Contains("<td>" + layout::scaled(rate) + "</td>"));
    const auto tail = std::get<std::int64_t>(result.metrics.at("latency_p99_ns"));
    CHECK_THAT(page, Contains("<td>" + layout::duration(static_cast<double>(tail)) + "</td>"));
  }
  CHECK_THAT(page, Contains(report.fingerprint) && Contains("--set seed=3") && Contains("a.yaml"));
}

TEST_CASE("what people write stays text", "[app][report]") {
  ScenarioFile file = flagship_file();
  file.title = "<script>alert(\"1\")</script> & more";
  const std::string page = print_report(file, report_of(file), {}, {"<b>.yaml", {}, "seams"});
  CHECK_THAT(page, !Contains("<script>") && !Contains("<b>"));
  CHECK_THAT(page, Contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; more"));
}

TEST_CASE("bars end where the largest figure does, and marks stand where others' figures are",
          "[app][report]") {
  const std::string html =
      chart::bars("x", {{"a", 50, "50", 100.0, "100"}, {"b", 25, "25", std::nullopt, ""}});
  CHECK_THAT(html,
             Contains("width:50.00%") && Contains("width:25.00%") && Contains("left:100.00%"));
  CHECK(chart::bars("x", {}).empty());
  CHECK_THAT(chart::bars("x", {{"a", 0, "0", std::nullopt, ""}}), Contains("width:0.00%"));
}

TEST_CASE("a flame graph's boxes are as wide as their time", "[app][report]") {
  const std::string svg =
      chart::flame({"run", 100, {{"host", 75, {}}, {"guest", 25, {{"copy", 25, {}}}}}});
  CHECK_THAT(svg, Contains("x=\"720.0\" y=\"20.0\" width=\"239.0\""));
  CHECK_THAT(svg, Contains("copy: 0.0us (25.0%)"));
  CHECK(chart::flame({"nothing", 0, {}}).empty());
}

}  // namespace tapestry::tests::report_test
