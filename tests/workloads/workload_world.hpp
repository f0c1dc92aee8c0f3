// One workload in a world of its own, as the program builds it: a native host, a UML guest on a
// legacy tap between them, and a note of every frame that passes the guest's device.
//
//     WorkloadWorld world("{kind: ping, from: guest, to: host, count: 3}");
//     world.run();
//     CHECK(world.outcome().window_packets == 3);
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/builder/run_world.hpp"
#include "app/scenario/loader.hpp"
#include "sched/cost_table.hpp"

namespace tapestry::tests {

class WorkloadWorld {
 public:
  explicit WorkloadWorld(const std::string& workload, const std::string& costs = "zero",
                         sched::SettleMode mode = sched::SettleMode::seams) {
    const std::string root = std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/";
    auto loaded = app::parse_scenario(scenario(workload, costs), root + "test.yaml");
    for (const app::Diagnostic& diagnostic : loaded.diagnostics)
      FAIL(diagnostic.format("test"));
    file_ = std::move(*loaded.scenario);
    auto table = sched::load_cost_table(root + "costs/" + costs + ".yaml");
    REQUIRE(table.ok());
    costs_ = std::move(*table);
    auto built = app::RunWorld::build(file_.variants[0], file_.variants[0].workloads[0],
                                      {&costs_, &costs_}, {.settle_mode = mode});
    REQUIRE(built.ok());
    run_ = std::move(*built);
    run_->bring_up();
    watch_ = run_->hardware().device(1).on_frame.watch(
        [this](const core::Packet& packet, core::Direction direction) {
          if (direction == core::Direction::outgoing)
            sent_.push_back({since_origin(), packet.length()});
        });
    run_->start_workload();
  }

  struct Sent {
    std::int64_t at_ns;
    std::size_t length;
  };

  // Until nothing is left to happen, or to an instant after the workload's begin.
  void run() { run_->world().run_until(core::kNever - core::Nanos{1}); }
  void run_for(core::Nanos span) { run_->world().run_until(core::after(run_->origin(), span)); }

  workloads::Workload& workload() { return run_->workload(); }
  workloads::Outcome outcome() { return run_->workload().outcome(); }
  std::int64_t since_origin() { return (run_->world().timeline().now() - run_->origin()).count(); }
  // Frames that left the guest, by instant; ARP is none of them.
  std::vector<std::int64_t> sent_ns(std::size_t at_least = 0) const {
    std::vector<std::int64_t> instants;
    for (const Sent& frame : sent_)
      if (frame.length >= at_least) instants.push_back(frame.at_ns);
    return instants;
  }

 private:
  static std::string scenario(const std::string& workload, const std::string& costs) {
    return "schema: tapestry/1\ntitle: test\ncosts: " + costs +
           "\nmachines:\n"
           "  host: {platform: native, kernel: \"6.18\", cpus: 2}\n"
           "  guest: {platform: uml, kernel: \"6.1\", host: host, pin: 0}\n"
           "devices:\n"
           "  host.tap0: {kind: tap, address: 10.77.0.1/24, mac: \"02:00:00:00:00:63\"}\n"
           "  guest.eth0: {kind: legacy-tap, attach: host.tap0, address: 10.77.0.2/24}\n"
           "workloads:\n  w: " +
           workload + "\n";
  }

  app::ScenarioFile file_;
  sched::CostTable costs_;
  std::unique_ptr<app::RunWorld> run_;
  core::ProbeHandle watch_;
  std::vector<Sent> sent_;
};

}  // namespace tapestry::tests
