// tapestry explain: one packet's life as text and as JSON, and what makes the tail.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace tapestry::tests::explain_test {

using Catch::Contains;

namespace {

const std::string kSource = TAPESTRY_SOURCE_ROOT;
const std::string kPackets = kSource + "/scenarios/packets-per-syscall.yaml";

}  // namespace

TEST_CASE("the life of one ping reads as it always did", "[cli][explain][golden]") {
  const Finished done = tapestry({"explain", kPackets, "--variant", "tap", "--workload", "ping"});
  REQUIRE(done.code == 0);
  const std::string path = kSource + "/tests/app/cli/golden/explain-ping.txt";
  if (std::getenv("TAPESTRY_WRITE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << done.out;
  std::stringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  CHECK(done.out == golden.str());
}

TEST_CASE("a life goes from socket to reader on every path, and no line is too long",
          "[cli][explain]") {
  const std::string thread = kSource + "/scenarios/uml-lkl-tap-virtio.yaml";
  const std::string scenario = GENERATE_COPY(kPackets, thread);
  const bool streams = scenario == thread;
  const std::string variant =
      streams ? GENERATE("kern-vec-tap", "lib-virtio") : GENERATE("hybrid", "raw");
  CAPTURE(scenario, variant);
  std::vector<std::string> words{"explain", scenario,     "--variant",
                                 variant,   "--workload", streams ? "stream" : "udp"};
  if (streams) words.insert(words.end(), {"--set", "workloads.stream.duration=2ms"});
  const Finished text = tapestry(words);
  REQUIRE(text.code == 0);
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);)
    CHECK(line.size() <= 80);
  words.push_back("--json");
  const auto life = nlohmann::json::parse(tapestry(words).out)["life"];
  const auto& stages = life["stages"];
  REQUIRE(stages.size() >= 4);
  CHECK(stages.front()["reached"] == "socket-sent");
  CHECK(stages.back()["reached"] == "delivered");
  std::int64_t before = stages.front()["at_ns"];
  for (const auto& stage : stages) {
    CHECK(stage["at_ns"] >= before);
    before = stage["at_ns"];
  }
  CHECK(life["duration_ns"] == before - stages.front()["at_ns"].get<std::int64_t>());
}

TEST_CASE("the slowest packet is no faster than a typical one, and the tail says why",
          "[cli][explain]") {
  std::vector<std::string> words{"explain",    kPackets, "--variant", "tap",
                                 "--workload", "udp",    "--json"};
  const auto typical = nlohmann::json::parse(tapestry(words).out);
  words.push_back("--slowest");
  const auto slowest = nlohmann::json::parse(tapestry(words).out);
  CHECK(slowest["life"]["duration_ns"] >= typical["life"]["duration_ns"]);
  words.back() = "--p99";
  const auto tail = nlohmann::json::parse(tapestry(words).out)["tail"];
  std::int64_t slow = 0;
  std::int64_t median = 0;
  for (const auto& stage : tail["stages"]) {
    slow += stage["slow_mean_ns"].get<std::int64_t>();
    median += stage["median_mean_ns"].get<std::int64_t>();
  }
  CHECK(slow >= median);
}

TEST_CASE("a packet that was never delivered is not explained", "[cli][explain]") {
  const Finished done = tapestry(
      {"explain", kPackets, "--variant", "tap", "--workload", "ping", "--packet", "123456789"});
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK_THAT(done.err, Contains("packet 123456789 is none that was delivered"));
}

}  // namespace tapestry::tests::explain_test
