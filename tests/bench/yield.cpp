// A thread that yields: back into the run queue, the next one out, a switch of fibers. Beside it
// the switch alone: two raw jumps make a round trip, one of them hands a CPU from thread to thread.
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <memory>

#include "kernel/world.hpp"
#include "sched/cost_table.hpp"
#include "tests/bench/contest.hpp"

namespace {

using namespace tapestry;
using namespace boost::context::detail;

constexpr std::size_t kSwitches = 1'000'000;

constexpr std::size_t kStackBytes = 16 * 1024;

// One way: half of a round trip between the main context and another.
double raw_switch() {
  struct Partner {
    static void body(transfer_t from) {
      for (;;)
        from = jump_fcontext(from.fctx, nullptr);
    }
  };
  std::unique_ptr<char[]> stack(new char[kStackBytes]);
  fcontext_t partner = make_fcontext(stack.get() + kStackBytes, kStackBytes, &Partner::body);
  return bench::measure(kSwitches / 2, [&] { partner = jump_fcontext(partner, nullptr).fctx; }) / 2;
}

double yields(std::size_t threads, const sched::CostTable& costs) {
  kernel::World world({.seed = 1, .settle_mode = sched::SettleMode::seams});
  kernel::Machine& machine = world.add_machine({.name = "host",
                                                .era = *kernel::era_of("6.1"),
                                                .cpus = 1,
                                                .hz = 250,
                                                .host = nullptr,
                                                .stack = {},
                                                .softirq = {}},
                                               costs);
  const std::size_t each = kSwitches / threads;
  for (std::size_t i = 0; i < threads; ++i) {
    machine.scheduler().spawn({.name = "yielder"}, [&machine, each] {
      for (std::size_t turn = 0; turn < each; ++turn)
        machine.scheduler().yield();
    });
  }
  const double begun = bench::thread_cpu_ns();
  world.run_until(core::kStart + std::chrono::seconds(10));
  const double spent = bench::thread_cpu_ns() - begun;
  world.unwind();
  return spent / static_cast<double>(each * threads);
}

}  // namespace

int main() {
  const auto costs = sched::load_cost_table("scenarios/costs/xeon-2018.yaml");
  if (!costs) {
    std::fprintf(stderr, "%s\n", costs.error().message.c_str());
    return 3;
  }
  bench::compare("yield", {{"raw jump_fcontext, one way", raw_switch},
                           {"yield, 2 threads", [&] { return yields(2, *costs); }},
                           {"yield, 100 threads", [&] { return yields(100, *costs); }}});
  return 0;
}
