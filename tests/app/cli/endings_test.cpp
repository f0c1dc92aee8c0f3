// How the program ends when something does not let it come to its end: files and pipes that take
// nothing, limits of time, a world that stands still, Ctrl-C. What it has by then it prints.
#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/skip.hpp"
#include "workloads/pcap_file.hpp"

namespace tapestry::tests::endings_test {
namespace {

using Catch::Contains;
using Catch::StartsWith;

const std::string kShipped = "scenarios/packets-per-syscall.yaml";

// A short workload and then one of a minute, which takes minutes to play.
std::string long_scenario(const std::string& costs = "epyc-guest") {
  return "schema: tapestry/1\ntitle: long\ncosts: " + costs +
         "\nmachines:\n"
         "  host: {platform: native, kernel: \"6.18\", cpus: 2}\n"
         "  guest: {platform: uml, kernel: \"6.1\", host: host, pin: 0}\n"
         "devices:\n"
         "  host.tap0: {kind: tap, address: 10.77.0.1/24}\n"
         "  guest.vec0: {kind: vector, transport: tap, attach: host.tap0, "
         "address: 10.77.0.2/24}\n"
         "workloads:\n"
         "  short: {kind: ping, from: guest, to: host, count: 3, interval: 1ms}\n"
         "  long: {kind: udp-stream, from: guest, to: host, size: 64B, duration: 600s}\n";
}

// Sends the signal when the second run has written that much of its capture.
void signal_when(const std::string& capture, std::uintmax_t bytes, pid_t child, int signal) {
  const auto written = [&] {
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(capture, none);
    return none ? 0 : size;
  };
  for (int patience = 0; written() < bytes && patience < 60'000; ++patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, signal);
}

double cpu_seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec) / 1e6;
}

TEST_CASE("captures that would lose something are refused with 2, and nothing is touched",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("s.yaml", long_scenario());
  std::filesystem::create_symlink(folder.path("late.pcap"), folder.path("link.pcap"));
  const std::string file = folder.path("c.pcap");
  const std::string same = folder.path("./c.pcap");
  const std::string ng = folder.path("c.pcapng");
  struct Row {
    std::vector<std::string> captures;
    std::string says;
  };
  const std::vector<Row> rows = {
      {{"host.tap0=" + file, "guest.vec0=" + same}, "are one file"},
      {{"host.tap0=" + folder.path("late.pcap"), "guest.vec0=" + folder.path("link.pcap")},
       "are one file"},
      {{"host.tap0=" + file, "guest.vec0=" + file}, "a pcap file has one point"},
      {{"host.tap0=" + ng, "host.tap0=" + ng}, "host.tap0 is captured twice"},
      {{ng, "host.tap0=" + ng}, "host.tap0 is captured twice"},
      {{"drops=" + ng, "drops=" + ng}, "drops is captured twice"},
      {{"drops=" + file}, "only a .pcapng file has room"},
      {{"host.tap0="}, "no file is named"},
      {{"host.tap0=" + scenario}, "the run reads this file"},
      {{"host.tap0=" + std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/costs/epyc-guest.yaml"},
       "the run reads this file"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = {"run", scenario};
    for (const std::string& capture : row.captures) {
      arguments.emplace_back("--pcap");
      arguments.push_back(capture);
    }
    const Finished done = tapestry(arguments);
    CAPTURE(row.says, done.err);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, Contains(row.says));
    CHECK(read_text(scenario) == long_scenario());
    CHECK_FALSE(std::filesystem::exists(file));
  }
}

TEST_CASE("the files of several runs take no name that was asked for", "[cli]") {
  const TemporaryFolder folder;
  const std::string text = long_scenario();
  const std::string two = text.substr(0, text.find("  long:")) +
                          "  again: {kind: ping, from: guest, to: host, count: 1, interval: 1ms}\n";
  const Finished done = tapestry({"run", "-", "--pcap", "host.tap0=" + folder.path("a.pcap"),
                                  "--pcap", "guest.vec0=" + folder.path("a-2.pcap")},
                                 {.input = two});
  CHECK(done.code == 0);
  for (const char* name : {"a.pcap", "a-2.pcap", "a-3.pcap", "a-2-2.pcap"})
    CHECK(std::filesystem::exists(folder.path(name)));
}

TEST_CASE("a run in which nothing ran has no fingerprint", "[cli]") {
  const Finished done = tapestry({"run", "-", "--pcap", "host.tap0=/no/such/folder/x.pcap"},
                                 {.input = long_scenario()});
  CHECK(done.code == 3);
  CHECK_THAT(done.out, !Contains("fingerprint"));
}

// Seven connections are busy in each other's way when the loop is found out.
TEST_CASE("a world that is found to stand still while TCP works ends with 124 in every mode",
          "[cli]") {
  const std::string text =
      "schema: tapestry/1\ntitle: still\ncosts: zero\nmachines:\n"
      "  host: {platform: native, kernel: \"6.1\", cpus: 3, preempt: none}\n"
      "  guest: {platform: uml, kernel: \"6.1\", host: host}\n"
      "devices:\n"
      "  host.tap0: {kind: tap, address: 10.77.0.1/24, mtu: 576}\n"
      "  guest.vec0: {kind: vector, transport: hybrid, attach: host.tap0, depth: 2, gro: false, "
      "address: 10.77.0.2/24, mtu: 576}\n"
      "workloads:\n"
      "  w: {kind: tcp-stream, from: guest, to: host, duration: 15ms, sessions: 7, send: 1460B, "
      "receive: 64B, no-delay: true}\n";
  const std::string mode = GENERATE(as<std::string>{}, "seams", "always", "random");
  const Finished done = tapestry({"run", "-", "--settle", mode}, {.input = text});
  CAPTURE(mode);
  CHECK(done.code == 124);
  CHECK_THAT(done.err, Contains("never spends time"));
}

TEST_CASE("a capture that cannot be written ends with 3 and names the file", "[cli]") {
  const Finished done = tapestry({"run", kShipped, "--variant", "legacy", "--workload", "ping",
                                  "--pcap", "host.tap0=/no/such/folder/x.pcap"});
  CHECK(done.code == 3);
  CHECK_THAT(done.err, Contains("error: /no/such/folder/x.pcap: cannot be written"));
}

TEST_CASE("a disk that is full ends with 3: captures, results and lists", "[cli]") {
  if (access("/dev/full", W_OK) != 0) TAPESTRY_SKIP("there is no /dev/full");
  const Finished capture = tapestry({"run", kShipped, "--variant", "legacy", "--workload", "ping",
                                     "--pcap", "host.tap0=/dev/full"});
  CHECK(capture.code == 3);
  CHECK_THAT(capture.err, Contains("error: /dev/full: "));
  const std::vector<std::vector<std::string>> commands = {
      {"run", kShipped, "--variant", "legacy", "--workload", "ping", "--json"},
      {"list", "metrics"},
      {"check", kShipped},
      {"verify", kShipped, "--variant", "legacy", "--workload", "ping"}};
  for (const auto& command : commands) {
    INFO(command[0]);
    const Finished done = tapestry(command, {.output_to = "/dev/full"});
    CHECK(done.code == 3);
    CHECK_THAT(done.err, Contains("error: "));
  }
}

TEST_CASE("a reader that has gone ends the program quietly, or with 3 where SIGPIPE is ignored",
          "[cli]") {
  for (const char* command : {"list", "run"}) {
    INFO(command);
    std::vector<std::string> words{command};
    if (words[0] == "run")
      words.insert(words.end(), {kShipped, "--variant", "legacy", "--workload", "ping"});
    CHECK(tapestry(words, {.output_is_closed = true}).signal == SIGPIPE);
    const Finished told = tapestry(words, {.output_is_closed = true, .ignores_sigpipe = true});
    CHECK(told.code == 3);
    CHECK_THAT(told.err, StartsWith("error: "));
  }
}

TEST_CASE("a time limit ends with 124, with what was done by then", "[cli]") {
  const Finished done =
      tapestry({"run", "-", "--timeout", "300ms", "--json"}, {.input = long_scenario()});
  CHECK(done.code == 124);
  CHECK_THAT(done.err, Contains("error: base.long: the time limit is over"));
  const auto document = nlohmann::json::parse(done.out);
  REQUIRE(document["results"].size() == 2);
  CHECK(document["results"][0]["finished"] == true);
  CHECK(document["results"][1]["finished"] == false);
  CHECK(document["error"].get<std::string>().find("time limit") != std::string::npos);
}

TEST_CASE("a world that stands still ends with 124, and both who keep it there are named",
          "[cli]") {
  // Nothing that a flood does costs anything, and what it floods never gets its turn.
  const double before = cpu_seconds_of_children();
  const Finished done = tapestry({"run", "-"}, {.input = long_scenario("zero")});
  CHECK(done.code == 124);
  INFO(done.err);
  CHECK_THAT(done.err, Contains("error: base.long: guest.cpu0: udp-client/0 looks again"));
  CHECK_THAT(done.err, Contains(", while host.cpu1") && Contains(" waits for its turn"));
  CHECK_THAT(done.out, Contains("\nshort ") && Contains("\nlong "));
  CHECK_THAT(done.out, Contains("base.long was cut short"));
  CHECK(cpu_seconds_of_children() - before < 30);  // 1 if optimised, more under a sanitizer
}

TEST_CASE("Ctrl-C in the middle ends with 130; results and captures are whole", "[cli]") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  const std::uintmax_t bytes = GENERATE(1u, 3'000'000u, 5'000'000u);
  CAPTURE(signal, bytes);
  const TemporaryFolder folder;
  const std::string capture = folder.path("out.pcap");
  const Finished done = tapestry({"run", "-", "--json", "--pcap", "host.tap0=" + capture},
                                 {.input = long_scenario(), .meanwhile = [&](pid_t child) {
                                    signal_when(folder.path("out-2.pcap"), bytes, child, signal);
                                  }});
  REQUIRE(done.code == 130);
  CHECK_THAT(done.err, Contains("interrupted: results are partial"));
  const auto document = nlohmann::json::parse(done.out);
  CHECK(document["error"] == "interrupted");
  REQUIRE(document["results"].size() == 2);
  const auto& cut_short = document["results"][1]["metrics"];
  // The rate is of the time that has passed, not of all that was planned.
  CHECK(cut_short["duration_ns"] < 600'000'000'000);
  CHECK(cut_short["packets_per_second"] > 10'000);
  for (const char* name : {"out.pcap", "out-2.pcap"}) {
    const auto read = workloads::read_capture(folder.path(name));
    REQUIRE(read.ok());
    CHECK(read->warning.empty());
    CHECK_FALSE(read->frames.empty());
  }
}

TEST_CASE("the table of an interrupted run says what it has and what not", "[cli]") {
  const TemporaryFolder folder;
  const Finished done = tapestry({"run", "-", "--pcap", "host.tap0=" + folder.path("out.pcap")},
                                 {.input = long_scenario(), .meanwhile = [&](pid_t child) {
                                    signal_when(folder.path("out-2.pcap"), 1, child, SIGINT);
                                  }});
  CHECK(done.code == 130);
  CHECK_THAT(done.out, Contains("\nPartial results\n  base.long was cut short") &&
                           Contains("interrupted: nothing after this was run"));
}

// An input that changes under a run is what makes results differ.
TEST_CASE("verify ends with 4 and names the first counter that differs", "[cli]") {
  const TemporaryFolder folder;
  const std::string shipped =
      std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/captures/uml-mixed.pcap";
  const std::string bytes = read_text(shipped);
  const std::string capture = folder.write("in.pcap", bytes);
  const std::string other = folder.write("other.pcap", bytes.substr(0, bytes.size() / 2));
  std::string text = long_scenario();
  text.replace(text.find("workloads:"), std::string::npos,
               "workloads:\n"
               "  w: {kind: replay, file: in.pcap, timing: original, loop: 10, sides: "
               "{\"3e:30:db:47:2a:7a\": guest, \"76:0a:d3:d3:cc:9c\": host}}\n");
  const std::string file = folder.write("s.yaml", text);
  const int watch = inotify_init1(IN_CLOEXEC);
  REQUIRE(inotify_add_watch(watch, capture.c_str(), IN_CLOSE_NOWRITE) >= 0);
  const Finished done = tapestry({"verify", file}, {.meanwhile = [&](pid_t) {
                                   pollfd read_once{watch, POLLIN, 0};
                                   poll(&read_once, 1, 30'000);
                                   std::filesystem::rename(other, capture);
                                 }});
  close(watch);
  CHECK(done.code == 4);
  CHECK_THAT(done.err, Contains("error: base.w differs between \"seams\" and ") &&
                           Contains(": ended_at_ns = "));
}

}  // namespace
}  // namespace tapestry::tests::endings_test
