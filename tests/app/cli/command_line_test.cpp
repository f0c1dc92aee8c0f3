// The command line through the built program: what each command prints, where, and its exit code.
#include <catch2/catch.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace tapestry::tests::command_line_test {
namespace {

using Catch::Contains;
using Catch::StartsWith;

const std::string kShipped = "scenarios/packets-per-syscall.yaml";

std::string scenario(const std::string& workload, const std::string& more = "") {
  return "schema: tapestry/1\ntitle: small\ncosts: epyc-guest\n"
         "machines:\n"
         "  host: {platform: native, kernel: \"6.18\", cpus: 2}\n"
         "  guest: {platform: uml, kernel: \"6.1\", host: host, pin: 0}\n"
         "devices:\n"
         "  host.tap0: {kind: tap, address: 10.77.0.1/24}\n"
         "  guest.eth0: {kind: legacy-tap, attach: host.tap0, address: 10.77.0.2/24}\n"
         "workloads:\n  w: " +
         workload + "\n" + more;
}

const std::string kPing = "{kind: ping, from: guest, to: host, count: 3, interval: 1ms}";

Finished run(const std::string& text, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", "-"});
  return tapestry(more, {.input = text});
}

TEST_CASE("a good run ends with 0, prints its table, and nothing else anywhere", "[cli]") {
  const Finished done = run(scenario(kPing));
  CHECK(done.code == 0);
  CHECK(done.err.empty());  // no progress either: this is no terminal
  CHECK_THAT(done.out, StartsWith("small\n"));
  CHECK_THAT(done.out, Contains("fingerprint "));
}

TEST_CASE("an expectation that does not hold ends with 1, and the table says which", "[cli]") {
  const Finished done = run(scenario(kPing, "expect:\n  - that: base.w.packets > 3\n"));
  CHECK(done.code == 1);
  CHECK_THAT(done.out, Contains("Expectations: 0 of 1 hold\n  failed: base.w.packets > 3"));
  CHECK(done.err.empty());
  CHECK(run(scenario(kPing, "expect:\n  - that: base.w.packets == 3\n")).code == 0);
}

TEST_CASE("what is asked for wrongly ends with 2, and prints no result", "[cli]") {
  struct Row {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Row rows[] = {
      {{}, "subcommand is required"},
      {{"fly"}, "there is no command 'fly'"},
      {{"fly", "--high"}, "there is no command 'fly'"},
      {{"run"}, "FILE is required"},
      {{"run", kShipped, "--no-such-option"}, "--no-such-option"},
      {{"run", kShipped, "--json", "--csv"}, "excludes"},
      {{"run", kShipped, "--settle", "never"}, "never"},
      {{"run", kShipped, "--timeout", "5"}, "--timeout"},
      {{"run", kShipped, "--variant", "none"}, "the scenario has no variant called none"},
      {{"run", kShipped, "--workload", "none"}, "the scenario has no workload called none"},
      {{"run", kShipped, "--pcap", "host.eth9=/tmp/x"}, "no device called host.eth9"},
      {{"run", kShipped, "--seed", "-1"}, "--seed: '-1' is no whole number"},
      {{"run", "scenarios/not-there.yaml"}, "scenarios/not-there.yaml"},
      {{"verify", "scenarios/not-there.yaml"}, "scenarios/not-there.yaml"},
      {{"check", "scenarios/not-there.yaml"}, "scenarios/not-there.yaml"},
      {{"list", "weather"}, "weather"},
  };
  for (const Row& row : rows) {
    INFO(row.says);
    const Finished done = tapestry(row.arguments);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, Contains(row.says));
  }
}

TEST_CASE("help and version go to standard output and are good", "[cli]") {
  const Finished help = tapestry({"--help"});
  CHECK(help.code == 0);
  for (const char* command : {"run", "check", "verify", "list"})
    CHECK_THAT(help.out, Contains(command));
  CHECK_THAT(tapestry({"run", "--help"}).out, Contains("--pcap"));
  const Finished version = tapestry({"--version"});
  CHECK(version.code == 0);
  CHECK_THAT(version.out, StartsWith("tapestry ") && Contains("Boost "));
}

TEST_CASE("a fault of the scenario is one line with file, line, column and a hint", "[cli]") {
  std::string text = scenario(kPing);
  text.replace(text.find("kind: tap"), 9, "kynd: tap");
  const Finished done = run(text);
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK_THAT(done.err, StartsWith("<stdin>:8:"));
  CHECK_THAT(done.err, Contains(": error: ") && Contains("kynd") && Contains("kind"));
}

TEST_CASE("a fault of --set points into the argument", "[cli]") {
  struct Row {
    const char* set;
    const char* says;
  };
  const Row rows[] = {
      {"workloads.w.cuont=4", "--set:1:13: error: "},
      {"workloads.w.count=many", "--set:1:19: error: "},
      {"workloads.w.count", "="},
      {"nothing.at.all=1", "nothing"},
  };
  for (const Row& row : rows) {
    INFO(row.set);
    const Finished done = run(scenario(kPing), {"--set", row.set});
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, Contains(row.says) && Contains("error: "));
  }
  CHECK_THAT(run(scenario(kPing), {"--set", "workloads.w.count=4"}).out,
             Contains("changed by --set workloads.w.count=4"));
}

TEST_CASE("--seed is a seed, and changes what depends on chance only", "[cli]") {
  const auto fingerprint = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "-", "--json"});
    const Finished done = tapestry(more, {.input = scenario(kPing)});
    REQUIRE(done.code == 0);
    return nlohmann::json::parse(done.out);
  };
  CHECK(fingerprint({})["provenance"]["seed"] == 1);
  CHECK(fingerprint({"--seed", "7"})["provenance"]["seed"] == 7);
  CHECK(fingerprint({"--seed", "7"})["fingerprint"] == fingerprint({})["fingerprint"]);
  const Finished bad = run(scenario(kPing), {"--seed", "x"});
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err, Contains("error: "));
}

TEST_CASE("check tells of each file, and one bad one makes it 2", "[cli]") {
  const TemporaryFolder folder;
  const std::string bad = folder.write("bad.yaml", "schema: tapestry/1\n");
  const Finished good = tapestry({"check", kShipped});
  CHECK(good.code == 0);
  CHECK(good.out == kShipped + ": good: 4 variants, 16 runs\n");
  const Finished both = tapestry({"check", bad, kShipped});
  CHECK(both.code == 2);
  CHECK(both.out == good.out);
  CHECK_THAT(both.err, StartsWith(bad + ":1:1: error: "));
}

TEST_CASE("the scenario of the README is one", "[cli]") {
  const std::string readme = read_text(std::string(TAPESTRY_SOURCE_ROOT) + "/README.md");
  const std::string mark = "```yaml\n";
  const std::size_t begin = readme.find(mark) + mark.size();
  const std::string text = readme.substr(begin, readme.find("```", begin) - begin);
  const Finished done = tapestry({"run", "-"}, {.input = text});
  CHECK(done.code == 0);
  CHECK_THAT(done.out, Contains("Expectations: 1 of 1 hold"));
}

TEST_CASE("a fault of the cost table is a fault of the scenario", "[cli]") {
  const TemporaryFolder folder;
  folder.write("costs/broken.yaml", "name: broken\ncosts:\n  syscall: {fixed: 1ns}\n");
  std::string text = scenario(kPing);
  text.replace(text.find("epyc-guest"), 10, "broken");
  const std::string file = folder.write("s.yaml", text);
  for (const char* command : {"run", "check", "verify"}) {
    INFO(command);
    const Finished done = tapestry({command, file});
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, Contains("broken.yaml:3:") && Contains("error: "));
  }
}

TEST_CASE("list knows scenarios, metrics, attributes and kernels", "[cli]") {
  CHECK_THAT(tapestry({"list"}).out, Contains(kShipped) && Contains("Packets per system call"));
  CHECK_THAT(tapestry({"list", "metrics"}).out, Contains("throughput_bps"));
  const std::string attributes = tapestry({"list", "attributes"}).out;
  CHECK_THAT(attributes, Contains("txqueuelen"));
  CHECK_THAT(attributes, Contains(": offload, software") || Contains(": software, offload"));
  CHECK_THAT(tapestry({"list", "kernels"}).out, Contains("6.18"));
  CHECK(tapestry({"list", "kernels"}).code == 0);
}

TEST_CASE("CSV has a row for each metric, with the published figure beside it", "[cli]") {
  const Finished done = tapestry({"run", "scenarios/uml-on-this-host.yaml", "--csv", "--variant",
                                  "legacy", "--workload", "syscall-1B"});
  CHECK(done.code == 0);
  CHECK_THAT(done.out, StartsWith("run,scenario,commit,fingerprint,variant,workload,metric,value,"
                                  "published\n"));
  CHECK_THAT(done.out, Contains(",legacy,syscall-1B,call_mean_ns,") && Contains(",14761"));
  std::size_t at = 0;
  while (at < done.out.size()) {
    const std::size_t end = done.out.find('\n', at);
    const std::string line = done.out.substr(at, end - at);
    INFO(line);
    CHECK(std::count(line.begin(), line.end(), ',') == 8);
    at = end + 1;
  }
}

TEST_CASE("wherever it is started, whatever its addresses and environment: the same to the byte",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string file = std::string(TAPESTRY_SOURCE_ROOT) + "/" + kShipped;
  std::string results;
  std::string captured;
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    const std::string capture = folder.path("x.pcap");
    const Finished done =
        tapestry({"run", file, "--json", "--variant", "hybrid", "--pcap", "host.tap0=" + capture},
                 {.folder = i % 2 == 0 ? "" : folder.path(""),
                  .variable = "PADDING=" + std::string(static_cast<std::size_t>(i) * 977, 'x')});
    REQUIRE(done.code == 0);
    const std::string bytes = read_text(capture);
    CHECK(bytes.size() > 1000);
    if (i == 0) {
      results = done.out;
      captured = bytes;
    }
    CHECK((done.out == results));
    CHECK((bytes == captured));
  }
}

TEST_CASE("several runs that are captured number their files, and say whose each is", "[cli]") {
  const TemporaryFolder folder;
  const std::string first = folder.path("x.pcap");
  const std::string second = folder.path("x-2.pcap");
  const Finished both = tapestry({"run", kShipped, "--variant", "legacy", "--variant", "tap",
                                  "--workload", "ping", "--pcap", "host.tap0=" + first});
  CHECK(both.code == 0);
  CHECK(both.err == first + ": legacy.ping\n" + second + ": tap.ping\n");
  CHECK(!read_text(second).empty());
  const Finished one = tapestry({"run", kShipped, "--variant", "tap", "--workload", "ping",
                                 "--json", "--pcap", "host.tap0=" + first});
  CHECK(one.err.empty());
  CHECK_THAT(one.out, Contains("\"captures\": [\n        \"" + first + "\"\n"));
}

TEST_CASE("verify prints one fingerprint four times", "[cli]") {
  const Finished done = tapestry({"verify", "-"}, {.input = scenario(kPing)});
  CHECK(done.code == 0);
  CHECK(done.err.empty());
  CHECK(std::count(done.out.begin(), done.out.end(), '\n') == 4);
  CHECK_THAT(done.out, StartsWith("seams "));
  CHECK_THAT(done.out, Contains("\nalways ") && Contains("\nrandom "));
}

}  // namespace
}  // namespace tapestry::tests::command_line_test
