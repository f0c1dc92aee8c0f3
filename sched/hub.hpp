// The hub: one thread of the host machine plays every CPU and every device, one at a time.
//
// A physical CPU that spends time parks here until an instant. Whoever parks runs the device events
// that are due, on its own stack, and then hands over to the CPU whose turn it is; when that is
// itself it just returns, so that most of time passes without a switch. The order is total: earlier
// instants first, devices before CPUs, CPUs by index.
//
// The cached horizon answers the common question without a look at anything: "does nobody else run
// before this instant?" If so the clock may simply jump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/timeline.hpp"
#include "sched/fiber.hpp"

namespace tapestry::sched {

// A fiber that outlives its world is unwound by this, thrown at its suspension point.
inline void throw_if_cancelling(bool cancelling) {
  if (cancelling) [[unlikely]]
    throw Cancelled{};
}

class Hub {
 public:
  enum class Stop : std::uint8_t {
    reached,  // everything up to and including the given instant has happened
    quiet,    // nothing is ready and no event is due, ever
    asked     // stop() was called
  };

  Hub(core::Timeline& timeline, FiberEngine& fibers);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Registers a physical CPU; its continuation lives in `parked(index)` while it is not running.
  std::size_t add_cpu(std::string name);
  FiberSlot& parked(std::size_t cpu) { return cpus_[cpu]->parked; }

  // Called by the running CPU: returns when it is its turn again, at `until` or earlier if woken.
  void park(std::size_t cpu, core::Instant until);

  // Lets a parked CPU have its turn at the present instant.
  void wake(std::size_t cpu);

  // True if no device event and no other CPU has its turn at or before `target`, nor does the run
  // end.
  bool alone_until(core::Instant target) const {
    return target < others_ && target <= until_ && target < timeline_.events().next_instant();
  }

  // The caller's own stack becomes the place where the run ends. Rethrows what escaped from an
  // event or a thread. May be called again to go on.
  Stop run(core::Instant until);

  // Ends the run after the current step; any thread or event may call it.
  void stop() { asked_to_stop_ = true; }

  // For a fiber with nowhere to go but an exception: ends the run, which rethrows it.
  void fail(std::exception_ptr failure);

  // After this, every suspended fiber that is resumed throws Cancelled, and settling is a no-op.
  void begin_cancelling() { cancelling_ = true; }
  bool cancelling() const { return cancelling_; }
  // Resumes a suspended fiber so that it unwinds; returns when it has ended.
  void cancel(FiberSlot& suspended);
  FiberSlot& main() { return main_; }

  core::Timeline& timeline() { return timeline_; }
  FiberEngine& fibers() { return fibers_; }

  // Has the turn of `cpu` at the present instant passed? True once a CPU of a higher index has had
  // its own.
  bool turn_has_passed(std::size_t cpu) const {
    const bool later_runs = running_ != kNobody && running_ > cpu;
    const bool later_ran = latest_turn_at_ == timeline_.now() && latest_turn_ > cpu;
    return later_runs || later_ran;
  }
  // Who has its turn at the present instant and does not get it, by name: the next event's actor,
  // and CPUs.
  std::vector<std::string> kept_waiting() const;
  // Is some CPU running, rather than a device's event or whoever started the run?
  bool a_cpu_runs() const { return running_ != kNobody; }
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

 private:
  struct ParkedCpu {
    FiberSlot parked;
    core::ActorId actor{};
  };

  void dispatch(std::size_t self);
  void run_events_at_front();
  void hand_over(std::size_t self, std::size_t next);
  void end_run(std::size_t self, Stop why);
  void resumed(std::size_t self);
  FiberSlot& slot_of(std::size_t self) { return self == kNobody ? main_ : cpus_[self]->parked; }

  core::Timeline& timeline_;
  FiberEngine& fibers_;
  std::vector<core::Instant> turns_;  // by CPU: when its turn comes; kNever while running or idle
  std::vector<ParkedCpu*> cpus_;
  std::vector<std::unique_ptr<ParkedCpu>> owned_;
  FiberSlot main_;
  core::Instant others_ = core::kNever;  // the earliest turn of the CPUs that are not running
  core::Instant until_ = core::kStart;
  std::size_t running_ = kNobody;
  std::size_t latest_turn_ = 0;  // the highest index that ran at latest_turn_at_
  core::Instant latest_turn_at_ = core::kStart;
  Stop why_ = Stop::quiet;
  bool asked_to_stop_ = false;
  bool cancelling_ = false;
  std::exception_ptr failure_;
};

}  // namespace tapestry::sched
