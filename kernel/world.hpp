// A world: the clock, the hub, the packets, and the machines in them. Nothing is global; a process
// may hold many.
//
// Members are destroyed in the order that unwinding needs: machines end their fibers while hub,
// engine and packet pool still stand.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "core/packet_pool.hpp"
#include "core/timeline.hpp"
#include "kernel/machine.hpp"
#include "sched/fiber.hpp"
#include "sched/hub.hpp"

namespace tapestry::kernel {

struct WorldOptions {
  std::uint64_t seed = 1;
  sched::SettleMode settle_mode = sched::SettleMode::seams;
  std::size_t packets_max = core::PacketPool::kPacketsDefault;
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();  // unwinds every fiber, then takes the machines down
  // Ends every thread by unwinding it. For owners of things that threads still refer to: call this
  // first, then destroy them, then the world. Nothing runs afterwards.
  void unwind();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // `costs` outlives the world. Options are checked by the caller; a guest's host exists already.
  Machine& add_machine(MachineOptions options, const sched::CostTable& costs);
  Machine* machine(std::string_view name);
  const std::deque<std::unique_ptr<Machine>>& machines() const { return machines_; }

  // Runs until the instant, or until nothing is left to happen, or stop().
  sched::Hub::Stop run_until(core::Instant until) { return hub_.run(until); }
  // Who waits for what, since when: for a run that ended because nothing was left to happen.
  std::vector<std::string> blocked_threads() const;

  core::Timeline& timeline() { return timeline_; }
  core::PacketPool& packets() { return packets_; }
  sched::Hub& hub() { return hub_; }
  const WorldOptions& options() const { return options_; }

 private:
  WorldOptions options_;
  core::Timeline timeline_;
  core::PacketPool packets_;
  sched::FiberEngine fibers_;
  sched::Hub hub_;
  std::deque<std::unique_ptr<Machine>> machines_;
};

}  // namespace tapestry::kernel
