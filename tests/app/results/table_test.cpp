// What people see: the tables of the shipped scenarios, line by line, and tables of odd shapes.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "app/results/layout.hpp"
#include "app/results/output.hpp"
#include "app/scenario/loader.hpp"
#include "app/version.hpp"
#include "tests/support/program.hpp"

namespace tapestry::tests::table_test {

using namespace app;

namespace {

const std::string kRoot = TAPESTRY_SOURCE_ROOT;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

void check_width(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    INFO(line);
    CHECK(line.size() <= layout::kColumns);
    CHECK((line.empty() || line.back() != ' '));
  }
}

ScenarioFile load(const std::string& path) {
  LoadedScenario loaded = load_scenario(path);
  REQUIRE(loaded.scenario);
  return std::move(*loaded.scenario);
}

std::string replaced_all(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), by);
  return text;
}

RunResult result(const std::string& variant, const std::string& workload) {
  RunResult made;
  made.variant = variant;
  made.workload = workload;
  made.finished = true;
  made.metrics["throughput_bps"] = 1.5e9;
  made.metrics["latency_p99_ns"] = std::int64_t{123'456'789'012};
  made.metrics["drops"] = std::int64_t{7};
  return made;
}

std::string table(const RunReport& report) {
  ScenarioFile file;
  file.title = "odd";
  file.variants.emplace_back();
  RunReport whole = report;
  whole.fingerprint = std::string(32, 'f');
  return print_table(file, whole, {}, {"odd.yaml", {}, "seams"});
}

}  // namespace

TEST_CASE("the table of a shipped scenario is the one that was looked at", "[app][golden]") {
  const std::string name =
      GENERATE(as<std::string>{}, "packets-per-syscall", "uml-on-this-host", "pktgen-burst");
  const ScenarioFile file = load(kRoot + "/scenarios/" + name + ".yaml");
  const RunReport report = run_scenario(file, {});
  std::string text = print_table(file, report, judge_all(file, report),
                                 {"scenarios/" + name + ".yaml", {}, "seams"});
  check_width(text);
  text = replaced_all(text, std::string(version()) + " (" + std::string(commit()) + ")",
                      "VERSION (COMMIT)");
  const std::string path = kRoot + "/tests/app/results/golden/" + name + ".txt";
  if (std::getenv("TAPESTRY_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  INFO("if the change is meant, run this test once with TAPESTRY_WRITE_GOLDEN=1, and look at it");
  CHECK(text == read_text(path));
}

TEST_CASE("a name that is too long for its column stands above its figures, whole", "[app]") {
  const std::string name = "a-variant-with-a-name-of-forty-characters";
  RunReport report;
  report.results.push_back(result(name, "workload-with-a-name-of-38-characters-x"));
  report.results.push_back(result("short", "workload-with-a-name-of-38-characters-x"));
  report.results[0].cpu.push_back({.machine = "machine-with-a-long-name", .user = 6400});
  report.results[0].metrics["machine-with-a-long-name_cpu_percent"] = 6400.0;
  report.results[0].drops.emplace_back("TAPESTRY_DROP_REASON_LINK_LOSS", 7);
  const std::string text = table(report);
  check_width(text);
  CHECK_THAT(text, Catch::Contains("\n  " + name + "\n"));
  CHECK_THAT(text, Catch::Contains("workload-with-a-name-of-38-characters-x\n"));
  CHECK_THAT(text, Catch::Contains("machine-with-a-long-name\n"));
  CHECK_THAT(text, Catch::Contains("  short"));
}

TEST_CASE("what a run does not have is a dash, never a zero", "[app]") {
  RunReport report;
  report.results.push_back(result("v", "w"));
  const std::vector<std::string> lines = lines_of(table(report));
  REQUIRE(lines.size() > 3);
  CHECK(lines[2].rfind("w ", 0) == 0);
  CHECK(lines[3].rfind("  v", 0) == 0);
  CHECK_THAT(lines[3],
             Catch::Contains("1.50G") && Catch::Contains(" - ") && Catch::Contains("123.46s"));
}

TEST_CASE("a table without results is a title and where it comes from", "[app]") {
  const std::string text = table({});
  check_width(text);
  CHECK_THAT(text, Catch::StartsWith("odd\n\nodd.yaml\nversion "));
}

TEST_CASE("numbers fit their columns", "[app]") {
  struct Row {
    double value;
    const char* scaled;
    const char* duration;
    const char* tenths;
  };
  const Row rows[] = {{0, "0", "0.0us", "0.0"},
                      {9.994, "9.99", "0.0us", "10.0"},
                      {9.996, "10.0", "0.0us", "10.0"},
                      {999.4, "999", "1.0us", "999.4"},
                      {999.6, "1.00k", "1.0us", "999.6"},
                      {999.96, "1.00k", "1.0us", "1000"},
                      {123'456, "123k", "123.5us", "123456"},
                      {999'940, "1.00M", "999.9us", "999940"},
                      {999'960, "1.00M", "1.00ms", "999960"},
                      {99'999'999, "100M", "100.0ms", "99999999"},
                      {999'960'000, "1.00G", "1.00s", "999960000"},
                      {1.5e12, "1.50T", "1500.00s", "1500000000000"}};
  for (const Row& row : rows) {
    INFO(row.value);
    CHECK(layout::scaled(row.value) == row.scaled);
    CHECK(layout::duration(row.value) == row.duration);
    CHECK(layout::tenths(row.value) == row.tenths);
  }
  CHECK(layout::scaled(std::nullopt) == "-");
}

TEST_CASE("words are wrapped at spaces, and one that is too long where the line ends", "[app]") {
  CHECK(layout::wrapped("", "") == "\n");
  CHECK(layout::wrapped("a b", "  ") == "  a b\n");
  const std::string word(79, 'w');
  CHECK(layout::wrapped(word + " x", "") == word + "\n  x\n");
  CHECK(layout::wrapped(word + "w x", "") == word + "w\n  x\n");
  CHECK(layout::wrapped(std::string(100, 'w'), "") ==
        std::string(80, 'w') + "\n  " + std::string(20, 'w') + "\n");
  check_width(layout::wrapped(std::string(500, 'w') + " " + word + " end", "    "));
}

TEST_CASE("every drop reason fits the table", "[app]") {
  RunReport report;
  report.results.push_back(result("v", "w"));
  for (std::size_t i = 0; i < core::kDropReasons; ++i)
    report.results[0].drops.emplace_back(core::name_of(static_cast<core::DropReason>(i)), i + 1);
  check_width(table(report));
}

}  // namespace tapestry::tests::table_test
