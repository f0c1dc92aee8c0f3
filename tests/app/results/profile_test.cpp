// Where CPU time went: as perf top prints it, and as folded stacks.
#include <catch2/catch.hpp>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>

#include "app/results/layout.hpp"
#include "app/results/profile.hpp"
#include "app/scenario/loader.hpp"
#include "tests/support/program.hpp"

namespace tapestry::tests::profile_test {

using namespace app;
using sched::ContextKind;
using sched::Work;

namespace {

RunReport flagship() {
  const LoadedScenario loaded =
      load_scenario(std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/packets-per-syscall.yaml");
  REQUIRE(loaded.scenario);
  RunnerOptions options;
  options.variants = {"tap"};
  options.workloads = {"ping", "rr"};
  return run_scenario(*loaded.scenario, options);
}

RunReport by_hand() {
  RunReport report;
  report.results.emplace_back();
  RunResult& result = report.results.back();
  result.variant = "base";
  result.workload = "w";
  result.elapsed = core::Nanos{10'000'000};
  MachineUsage host{.machine = "host", .cpus = 2, .guest_symbol = "[linux]", .usage = {}};
  host.usage.add(ContextKind::system, Work::copy, core::Nanos{3'000'000});
  host.usage.add(ContextKind::softirq, Work::copy, core::Nanos{1'000'000});
  host.usage.add(ContextKind::user, Work::application, core::Nanos{2'000'000});
  host.usage.add_guest(core::Nanos{2'000'000});
  host.usage.add_stolen(core::Nanos{500'000});
  result.usage.push_back(host);
  result.usage.push_back({.machine = "silent", .cpus = 1, .guest_symbol = "[guest]", .usage = {}});
  return report;
}

}  // namespace

TEST_CASE("a profile is laid out as perf top's, with functions of the kernel", "[app]") {
  CHECK(print_profile(by_hand()) ==
        "\nbase.w host\n"
        "   PerfTop:     800 irqs/sec  kernel:50.0%  [1000Hz cycles],  (all, 2 CPUs)\n"
        "  samples  pcnt  function                          cost name\n"
        "  _______ _____  ________________________________  ___________________________\n"
        "     4.00 50.0%  copy_user_generic                 copy\n"
        "     2.00 25.0%  main                              application\n"
        "     2.00 25.0%  [linux]                           guest\n");
}

TEST_CASE("folded stacks keep run, machine and context apart", "[app]") {
  CHECK(folded_stacks(by_hand()) ==
        "base.w;host;user;main 2000000\n"
        "base.w;host;system;copy_user_generic 3000000\n"
        "base.w;host;softirq;copy_user_generic 1000000\n"
        "base.w;host;guest;[linux] 2000000\n");
}

TEST_CASE("a profile is all of a machine's busy time, and its shares are 100 percent", "[app]") {
  const RunReport report = flagship();
  REQUIRE(report.results.size() == 2);
  std::map<std::string, std::int64_t> folded;  // by run and machine
  std::istringstream lines(folded_stacks(report));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t machine = line.find(';', line.find(';') + 1);
    folded[line.substr(0, machine)] += std::stoll(line.substr(line.rfind(' ')));
  }
  REQUIRE(folded.size() == 4);
  for (const RunResult& result : report.results) {
    for (const MachineUsage& machine : result.usage) {
      CHECK(folded.at(result.variant + "." + result.workload + ";" + machine.machine) ==
            machine.usage.busy().count());
      double shares = 100.0 * static_cast<double>(machine.usage.guest().count()) /
                      static_cast<double>(machine.usage.busy().count());
      for (const auto& [name, value] : result.metrics)
        if (name.rfind(machine.machine + "_share_", 0) == 0) shares += std::get<double>(value);
      CHECK(shares == Approx(100.0));
    }
  }
  std::istringstream table(print_profile(report));
  for (std::string line; std::getline(table, line);)
    CHECK(line.size() <= layout::kColumns);
}

TEST_CASE("run --profile and --folded: a table more, a file, and 3 if it can't be written",
          "[cli]") {
  const std::string file = "scenarios/packets-per-syscall.yaml";
  const std::vector<std::string> one = {"run",        file,   "--variant", "tap",
                                        "--workload", "ping", "--profile"};
  CHECK_THAT(tapestry(one).out, Catch::Contains("PerfTop:"));
  std::vector<std::string> lost = one;
  lost.insert(lost.end(), {"--folded", "/nowhere/stacks.txt"});
  const Finished done = tapestry(lost);
  CHECK(done.code == 3);
  CHECK_THAT(done.err, Catch::Contains("error: cannot write /nowhere/stacks.txt"));
  CHECK_THAT(done.out, Catch::Contains("fingerprint"));  // the results are there all the same
}

TEST_CASE("list names the cost tables, and from another folder, too", "[cli]") {
  const Finished done = tapestry({"list", "costs"});
  CHECK(done.code == 0);
  for (const char* name : {"epyc-guest", "xeon-2018", "zero"})
    CHECK_THAT(done.out, Catch::Contains(name));
  CHECK_THAT(done.out, !Catch::Contains("not valid") && !Catch::Contains("closures"));
  const TemporaryFolder elsewhere;
  const Finished there = tapestry({"list", "costs"}, {.folder = elsewhere.path("")});
  CHECK_THAT(there.out, Catch::Contains("epyc-guest"));
}

}  // namespace tapestry::tests::profile_test
