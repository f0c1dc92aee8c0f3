// What somebody measured is what the simulated path takes: each aggregate of
// scenarios/costs/closures.yaml is run, and lasts as long as its source says.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/host/closure/micro_scenarios.hpp"
#include "tests/sched/cost_closures.hpp"

namespace tapestry::tests::closure_test {

using testing::Closure;
using testing::ClosurePoint;

namespace {

// Of the whole operation or of one message, as the closure has it.
std::int64_t simulated_ps(const Closure& closure, const ClosurePoint& point,
                          const sched::CostTable& costs, sched::SettleMode mode) {
  if (closure.path.empty()) return closure.sum_ps(costs, point);
  const std::int64_t whole = closure::run_micro_scenario(
      closure.path[0], {costs, mode, {closure.path.begin() + 1, closure.path.end()}, point.count});
  return whole / (closure.per_each ? point.count : 1);
}

std::int64_t tolerance_ps(const Closure& closure, const ClosurePoint& point) {
  const std::int64_t tenth = point.time_ps / 10;
  return closure.low_ps ? std::max(tenth, point.time_ps - *closure.low_ps) : tenth;
}

}  // namespace

TEST_CASE("Every measured aggregate is what its path takes, within 10%", "[closure]") {
  int run = 0, wide = 0;
  for (const Closure& closure : testing::load_closures("closures")) {
    const sched::CostTable costs = testing::shipped_cost_table(closure.table);
    wide += closure.low_ps.has_value();
    run += !closure.path.empty();
    for (const ClosurePoint& point : closure.points) {
      const std::int64_t took = simulated_ps(closure, point, costs, sched::SettleMode::seams);
      CAPTURE(closure.name, closure.table, point.count, point.time_ps, took);
      CHECK(std::abs(took - point.time_ps) <= tolerance_ps(closure, point));
    }
  }
  CHECK(wide == 1);  // the futex across CPUs, whose own scatter is 27%
  CHECK(run > 30);
}

TEST_CASE("An aggregate has a path, or says why it has none and of what it would consist",
          "[closure]") {
  for (const char* list : {"closures", "predictions"})
    for (const Closure& closure : testing::load_closures(list)) {
      CAPTURE(closure.name);
      const bool adds_up = !closure.once.empty() || !closure.each.empty();
      CHECK(closure.path.empty() == !closure.no_path.empty());
      CHECK(closure.path.empty() == adds_up);
    }
}

TEST_CASE("How charges are paid changes no aggregate", "[closure]") {
  for (const Closure& closure : testing::load_closures("closures")) {
    const sched::CostTable costs = testing::shipped_cost_table(closure.table);
    const ClosurePoint& point = closure.points.back();
    CAPTURE(closure.name, closure.table, point.count);
    const std::int64_t took = simulated_ps(closure, point, costs, sched::SettleMode::seams);
    for (const auto mode : {sched::SettleMode::always, sched::SettleMode::random})
      CHECK(simulated_ps(closure, point, costs, mode) == took);
  }
}

TEST_CASE("What is predicted lies within a factor of 1.5 of what was measured", "[closure]") {
  const std::vector<Closure> predictions = testing::load_closures("predictions");
  CHECK(predictions.size() == 2);
  for (const Closure& prediction : predictions) {
    const sched::CostTable costs = testing::shipped_cost_table(prediction.table);
    for (const ClosurePoint& point : prediction.points) {
      const std::int64_t took = simulated_ps(prediction, point, costs, sched::SettleMode::seams);
      CAPTURE(prediction.name, took, point.time_ps);
      CHECK(took * 3 >= point.time_ps * 2);
      CHECK(took * 2 <= point.time_ps * 3);
    }
  }
}

}  // namespace tapestry::tests::closure_test
