// Settle always, at seams, at random: three ways to pay, one history.
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "tests/sched/random_program.hpp"

namespace tapestry::tests::modes_test {
namespace {

// The lines around the first difference, or nothing.
std::string difference(const std::string& expected, const std::string& found) {
  if (expected == found) return {};
  std::istringstream left(expected), right(found);
  std::string before, mine, its;
  while (std::getline(left, mine) && std::getline(right, its) && mine == its)
    before = mine;
  return "after\n" + before + "\nexpected\n" + mine + "\nfound\n" + its;
}

TEST_CASE("Random programs have the same history in every settle mode") {
  for (std::uint64_t program = 1; program <= 150; ++program) {
    const std::string always = RandomProgram(sched::SettleMode::always, program, 1).run();
    REQUIRE(always.size() > 1000);
    CAPTURE(program);
    REQUIRE(difference(always, RandomProgram(sched::SettleMode::seams, program, 1).run()) == "");
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(seed);
      REQUIRE(difference(always, RandomProgram(sched::SettleMode::random, program, seed).run()) ==
              "");
    }
  }
}

}  // namespace
}  // namespace tapestry::tests::modes_test
