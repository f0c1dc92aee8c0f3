// The world's clock and its queue of events, and the guard of the settle rule.
//
// Everything that lives in one world shares one Timeline. It is the only source of the present
// instant.
//
// The guard: a CPU that runs code on somebody's behalf tells the Timeline where that context keeps
// what it has charged and not yet paid (its debt). Code that touches what another context can
// change or see calls `require_settled`; with anything owed that is a bug and asserts. While a
// device's event runs nobody owes anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/assert.hpp"
#include "core/event_queue.hpp"
#include "core/happening.hpp"
#include "core/probe.hpp"
#include "core/time.hpp"

namespace tapestry::core {

class Timeline {
 public:
  explicit Timeline(std::size_t events_bound = EventQueue::kBoundDefault) : events_(events_bound) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  Instant now() const { return events_.now(); }
  EventQueue& events() { return events_; }
  const EventQueue& events() const { return events_; }

  ActorId add_actor(std::string name, Phase phase) {
    return events_.add_actor(std::move(name), phase);
  }
  std::string_view actor_name(ActorId actor) const { return events_.actor_name(actor); }

  // The running CPU context's unpaid nanoseconds, and the CPU; nullptr while none runs. The cell
  // must stay where it is until another one is set.
  void set_debt_cell(const std::int64_t* cell, SubjectId cpu = 0) {
    debt_ = cell != nullptr ? cell : &kNothingOwed;
    running_ = cpu;
  }

  // `what` says what is about to be touched, for the message.
  void require_settled(const char* what) const { TAPESTRY_ASSERT(*debt_ == 0, what); }

  // Forward, and not beyond the next event.
  void advance_to(Instant at) { events_.advance_to(at); }

  // The watchdog of loops that make no progress; see EventQueue::note_step.
  void note_step(ActorId actor) { events_.note_step(actor); }
  void set_steps_at_one_instant_max(std::uint64_t steps) {
    events_.set_steps_at_one_instant_max(steps);
  }

  // --- watching
  // ---------------------------------------------------------------------------------------------
  Probe<const HappeningNote&> on_happening;
  void tell(Happening kind, SubjectId subject, std::uint64_t argument = 0) const {
    if (on_happening.watched()) [[unlikely]]
      tell_watchers(kind, subject, argument);
  }
  // The instant that the running context has worked up to.
  std::int64_t worked_up_to_ns() const { return nanos_since_start(now()) + *debt_; }
  SubjectId running_cpu() const { return running_; }
  NameTable& names() { return names_; }
  const NameTable& names() const { return names_; }

 private:
  static constexpr std::int64_t kNothingOwed = 0;

  [[gnu::cold]] void tell_watchers(Happening kind, SubjectId subject,
                                   std::uint64_t argument) const {
    // A thread that is preempted takes what it owes along.
    const bool gives_way = kind <= Happening::thread_ends;
    on_happening({gives_way ? nanos_since_start(now()) : worked_up_to_ns(), argument, subject,
                  running_, kind});
  }

  EventQueue events_;
  const std::int64_t* debt_ = &kNothingOwed;
  SubjectId running_ = 0;
  NameTable names_;
};

}  // namespace tapestry::core
