// Why batches ended: of each device's polls, queue runs and doorbells, of NET_RX and of the calls
// to a host, read from the counters that these always keep.
#include <fmt/format.h>

#include <algorithm>

#include "app/results/layout.hpp"
#include "app/results/metrics.hpp"
#include "app/results/output.hpp"
#include "net/tx_queue.hpp"

namespace tapestry::app {

namespace {

using Ends = std::vector<std::pair<std::string, std::uint64_t>>;

std::uint64_t ended(const net::TxQueue::Figures& figures, net::RunEnd why) {
  return figures.run_ends[static_cast<std::size_t>(why)];
}

// In each list the ordinary end comes first.
void add_device(std::vector<Batches>& all, const std::string& name, net::Device& device) {
  device.driver().for_each_napi([&](const irq::Napi& napi) {
    const irq::Napi::Figures& polls = napi.figures();
    all.push_back({name + " poll",
                   polls.sizes,
                   {{"ring empty", polls.ended(irq::PollEnd::ring_empty)},
                    {"budget", polls.ended(irq::PollEnd::budget)},
                    {"missed", polls.ended(irq::PollEnd::missed)}}});
  });
  for (std::size_t i = 0; i < device.queues(); ++i) {
    const net::TxQueue::Figures& runs = device.queue(i).figures();
    const std::string which = device.queues() > 1 ? fmt::format("{} tx-{}", name, i) : name;
    all.push_back({which + " qdisc run",
                   runs.run_sizes,
                   {{"queue empty", ended(runs, net::RunEnd::queue_empty)},
                    {"ring full", ended(runs, net::RunEnd::ring_full)},
                    {"byte limit", ended(runs, net::RunEnd::byte_limit)},
                    {"busy", ended(runs, net::RunEnd::busy)},
                    {"quota", ended(runs, net::RunEnd::quota)},
                    {"resched", ended(runs, net::RunEnd::resched)},
                    {"closed", ended(runs, net::RunEnd::closed)}}});
    all.push_back({which + " doorbell",
                   runs.ring_sizes,
                   {{"no more", runs.ring_sizes.batches() - runs.rings_blocked},
                    {"blocked", runs.rings_blocked}}});
  }
}

// A run of NET_RX counts the packets of the polls in it.
void add_net_rx(std::vector<Batches>& all, kernel::Machine& machine) {
  core::BatchSizes sizes;
  std::uint64_t by_budget = 0;
  std::uint64_t by_time = 0;
  for (std::size_t cpu = 0; cpu < machine.scheduler().cpus(); ++cpu) {
    const irq::SoftnetFigures& figures = machine.napi().figures(cpu);
    sizes += figures.run_sizes;
    by_budget += figures.squeezed_by_budget;
    by_time += figures.squeezed_by_time;
  }
  all.push_back({machine.name() + " NET_RX run",
                 sizes,
                 {{"nothing left", sizes.batches() - by_budget - by_time},
                  {"budget", by_budget},
                  {"time slice", by_time}}});
}

void add_calls(std::vector<Batches>& all, const host::charged::PortFigures& port) {
  const std::uint64_t refused =
      port.partial_sends + port.send_would_block + port.send_no_buffers + port.send_failed;
  all.push_back({"send call",
                 port.send_sizes,
                 {{"all taken", port.send_calls - refused},
                  {"partial", port.partial_sends},
                  {"EAGAIN", port.send_would_block},
                  {"ENOBUFS", port.send_no_buffers},
                  {"failed", port.send_failed}}});
  all.push_back(
      {"receive call",
       port.receive_sizes,
       {{"frames", port.receive_calls - port.empty_receives}, {"EAGAIN", port.empty_receives}}});
}

std::string share(const std::pair<std::string, std::uint64_t>& end, std::uint64_t batches) {
  return fmt::format("{} {:.1f}%", end.first,
                     static_cast<double>(end.second) * 100 / static_cast<double>(batches));
}

// The two most frequent ends; --json has all.
std::string ends_of(const Batches& batches) {
  Ends ends = batches.ends;
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& one, const auto& other) { return one.second > other.second; });
  std::string text = share(ends[0], batches.sizes.batches());
  if (ends[1].second != 0) text += ", " + share(ends[1], batches.sizes.batches());
  return text;
}

// A few, or single packets that nearly all have the ordinary end, are not worth a line.
bool says_something(const Batches& batches) {
  constexpr std::uint64_t kFew = 10;
  const std::uint64_t count = batches.sizes.batches();
  if (count < kFew) return false;
  return 2 * batches.sizes.items() >= 3 * count || batches.ends[0].second * 100 < count * 95;
}

}  // namespace

std::vector<Batches> batches_of(RunWorld& run, const host::charged::PortFigures& port) {
  std::vector<Batches> all;
  for (kernel::Machine* machine : run.machines()) {
    add_net_rx(all, *machine);
    for (const auto& device : machine->stack().devices())
      add_device(all, machine->name() + "." + device->name(), *device);
  }
  add_calls(all, port);
  return all;
}

std::vector<Batches> batches_between(const std::vector<Batches>& before,
                                     const std::vector<Batches>& after) {
  std::vector<Batches> between;
  for (std::size_t i = 0; i < after.size(); ++i) {
    Batches row = after[i];
    row.sizes = row.sizes.since(before[i].sizes);
    for (std::size_t end = 0; end < row.ends.size(); ++end)
      row.ends[end].second -= before[i].ends[end].second;
    if (row.sizes.batches() != 0) between.push_back(std::move(row));
  }
  return between;
}

std::string batches_block(const RunReport& report) {
  constexpr std::size_t kEndsWidth = 39;
  layout::Grid grid("Why batches ended", {{"count", 7}, {"mean", 5}, {"ends", kEndsWidth, true}});
  for (const RunResult& result : report.results) {
    for (const Batches& batches : result.batches) {
      if (!says_something(batches)) continue;
      const auto count = static_cast<double>(batches.sizes.batches());
      grid.add(
          fmt::format("  {}.{} {}", result.variant, result.workload, batches.where),
          {layout::scaled(count),
           layout::tenths(static_cast<double>(batches.sizes.items()) / count), ends_of(batches)});
    }
  }
  return grid.empty() ? "" : "\n" + grid.text();
}

std::string napi_block(const RunReport& report) {
  std::string text;
  for (const RunResult& result : report.results) {
    for (const auto& [violation, known] : result.napi_violations) {
      text += layout::wrapped(
          fmt::format("{}.{} {} {}: {} (in {}, first at {} ns, {} times)", result.variant,
                      result.workload, violation.instance, irq::rule_text(violation.rule),
                      known ? "known of behaviour uml-6.1" : "BROKEN", violation.step,
                      core::nanos_since_start(violation.first), violation.times),
          "  ");
    }
  }
  return text.empty() ? "" : "\nNAPI contract\n" + text;
}

}  // namespace tapestry::app
