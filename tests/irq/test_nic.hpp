// A network card and its driver, as small as the interrupt layer's tests need: one receive ring,
// sent frames to reclaim, one interrupt line, one NAPI instance. Frames are numbers.
//
// The driver does what the kernel's documentation asks for: mask, schedule, acknowledge inside the
// poll; complete only below the budget; after re-arming look at the rings once more. `Mistakes`
// takes single steps away, to show that tests notice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "tests/support/world.hpp"

namespace tapestry::tests {

enum class Signalling : std::uint8_t {
  edge,       // each event is one edge
  level,      // asserted from an event until it is acknowledged
  suppressed  // an edge per event, but only while the driver has asked for events (virtio)
};

struct Mistakes {
  bool forget_second_look = false;
};

class TestNic final : public irq::NapiPoller, public irq::InterruptHandler {
 public:
  struct Options {
    std::size_t ring = 256;
    int weight = irq::Napi::kWeightDefault;
    Signalling signalling = Signalling::edge;
    Mistakes mistakes{};
    std::size_t cpu = 0;
    std::string name = "eth0";
  };

  TestNic(World& world, TestMachine& machine, Options options)
      : world_(world),
        machine_(machine),
        options_(std::move(options)),
        line(machine.interrupts.add_line(
            options_.name,
            options_.signalling == Signalling::level ? irq::Trigger::level : irq::Trigger::edge,
            *this, options_.cpu)),
        napi(machine.napi, options_.name, *this, options_.weight) {
    napi.enable();
  }

  // --- the wire: device events
  // ---------------------------------------------------------------------- A burst that the device
  // has written to the ring before it interrupts, once.
  void frames_arrive(int count) {
    for (int i = 0; i < count; ++i) {
      if (ring_.size() < options_.ring)
        ring_.push_back({++serial_, world_.now_ns()});
      else
        ++ring_full;
    }
    signal();
  }
  void frames_sent(int count) {
    for (int i = 0; i < count; ++i)
      sent_.push_back(world_.now_ns());
    signal();
  }

  // --- the driver
  // -----------------------------------------------------------------------------------
  void interrupt() override {
    ++interrupts;
    stop_events();
    napi.schedule();
  }

  int poll(int budget) override {
    sched::Cpu& cpu = machine_.cpu();
    acknowledge();
    reclaim(cpu);
    int work = 0;
    while (work < budget && !ring_.empty()) {
      const Frame frame = ring_.front();
      ring_.pop_front();
      ++work;
      cpu.charge(sched::Work::driver_receive);
      cpu.settle();
      ++delivered;
      note_delay(frame.arrived_ns);
      if (on_frame) on_frame(frame.serial);
      cpu.settle();
    }
    polls += (polls.empty() ? "" : "+") + std::to_string(work);
    if (work < budget && napi.complete_done(work)) rearm(cpu);
    return work;
  }

  std::uint64_t interrupts = 0;
  std::uint64_t delivered = 0;
  std::uint64_t reclaimed = 0;
  std::uint64_t ring_full = 0;
  std::uint64_t rearms = 0;
  std::int64_t first_rearm_ns = 0;
  std::int64_t worst_delay_ns = 0;  // from an event until it is handled
  std::string polls;                // "64+64+63"
  std::function<void(std::uint64_t frame)> on_frame;

  std::size_t waiting() const { return ring_.size(); }

 private:
  struct Frame {
    std::uint64_t serial;
    std::int64_t arrived_ns;
  };

  void signal() {
    if (options_.signalling != Signalling::suppressed || wants_events_) line.raise();
  }
  void stop_events() {
    if (options_.signalling == Signalling::suppressed)
      wants_events_ = false;
    else
      line.mask();
  }
  void acknowledge() {
    machine_.cpu().settle();
    if (options_.signalling == Signalling::level) line.lower();
  }
  void reclaim(sched::Cpu& cpu) {
    while (!sent_.empty()) {
      const std::int64_t since_ns = sent_.front();
      sent_.pop_front();
      cpu.charge(sched::Work::driver_clean);
      cpu.settle();
      ++reclaimed;
      note_delay(since_ns);
    }
  }
  void note_delay(std::int64_t since_ns) {
    worst_delay_ns = std::max(worst_delay_ns, world_.now_ns() - since_ns);
  }
  void rearm(sched::Cpu& cpu) {
    ++rearms;
    if (options_.signalling == Signalling::suppressed) {
      cpu.charge(sched::Work::interrupt_mask);
      cpu.settle();
      wants_events_ = true;
    } else {
      line.unmask();
    }
    if (first_rearm_ns == 0) first_rearm_ns = world_.now_ns();
    if (options_.mistakes.forget_second_look) return;
    // The look itself takes a moment, so a frame may fall between.
    cpu.charge(sched::Work::doorbell);
    cpu.settle();
    if ((!ring_.empty() || !sent_.empty()) && napi.schedule()) stop_events();
  }

  World& world_;
  TestMachine& machine_;
  Options options_;
  std::deque<Frame> ring_;
  std::uint64_t serial_ = 0;
  std::deque<std::int64_t> sent_;  // when each was
  bool wants_events_ = true;

 public:
  irq::IrqLine& line;
  irq::Napi napi;
};

// A flood: a frame every `period_ns` from `from_ns` until `until_ns`.
class Flood {
 public:
  Flood(World& world, TestNic& nic, std::int64_t from_ns, std::int64_t until_ns,
        std::int64_t period_ns)
      : world_(world), nic_(nic), until_ns_(until_ns), period_ns_(period_ns) {
    actor_ = world.timeline.add_actor("wire", core::Phase::device);
    push(from_ns);
  }

 private:
  void push(std::int64_t at_ns) {
    if (at_ns > until_ns_) return;
    auto arrive = [](void* flood, std::uint64_t) {
      Flood& self = *static_cast<Flood*>(flood);
      self.nic_.frames_arrive(1);
      self.push(self.world_.now_ns() + self.period_ns_);
    };
    world_.timeline.events().push(core::kStart + core::Nanos{at_ns}, actor_, arrive, this);
  }

  World& world_;
  TestNic& nic_;
  std::int64_t until_ns_;
  std::int64_t period_ns_;
  core::ActorId actor_;
};

// What things cost where a test wants every step to take time, in whole nanoseconds.
inline sched::CostTable small_costs() {
  sched::CostTable costs = sched::CostTable::zero();
  const auto set = [&costs](sched::Work work, std::int64_t fixed_ns) {
    costs.set(work, sched::Cost{fixed_ns * 1000, 0, 0});
  };
  set(sched::Work::hardirq, 30);
  set(sched::Work::timer_interrupt, 13);
  set(sched::Work::timer_program, 5);
  set(sched::Work::softirq, 7);
  set(sched::Work::napi_poll, 20);
  set(sched::Work::interrupt_mask, 15);
  set(sched::Work::driver_receive, 11);
  set(sched::Work::driver_clean, 9);
  set(sched::Work::doorbell, 3);
  set(sched::Work::tasklet, 6);
  set(sched::Work::wakeup, 17);
  set(sched::Work::context_switch, 40);
  set(sched::Work::resched_ipi, 12);
  set(sched::Work::ipi_latency, 25);
  set(sched::Work::idle_exit, 19);
  return costs;
}

}  // namespace tapestry::tests
