#include "app/results/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sched/cost_table.hpp"

namespace tapestry::app {

namespace {

using sched::ContextKind;
using sched::Work;

constexpr double kNanosPerSample = 1e6;

struct ProfileRow {
  std::string_view function;
  std::string_view cost;  // its name in cost tables
  core::Nanos spent;
};

std::string_view function_of(Work work) {
  const std::string_view symbol = sched::kernel_symbol(work);
  return symbol == "-" ? sched::work_name(work) : symbol;
}

// Nothing that took no time; what took most first, and of equals the table's order.
std::vector<ProfileRow> rows_of(const MachineUsage& machine) {
  std::vector<ProfileRow> rows;
  for (std::size_t work = 0; work < sched::kWorkCount; ++work) {
    const auto kind = static_cast<Work>(work);
    rows.push_back({function_of(kind), sched::work_name(kind), machine.usage.of(kind)});
  }
  rows.push_back({machine.guest_symbol, "guest", machine.usage.guest()});
  std::erase_if(rows, [](const ProfileRow& row) { return row.spent <= core::Nanos{0}; });
  std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow& one, const ProfileRow& other) {
    return one.spent > other.spent;
  });
  return rows;
}

double share(core::Nanos part, core::Nanos whole) {
  return whole.count() == 0
             ? 0.0
             : static_cast<double>(part.count()) * 100.0 / static_cast<double>(whole.count());
}

std::string machine_table(const RunResult& result, const MachineUsage& machine) {
  const core::Nanos busy = machine.usage.busy();
  if (busy == core::Nanos{0} || result.elapsed <= core::Nanos{0}) return "";
  const core::Nanos user = machine.usage.of(ContextKind::user) + machine.usage.guest();
  std::string text = fmt::format("\n{}.{} {}\n", result.variant, result.workload, machine.machine);
  text += fmt::format(
      "   PerfTop: {:7.0f} irqs/sec  kernel:{:4.1f}%  [1000Hz cycles],  (all, {} CPU{})\n",
      static_cast<double>(busy.count()) * 1000.0 / static_cast<double>(result.elapsed.count()),
      share(busy - user, busy), machine.cpus, machine.cpus == 1 ? "" : "s");
  text += "  samples  pcnt  function                          cost name\n";
  text += "  _______ _____  ________________________________  ___________________________\n";
  for (const ProfileRow& row : rows_of(machine))
    text += fmt::format("{:>9.2f} {:>4.1f}%  {:<32}  {}\n",
                        static_cast<double>(row.spent.count()) / kNanosPerSample,
                        share(row.spent, busy), row.function, row.cost);
  return text;
}

}  // namespace

std::string print_profile(const RunReport& report) {
  std::string text;
  for (const RunResult& result : report.results)
    for (const MachineUsage& machine : result.usage)
      text += machine_table(result, machine);
  return text;
}

std::string folded_stacks(const RunReport& report) {
  std::string text;
  for (const RunResult& result : report.results) {
    for (const MachineUsage& machine : result.usage) {
      const std::string where =
          fmt::format("{}.{};{};", result.variant, result.workload, machine.machine);
      for (std::size_t context = 0; context < sched::kContextKinds; ++context) {
        const auto kind = static_cast<ContextKind>(context);
        for (std::size_t work = 0; work < sched::kWorkCount; ++work) {
          const core::Nanos spent = machine.usage.of(kind, static_cast<Work>(work));
          if (spent > core::Nanos{0})
            text += fmt::format("{}{};{} {}\n", where, sched::context_name(kind),
                                function_of(static_cast<Work>(work)), spent.count());
        }
      }
      if (machine.usage.guest() > core::Nanos{0})
        text += fmt::format("{}guest;{} {}\n", where, machine.guest_symbol,
                            machine.usage.guest().count());
    }
  }
  return text;
}

}  // namespace tapestry::app
