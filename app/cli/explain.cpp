// tapestry explain: the life of one packet, and what makes the slow ones slow.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/cli.hpp"
#include "app/cli/commands.hpp"
#include "app/results/layout.hpp"
#include "observe/packet_life.hpp"

namespace tapestry::app {

namespace {

using observe::LifeFigures;
using observe::LifeTracker;
using observe::PacketLife;
using observe::Stage;

// Outlives the run whose records it passes on.
class Forward final : public observe::TraceConsumer {
 public:
  explicit Forward(std::shared_ptr<LifeTracker> to) : to_(std::move(to)) {}
  void record(const observe::TraceRecord& record) override { to_->record(record); }
  void finish(std::int64_t end_ns) override { to_->finish(end_ns); }

 private:
  std::shared_ptr<LifeTracker> to_;
};

struct Traced {
  std::shared_ptr<LifeTracker> lives;
  RunReport report;
};

Traced trace(const ScenarioFile& file, RunnerOptions options, std::uint64_t wanted) {
  Traced traced;
  options.settle_mode = sched::SettleMode::always;  // instants are exact
  options.watch = [&traced, wanted](RunWorld& run) {
    traced.lives = std::make_shared<LifeTracker>(run.world().timeline().names(), wanted);
    return std::make_unique<Forward>(traced.lives);
  };
  traced.report = run_scenario(file, options);
  return traced;
}

std::vector<LifeFigures> by_duration(const LifeTracker& lives) {
  std::vector<LifeFigures> sorted = lives.delivered();
  std::ranges::stable_sort(sorted, {}, &LifeFigures::duration_ns);
  return sorted;
}

// What a packet that has come so far waits for, if nobody works on it.
const char* waits_for(core::Milestone reached) {
  switch (reached) {
    case core::Milestone::qdisc_enqueued:
      return "room at the driver";
    case core::Milestone::driver_transmit:
      return "the driver, its ring or the wire";
    case core::Milestone::wire_out:
      return "light on its way";
    case core::Milestone::ring_filled:
      return "the interrupt and the poll";
    case core::Milestone::ring_queued:
      return "its reader at the descriptor";
    case core::Milestone::backlog_queued:
      return "the softirq";
    case core::Milestone::napi_received:
    case core::Milestone::merged:
      return "the end of its batch";
    case core::Milestone::socket_queued:
      return "its reader";
    default:
      return "others on its way";
  }
}

std::string where(const LifeTracker& lives, const Stage& stage) {
  if (stage.cpu == 0) return "a device";
  return fmt::format("{}, {}", lives.names()[stage.cpu].name, observe::name_of(stage.context));
}

std::int64_t waited_ns(std::int64_t took_ns, const Stage& stage) {
  return std::max<std::int64_t>(0, took_ns - stage.work_ns());
}

void print_life(const LifeTracker& lives) {
  const PacketLife& life = lives.wanted();
  const std::string indent(36, ' ');
  fmt::print("{:>10} {:>10} {:>10}  {}\n", "at ns", "took", "of it work", "reached, where");
  for (std::size_t i = 0; i < life.stages.size(); ++i) {
    const Stage& stage = life.stages[i];
    const std::int64_t took = i == 0 ? 0 : stage.at_ns - life.stages[i - 1].at_ns;
    const std::int64_t waited = waited_ns(took, stage);
    fmt::print("{:>10} {:>10} {:>10}  {:<16} {}\n", stage.at_ns - life.stages[0].at_ns, took,
               i == 0 ? 0 : took - waited, core::name_of(stage.reached), where(lives, stage));
    std::string words;
    for (const auto& [kind, ns] : stage.work)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", sched::work_name(kind), ns);
    if (!words.empty()) fmt::print("{}", layout::wrapped(words, indent));
    if (waited > 0)
      fmt::print("{}", layout::wrapped(fmt::format("waited {}: for {}", waited,
                                                   waits_for(life.stages[i - 1].reached)),
                                       indent));
  }
}

nlohmann::ordered_json json_of(const LifeTracker& lives) {
  nlohmann::ordered_json document;
  document["packet"] = lives.wanted().id;
  document["duration_ns"] = lives.wanted().duration_ns();
  document["stages"] = nlohmann::ordered_json::array();
  for (const Stage& stage : lives.wanted().stages) {
    nlohmann::ordered_json work = nlohmann::ordered_json::object();
    for (const auto& [kind, ns] : stage.work)
      work[std::string(sched::work_name(kind))] = ns;
    document["stages"].push_back({{"reached", core::name_of(stage.reached)},
                                  {"at_ns", stage.at_ns},
                                  {"cpu", lives.names()[stage.cpu].name},
                                  {"context", observe::name_of(stage.context)},
                                  {"work_ns", work}});
  }
  return document;
}

// --- the tail
// ------------------------------------------------------------------------------------

struct Tail {
  std::size_t slow = 0;                                   // packets at or above the 99th percentile
  std::size_t typical = 0;                                // between the 45th and the 55th
  std::array<std::int64_t, core::kMilestones> slow_ns{};  // mean of each stage
  std::array<std::int64_t, core::kMilestones> typical_ns{};
};

std::array<std::int64_t, core::kMilestones> mean(std::span<const LifeFigures> some) {
  std::array<std::int64_t, core::kMilestones> sum{};
  for (const LifeFigures& one : some)
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += one.stage_ns[i];
  for (std::int64_t& each : sum)
    each /= static_cast<std::int64_t>(some.size());
  return sum;
}

Tail tail_of(const std::vector<LifeFigures>& sorted) {
  const std::span<const LifeFigures> all(sorted);
  const std::size_t from = (all.size() - 1) * 99 / 100;
  const std::size_t low = all.size() * 45 / 100;
  const std::size_t high = std::max(low + 1, all.size() * 55 / 100);
  Tail tail;
  tail.slow = all.size() - from;
  tail.typical = high - low;
  tail.slow_ns = mean(all.subspan(from));
  tail.typical_ns = mean(all.subspan(low, high - low));
  return tail;
}

void print_tail(const Tail& tail) {
  std::int64_t more = 0;
  for (std::size_t i = 0; i < core::kMilestones; ++i)
    more += tail.slow_ns[i] - tail.typical_ns[i];
  fmt::print("Mean of {} packets at or above the 99th percentile, and of {} around the median.\n",
             tail.slow, tail.typical);
  fmt::print("\n{:<20} {:>14} {:>14} {:>14} {:>9}\n", "way to", "slow ns", "median ns", "more",
             "share");
  for (std::size_t i = 0; i < core::kMilestones; ++i) {
    const std::int64_t difference = tail.slow_ns[i] - tail.typical_ns[i];
    if (tail.slow_ns[i] == 0 && tail.typical_ns[i] == 0) continue;
    fmt::print("{:<20} {:>14} {:>14} {:>14} {:>8}%\n",
               core::name_of(static_cast<core::Milestone>(i)), tail.slow_ns[i], tail.typical_ns[i],
               difference, more == 0 ? 0 : difference * 100 / more);
  }
}

nlohmann::ordered_json json_of(const Tail& tail) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < core::kMilestones; ++i)
    if (tail.slow_ns[i] != 0 || tail.typical_ns[i] != 0)
      stages.push_back({{"reached", core::name_of(static_cast<core::Milestone>(i))},
                        {"slow_mean_ns", tail.slow_ns[i]},
                        {"median_mean_ns", tail.typical_ns[i]}});
  return {{"slow_packets", tail.slow}, {"median_packets", tail.typical}, {"stages", stages}};
}

int fail(const RunReport& report) {
  if (!report.error.empty()) fmt::print(stderr, "error: {}\n", report.error);
  return exit_code_of(report);
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  const auto file = load_or_explain(arguments.scenario);
  if (!file || !names_exist(*file, arguments.runner)) return kUsage;
  RunnerOptions options = arguments.runner;
  if (options.variants.empty()) options.variants = {file->variants.front().variant};
  if (options.workloads.empty())
    options.workloads = {file->variants.front().workloads.front().name};
  Traced traced = trace(*file, options, arguments.packet);
  if (traced.report.ending != Ending::complete) return fail(traced.report);
  if (!traced.lives || traced.lives->delivered().empty()) {
    fmt::print(stderr, "error: {}.{} delivers no packet\n", options.variants.front(),
               options.workloads.front());
    return kExpectationFailed;
  }
  const std::vector<LifeFigures> sorted = by_duration(*traced.lives);
  nlohmann::ordered_json document;
  document["schema_version"] = 1;
  document["variant"] = options.variants.front();
  document["workload"] = options.workloads.front();
  document["delivered"] = sorted.size();
  const std::string head = fmt::format("{}, {}: {} packets delivered\n\n", options.variants.front(),
                                       options.workloads.front(), sorted.size());
  if (arguments.p99) {
    const Tail tail = tail_of(sorted);
    document["tail"] = json_of(tail);
    if (!arguments.json) {
      fmt::print("{}", head);
      print_tail(tail);
    }
  } else {
    std::uint64_t wanted = arguments.packet;
    if (wanted == 0)
      wanted = arguments.slowest ? sorted.back().id : sorted[(sorted.size() - 1) / 2].id;
    // The same run again gives the same packets: this time the one that is wanted is kept.
    if (arguments.packet == 0) traced = trace(*file, options, wanted);
    if (traced.lives->wanted().stages.empty()) {
      fmt::print(stderr, "error: packet {} is none that was delivered; {} is one\n", wanted,
                 sorted[(sorted.size() - 1) / 2].id);
      return kUsage;
    }
    document["life"] = json_of(*traced.lives);
    if (!arguments.json) {
      const char* which = arguments.packet != 0 ? ""
                          : arguments.slowest   ? ", the slowest"
                                                : ", a typical one";
      fmt::print("{}", head);
      fmt::print("Packet {}{}: {} ns from its socket to its reader\n\n", wanted, which,
                 traced.lives->wanted().duration_ns());
      print_life(*traced.lives);
    }
  }
  if (arguments.json) fmt::print("{}\n", document.dump(2));
  return kGood;
}

}  // namespace tapestry::app
