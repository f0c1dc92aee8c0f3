// The guard of layering and style: reads the tables beside it and every source of the project. The
// rules themselves are tried on small sources first, because a guard that finds nothing looks like
// a clean tree.

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <set>

#include "tests/style/rules.hpp"

namespace tapestry::tests::style_test {

namespace {

const std::string kRoot = TAPESTRY_SOURCE_ROOT;

Layers layers() { return parse_layers(read_file(kRoot + "/tests/style/layers.txt")); }

std::vector<Source> all_sources() {
  std::vector<Source> sources;
  for (const char* folder : {"app", "core", "host", "irq", "kernel", "net", "observe", "sched",
                             "tests", "transports", "workloads"}) {
    std::ranges::move(read_sources(kRoot, folder), std::back_inserter(sources));
  }
  return sources;
}

// What the rules say to a source of this path and text, as the rules' names.
std::set<std::string> broken(const std::string& path, const std::string& text) {
  std::set<std::string> rules;
  for (const Finding& finding : check_all(layers(), make_source(path, text))) {
    rules.insert(finding.rule);
  }
  return rules;
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

}  // namespace

TEST_CASE("includes point downwards only", "[style]") {
  struct Row {
    std::string path, include;
    bool allowed;
  };
  const Row row = GENERATE(values<Row>({
      {"core/packet.cpp", "core/time.hpp", true},
      {"core/packet.cpp", "sched/cpu.hpp", false},
      {"sched/cpu.cpp", "irq/line.hpp", false},
      {"net/tcp/socket.cpp", "sched/wait_queue.hpp", true},
      {"net/device.cpp", "host/packet_io.hpp", false},
      {"host/packet_io.hpp", "sched/cpu.hpp", false},
      {"host/sim/tap.cpp", "kernel/machine.hpp", true},
      {"host/packet_io.cpp", "host/sim/tap.hpp", false},
      {"host/charged/packet_io.cpp", "host/packet_io.hpp", true},
      {"host/charged/packet_io.cpp", "host/sim/tap.hpp", false},
      {"transports/virtio/net.cpp", "host/virtqueue/split.hpp", true},
      {"transports/virtio/net.cpp", "kernel/machine.hpp", false},
      {"transports/vector/vector.cpp", "host/sim/tap.hpp", false},
      {"workloads/ping.cpp", "host/packet_io.hpp", false},
      {"kernel/machine.cpp", "observe/pcap.hpp", false},
      {"app/main.cpp", "host/sim/tap.hpp", true},
      {"app/main.cpp", "tests/support/world.hpp", false},
      {"tests/app/run_test.cpp", "app/run.hpp", true},
      {"core/packet.cpp", "packet.hpp", false},
      {"tools/x.cpp", "core/time.hpp", false},
  }));
  CAPTURE(row.path, row.include);
  const std::set<std::string> rules = broken(row.path, "#include \"" + row.include + "\"\n");
  CHECK(rules.contains("layer") != row.allowed);
}

TEST_CASE("a library that few files may know is kept to them", "[style]") {
  const std::string context = "#include <boost/context/fiber.hpp>\n";
  CHECK(broken("sched/fiber.cpp", context).empty());
  CHECK(broken("sched/cpu.cpp", context) == std::set<std::string>{"library"});
  const std::string asio = "#include <boost/asio/io_context.hpp>\n";
  CHECK(broken("host/live/tap.cpp", asio).empty());
  CHECK(broken("host/sim/tap.cpp", asio) == std::set<std::string>{"library"});
}

TEST_CASE("files, functions and lines have limits", "[style]") {
  const std::string line(kMaxColumns, 'x');
  CHECK(broken("core/a.cpp", line).empty());
  CHECK(broken("core/a.cpp", line + "x") == std::set<std::string>{"line-length"});
  CHECK(broken("core/a.cpp", line.substr(1) + "\u00b5").empty());

  CHECK(broken("core/a.cpp", repeated("\n", kMaxFileLines)).empty());
  CHECK(broken("core/a.cpp", repeated("\n", kMaxFileLines + 1)) ==
        std::set<std::string>{"file-length"});

  CHECK(broken("core/a.cpp", "void f() {" + repeated("\n", kMaxFunctionLines - 1) + "}").empty());
  CHECK(broken("core/a.cpp", "void f() {" + repeated("\n", kMaxFunctionLines) + "}") ==
        std::set<std::string>{"function-length"});
}

TEST_CASE("a banned word is found where it is banned, and only in code", "[style]") {
  struct Row {
    std::string path, text, rule;  // rule: "" if there is nothing to find
  };
  const Row row = GENERATE(values<Row>({
      {"core/a.cpp", "std::chrono::steady_clock::now();", "wall-clock"},
      {"app/a.cpp", "std::chrono::steady_clock::now();", ""},
      {"host/live/a.cpp", "std::chrono::system_clock::now();", ""},
      {"core/a.cpp", "int x = rand();", "randomness"},
      {"core/a.cpp", "int x = operand();", ""},
      {"net/a.cpp", "std::mt19937 engine;", "randomness"},
      {"net/a.cpp", "std::unordered_map<int, int> m;", "unordered"},
      {"net/a.cpp", "std::hash<int>{}(1);", "hash"},
      {"net/a.cpp", "// an unordered_map would not do", ""},
      {"net/a.cpp", "f(\"unordered_map\");", ""},
      {"net/a.cpp", "// TODO", "unfinished"},
      {"net/a.cpp", "// for now", "unfinished"},
      {"net/a.cpp", "thread_local int x;", "thread-local"},
      {"sched/a.cpp", "std::mutex m;", "real-threads"},
      {"net/a.cpp", "double x = 0.5;", "floating-point"},
      {"observe/a.cpp", "double x = 0.5;", ""},
      {"net/a.cpp", "using namespace std;", "using-namespace"},
      {"net/a.cpp", "assert(x);", "assert"},
      {"net/a.cpp", "static_assert(x);", ""},
      {"net/a.cpp", "std::cout << x;", "print"},
      {"net/a.cpp", "std::snprintf(b, 1, c);", ""},
      {"app/a.cpp", "std::cout << x;", ""},
      {"net/a.cpp", "std::getenv(x);", "environment"},
      {"transports/a.cpp", "cpu.charge(work);", "driver-cost"},
      {"host/charged/a.cpp", "cpu.charge(work);", ""},
      {"transports/a.cpp", "auto t = timeline.now();", "driver-clock"},
      {"transports/a.cpp", "int fd = 3;", "driver-descriptor"},
      {"transports/a.cpp", "SpinLock lock;", "driver-lock"},
      {"transports/a.cpp", "spin_lock(x);", "driver-lock"},
      {"transports/a.cpp", "#ifdef LIVE", "driver-conditional"},
  }));
  CAPTURE(row.path, row.text);
  std::set<std::string> expected;
  if (!row.rule.empty()) expected.insert(row.rule);
  CHECK(broken(row.path, row.text + "\n") == expected);
}

TEST_CASE("a header tells its story, guards itself and is used", "[style]") {
  CHECK(broken("core/a.hpp", "// Story.\n#pragma once\n").empty());
  CHECK(broken("core/a.hpp", "#pragma once\n") == std::set<std::string>{"story", "pragma-once"});
  CHECK(broken("core/a.hpp", "// Story.\n") == std::set<std::string>{"pragma-once"});

  const Source used = make_source("core/a.hpp", "");
  const Source user = make_source("core/a.cpp", "#include \"core/a.hpp\"\n");
  const Source unused = make_source("core/b.hpp", "");
  const Findings dead = check_dead({used, user, unused});
  REQUIRE(dead.size() == 1);
  CHECK(dead[0].target == "core/b.hpp");
}

TEST_CASE("an exception without a reason is refused", "[style]") {
  CHECK(parse_exceptions("# comment\n\nprint core/a.cpp the last words\n") ==
        std::vector<Exception>{{"print", "core/a.cpp", "the last words"}});
  CHECK_THROWS(parse_exceptions("print core/a.cpp\n"));
}

TEST_CASE("layers.txt has no cycle", "[style]") {
  Layers left = layers();
  while (!left.empty()) {
    const auto bottom = std::ranges::find_if(left, [&](const auto& layer) {
      return std::ranges::none_of(layer.second, [&](const auto& to) { return left.contains(to); });
    });
    REQUIRE(bottom != left.end());
    left.erase(bottom);
  }
}

TEST_CASE("every source keeps the rules, and every exception is needed", "[style]") {
  const std::vector<Source> sources = all_sources();
  REQUIRE(sources.size() > 10);  // the root is where the sources are
  const Layers table = layers();
  Findings findings = check_dead(sources);
  for (const Source& source : sources) {
    std::ranges::move(check_all(table, source), std::back_inserter(findings));
  }

  const std::vector<Exception> exceptions =
      parse_exceptions(read_file(kRoot + "/tests/style/exceptions.txt"));
  std::set<Exception> unused(exceptions.begin(), exceptions.end());
  int broken_rules = 0;
  for (const Finding& finding : findings) {
    const auto exception = std::ranges::find_if(exceptions, [&](const Exception& e) {
      return e.rule == finding.rule && e.target == finding.target;
    });
    if (exception != exceptions.end()) {
      unused.erase(*exception);
    } else {
      ++broken_rules;
      std::cout << finding.text << " [" << finding.rule << "]\n";
    }
  }
  CHECK(broken_rules == 0);
  for (const Exception& exception : unused) {
    FAIL_CHECK("exceptions.txt: nothing needs \"" << exception.rule << " " << exception.target
                                                  << "\" any more: remove it");
  }
}

}  // namespace tapestry::tests::style_test
