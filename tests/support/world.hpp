// The world that tests run in: a clock, a hub, packets, and machines without a protocol stack.
//
//     World world(mode);
//     TestMachine& machine = world.add_machine();
//     machine.spawn("reader", [&] { ... });
//     world.at(150, [&] { line.raise(); });
//     world.run();
//
// Objects that threads and handlers use are made by the world (`make`), so that they are still
// there when it unwinds the threads that have not ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/packet_pool.hpp"
#include "core/timeline.hpp"
#include "irq/controller.hpp"
#include "irq/jiffy_timer.hpp"
#include "irq/napi.hpp"
#include "irq/softirq.hpp"
#include "irq/tasklet.hpp"
#include "sched/cost_table.hpp"
#include "sched/fiber.hpp"
#include "sched/hub.hpp"
#include "sched/scheduler.hpp"
#include "tests/support/timeline.hpp"

namespace tapestry::tests {

inline constexpr std::array<sched::SettleMode, 3> kSettleModes{
    sched::SettleMode::always, sched::SettleMode::seams, sched::SettleMode::random};

struct TestMachineOptions {
  std::string name = "m";
  std::size_t cpus = 1;
  sched::Preemption preemption = sched::Preemption::voluntary;
  core::Nanos time_slice{3'000'000};
  int hz = 1000;
  bool softirq_threads = true;  // false: no ksoftirqd, for worlds that never raise outside
  irq::ControllerOptions controller{};
  irq::SoftirqOptions softirqs{};
  irq::NapiOptions napi{};
};

// Handlers made of functions.
class Handler final : public irq::InterruptHandler {
 public:
  explicit Handler(std::function<void()> body) : body_(std::move(body)) {}
  void interrupt() override { body_(); }

 private:
  std::function<void()> body_;
};

class SoftirqFunction final : public irq::SoftirqHandler {
 public:
  explicit SoftirqFunction(std::function<void(sched::Cpu&)> body) : body_(std::move(body)) {}
  void softirq(sched::Cpu& cpu) override { body_(cpu); }

 private:
  std::function<void(sched::Cpu&)> body_;
};

class World;

// The parts that every machine has, put together.
class TestMachine {
 public:
  TestMachine(World& world, const TestMachineOptions& options);
  TestMachine(const TestMachine&) = delete;
  TestMachine& operator=(const TestMachine&) = delete;

  sched::Thread& spawn(std::string name, std::function<void()> body) {
    return scheduler.spawn({.name = std::move(name)}, std::move(body));
  }
  sched::Cpu& cpu() { return scheduler.cpu(); }

  irq::InterruptController interrupts;
  sched::Scheduler scheduler;
  irq::Softirqs softirqs;
  irq::Tasklets tasklets;
  irq::JiffyTimers jiffies;
  irq::NapiCore napi;
};

class World {
 public:
  explicit World(sched::SettleMode mode, sched::CostTable costs = sched::CostTable::zero(),
                 std::uint64_t seed = 1);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  TestMachine& add_machine(const TestMachineOptions& options = {});

  // Made here, gone after the last fiber has ended, in reverse order.
  template <typename Object, typename... Arguments>
  Object& make(Arguments&&... arguments) {
    auto owned = std::make_shared<Object>(std::forward<Arguments>(arguments)...);
    objects_.push_back(owned);
    return *owned;
  }

  // A device event: outside of any CPU. `instant_ns` lies ahead.
  void at(std::int64_t instant_ns, std::function<void()> event);

  sched::Hub::Stop run(core::Instant until = core::kNever - core::Nanos{1});
  sched::Hub::Stop run_until(std::int64_t instant_ns) {
    return run(core::kStart + core::Nanos{instant_ns});
  }
  std::int64_t now_ns() const { return core::nanos_since_start(timeline.now()); }

  // Makes the running context owe exactly so much, as `application` work.
  static void owe(sched::Cpu& cpu, std::int64_t span_ns) {
    cpu.owe(sched::Work::application, core::Nanos{span_ns});
  }
  // Spends it.
  static void spend(sched::Cpu& cpu, std::int64_t span_ns) {
    owe(cpu, span_ns);
    cpu.settle();
  }

  const sched::SettleMode mode;
  const sched::CostTable costs;
  const std::uint64_t seed;
  core::Timeline timeline;
  core::PacketPool packets;
  sched::FiberEngine fibers;
  sched::Hub hub;
  Story story;

 private:
  struct Event {
    std::function<void()> happen;
  };

  core::ActorId device_;
  std::deque<Event> events_;
  std::deque<std::unique_ptr<TestMachine>> machines_;
  std::deque<std::shared_ptr<void>> objects_;
};

}  // namespace tapestry::tests
