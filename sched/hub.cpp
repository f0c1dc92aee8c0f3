#include "sched/hub.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"

namespace tapestry::sched {

Hub::Hub(core::Timeline& timeline, FiberEngine& fibers) : timeline_(timeline), fibers_(fibers) {}

std::size_t Hub::add_cpu(std::string name) {
  owned_.push_back(std::make_unique<ParkedCpu>());
  cpus_.push_back(owned_.back().get());
  cpus_.back()->actor = timeline_.add_actor(std::move(name), core::Phase::cpu);
  turns_.push_back(core::kNever);
  return cpus_.size() - 1;
}

void Hub::park(std::size_t cpu, core::Instant until) {
  const core::Instant now = timeline_.now();
  latest_turn_ = latest_turn_at_ == now ? std::max(latest_turn_, cpu) : cpu;
  latest_turn_at_ = now;
  turns_[cpu] = until;
  running_ = kNobody;
  dispatch(cpu);
  if (cancelling_) [[unlikely]]
    throw Cancelled{};
}

void Hub::wake(std::size_t cpu) {
  const core::Instant now = timeline_.now();
  if (now < turns_[cpu]) turns_[cpu] = now;
  if (cpu != running_ && now < others_) others_ = now;
}

std::vector<std::string> Hub::kept_waiting() const {
  std::vector<std::string> names;
  const core::EventQueue& events = timeline_.events();
  if (events.next_instant() <= timeline_.now())
    names.emplace_back(timeline_.actor_name(events.next_actor()));
  for (std::size_t cpu = 0; cpu < turns_.size(); ++cpu)
    if (cpu != running_ && turns_[cpu] <= timeline_.now())
      names.emplace_back(timeline_.actor_name(cpus_[cpu]->actor));
  return names;
}

void Hub::run_events_at_front() {
  timeline_.set_debt_cell(nullptr);
  timeline_.events().run_next();
}

// Runs what is due, in order, until it is the turn of `self`.
void Hub::dispatch(std::size_t self) {
  try {
    for (;;) {
      const auto first = std::min_element(turns_.begin(), turns_.end());
      const core::Instant turn = first == turns_.end() ? core::kNever : *first;
      const core::Instant event = timeline_.events().next_instant();
      const core::Instant next = std::min(turn, event);
      if (asked_to_stop_) return end_run(self, Stop::asked);
      if (next == core::kNever) return end_run(self, Stop::quiet);
      if (next > until_) return end_run(self, Stop::reached);
      if (event <= turn) {
        run_events_at_front();
        continue;
      }
      const auto cpu = static_cast<std::size_t>(first - turns_.begin());
      timeline_.advance_to(turn);
      timeline_.note_step(cpus_[cpu]->actor);
      if (cpu != self) return hand_over(self, cpu);
      return resumed(self);
    }
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    if (cancelling_) throw;
    failure_ = std::current_exception();
  }
  end_run(self, Stop::asked);
}

// Whoever is handed the turn finds itself running: `resumed` is called on behalf of the new side
// before the switch, since the new side returns straight from its own switch.
void Hub::hand_over(std::size_t self, std::size_t next) {
  resumed(next);
  fibers_.switch_to(slot_of(self), slot_of(next));
}

void Hub::resumed(std::size_t self) {
  running_ = self;
  turns_[self] = core::kNever;
  others_ = *std::min_element(turns_.begin(), turns_.end());
}

void Hub::end_run(std::size_t self, Stop why) {
  why_ = why;
  if (self != kNobody) fibers_.switch_to(slot_of(self), main_);
}

Hub::Stop Hub::run(core::Instant until) {
  TAPESTRY_ASSERT(running_ == kNobody, "a run is started from outside, never from a fiber");
  until_ = until;
  asked_to_stop_ = false;
  dispatch(kNobody);
  running_ = kNobody;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (why_ == Stop::reached && until > timeline_.now()) timeline_.advance_to(until);
  return why_;
}

void Hub::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  asked_to_stop_ = true;
}

void Hub::cancel(FiberSlot& suspended) {
  TAPESTRY_ASSERT(cancelling_, "cancelling is announced before the first fiber is ended");
  timeline_.set_debt_cell(nullptr);
  fibers_.switch_to(main_, suspended);
}

}  // namespace tapestry::sched
