// Random programs of everything that the engine offers, told as a story. The same program in
// another settle mode must tell the same story.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "sched/guards.hpp"
#include "sched/wait_queue.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests {

class RandomProgram {
 public:
  // What the program is depends on `program` alone; `seed` decides what the random mode pays when.
  RandomProgram(sched::SettleMode mode, std::uint64_t program, std::uint64_t seed);
  // Up to an instant; then the whole story so far, and the accounts of each CPU and thread.
  std::string run(std::int64_t until_ns = 30'000'000);

 private:
  static constexpr std::size_t kCpus = 2;
  static constexpr std::size_t kQueues = 3;

  struct Step {
    std::uint64_t kind, number;
    std::int64_t span_ns;
  };
  struct Actor {  // a thread, a handler, a softirq: a name and the steps it goes through
    RandomProgram* program = nullptr;
    std::string name;
    std::vector<Step> steps;
    std::size_t next = 0;
    bool may_block = false;
  };

  sched::Cpu& cpu() { return machine_->cpu(); }
  Actor& add_actor(std::string name, std::size_t steps, bool may_block);
  void add_threads();
  void add_interrupts();
  void add_deferred();
  void play(Actor& actor, const Step& step);
  void play_next(Actor& actor);  // one step, over and over
  void section(Actor& actor, const Step& step);
  void blocking(const Step& step);
  void defer(const Step& step);
  void work(Actor& actor, const Step& step);
  void wake(std::size_t queue);
  core::Instant in(std::int64_t span_ns) {
    return cpu().now(cpu().settle()) + core::Nanos{span_ns};
  }

  World world_;
  core::RandomStream random_;
  TestMachine* machine_;
  std::vector<sched::WaitQueue*> queues_;
  std::vector<int> items_;
  std::vector<Actor*> actors_;
  std::vector<irq::IrqLine*> lines_;
  std::vector<sched::Timer*> timers_;
  std::vector<irq::JiffyTimer*> jiffy_timers_;
  std::vector<irq::Tasklet*> tasklets_;
  irq::Napi* napi_ = nullptr;
  int shared_ = 0;
};

}  // namespace tapestry::tests
