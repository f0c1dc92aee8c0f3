// What happens when: the events of a world, in one total order.
//
// Order is (instant, phase, actor, the actor's own serial) and nothing else. Devices come before
// CPUs at one instant, actors in the order of their construction, an actor's own events in the
// order in which they were pushed. There is no global insertion serial: it would depend on who ran
// first.
//
// Two heaps hold the keys: events less than about a millisecond ahead in one, all later ones in the
// other. An event stays in the heap it was pushed to, and the earlier of both tops is next. A
// thousand idle timers therefore cost the packet events nothing. Cancelling frees the event's slot
// at once and leaves a key behind that no longer matches its slot; such keys are skipped when they
// come to the top, and swept out when they outnumber the living.
//
// Virtual time never goes back: pushing into the past, like running out of the bound, is a bug and
// asserts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/assert.hpp"
#include "core/event_heap.hpp"
#include "core/time.hpp"

namespace tapestry::core {

enum class Phase : std::uint8_t { device = 0, cpu = 1 };

// Who an event belongs to: given out in order of construction, by EventQueue::add_actor.
struct ActorId {
  std::uint32_t value = 0;
  friend bool operator==(ActorId, ActorId) = default;
};

using Callback = void (*)(void* object, std::uint64_t argument);

// Names one pushed event for as long as the world lives, also after it has run. A default-made one
// names none.
class EventId {
 public:
  EventId() = default;
  explicit operator bool() const { return order_ != 0; }
  friend bool operator==(EventId, EventId) = default;

 private:
  friend class EventQueue;
  EventId(std::uint64_t order, std::uint32_t slot, bool far)
      : order_(order), slot_(slot), far_(far) {}

  std::uint64_t order_ = 0;
  std::uint32_t slot_ = 0;
  bool far_ = false;
};

// Thrown by a loop that makes no progress in virtual time.
class NoProgress : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class EventQueue {
 public:
  // Events that may be pending at once, by default: one for each packet that may live (65,536, if
  // every one of them is on a wire of its own), and fifteen times as many timers.
  static constexpr std::size_t kBoundDefault = std::size_t{1} << 20;

  // Steps at one instant before a world counts as standing still.
  static constexpr std::uint64_t kStepsAtOneInstantMax = 1'000'000;

  explicit EventQueue(std::size_t bound = kBoundDefault) : bound_(bound) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  ActorId add_actor(std::string name, Phase phase);
  std::string_view actor_name(ActorId actor) const { return names_.at(actor.value); }

  Instant now() const { return now_; }

  // Moves the present on without an event: not back, and not beyond the next event.
  void advance_to(Instant at) {
    TAPESTRY_ASSERT(at >= now_, "virtual time goes on, never back");
    TAPESTRY_ASSERT(at <= next_instant_, "no event is left behind");
    if (at != now_) steps_ = 0;
    now_ = at;
  }

  // At `at`, calls callback(object, argument). `at` is now or later, and earlier than kNever.
  EventId push(Instant at, ActorId actor, Callback callback, void* object,
               std::uint64_t argument = 0) {
    TAPESTRY_ASSERT(at >= now_, "an event lies in the future or present");
    TAPESTRY_ASSERT(at < kNever, "an event happens some day");
    const std::uint64_t order = next_order(actor);
    const std::uint32_t index = take_slot();
    slots_[index] = Slot{order, callback, object, argument};
    const bool far = at - now_ > kFar;
    (far ? far_ : near_).keys.push(key_of(at, order), index);
    if (at < next_instant_) next_instant_ = at;
    return EventId(order, index, far);
  }

  // False if the event has run already, was cancelled before, or the id names none.
  bool cancel(EventId event);

  bool pending(EventId event) const { return event && slots_[event.slot_].order == event.order_; }

  // The instant of the first event; kNever if there is none.
  Instant next_instant() const { return next_instant_; }
  // Whose event that is. There must be one.
  ActorId next_actor() const {
    TAPESTRY_ASSERT(next_instant_ != kNever, "there is a next event");
    const EventKey near = near_.keys.top_key();
    const EventKey far = far_.keys.top_key();
    return actor_of(static_cast<std::uint64_t>(near < far ? near : far));
  }

  // Takes out the first event, moves the present to its instant, counts a step of its actor, calls
  // it. There must be one.
  void run_next() {
    TAPESTRY_ASSERT(next_instant_ != kNever, "there is a next event");
    Side& side = near_.keys.top_key() < far_.keys.top_key() ? near_ : far_;
    const std::uint32_t index = side.keys.top_slot();
    // One by one: copying the slot whole, in vectors, would wait for a push that was just now.
    const std::uint64_t order = slots_[index].order;
    const Callback callback = slots_[index].callback;
    void* const object = slots_[index].object;
    const std::uint64_t argument = slots_[index].argument;
    side.keys.pop();
    release_slot(index);
    if (next_instant_ != now_) {
      now_ = next_instant_;
      steps_ = 0;
    }
    drop_dead_tops(side);
    find_next();
    __builtin_prefetch(slots_.data() + near_.keys.top_slot());  // the next one, most likely
    note_step(actor_of(order));
    callback(object, argument);
  }

  std::size_t size() const { return used_; }
  std::size_t bound() const { return bound_; }

  // The watchdog. Whoever runs something at the present instant counts it here; events are counted
  // by run_next. Throws NoProgress, naming the last two different actors, beyond the limit.
  void note_step(ActorId actor) {
    if (actor != last_actor_) {
      previous_actor_ = last_actor_;
      last_actor_ = actor;
    }
    if (++steps_ > steps_max_) [[unlikely]]
      no_progress();
  }
  void set_steps_at_one_instant_max(std::uint64_t steps) { steps_max_ = steps; }

  // What a test may want to know of the memory that cancelled events leave: keys in both heaps.
  std::size_t keys_held() const { return near_.keys.size() + far_.keys.size(); }

 private:
  // Near means: within 2^20 ns. Interrupts, wires and polls stay below; jiffies and above do not.
  static constexpr Nanos kFar{std::int64_t{1} << 20};
  static constexpr int kActorBits = 23;
  static constexpr int kSerialBits = 40;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  struct Slot {
    std::uint64_t order = 0;  // 0: free
    Callback callback = nullptr;
    void* object = nullptr;
    std::uint64_t argument = 0;  // of a free slot: the next free one
  };

  struct Side {
    EventHeap keys;
    std::size_t dead = 0;  // keys whose event was cancelled
  };

  static EventKey key_of(Instant at, std::uint64_t order) {
    return EventKey{static_cast<std::uint64_t>(nanos_since_start(at))} << 64 | order;
  }
  static Instant instant_of(EventKey key) {
    return Instant{Nanos{static_cast<std::int64_t>(static_cast<std::uint64_t>(key >> 64))}};
  }
  static ActorId actor_of(std::uint64_t order) {
    return ActorId{static_cast<std::uint32_t>(order >> kSerialBits) & ((1u << kActorBits) - 1)};
  }

  // Phase, actor and serial in one number, the serial counting up from 1.
  std::uint64_t next_order(ActorId actor) {
    TAPESTRY_ASSERT(actor.value < orders_.size(), "the actor was added to this queue");
    const std::uint64_t order = ++orders_[actor.value];
    TAPESTRY_ASSERT((order & ((std::uint64_t{1} << kSerialBits) - 1)) != 0,
                    "serials last for 2^40");
    return order;
  }

  std::uint32_t take_slot() {
    TAPESTRY_ASSERT(used_ < bound_, "pending events stay within their bound");
    ++used_;
    if (free_slot_ == kNoSlot) [[unlikely]] {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t index = free_slot_;
    free_slot_ = static_cast<std::uint32_t>(slots_[index].argument);
    return index;
  }

  void release_slot(std::uint32_t index) {
    slots_[index].order = 0;
    slots_[index].argument = free_slot_;
    free_slot_ = index;
    --used_;
  }

  bool is_dead(EventKey key, std::uint32_t slot) const {
    return slots_[slot].order != static_cast<std::uint64_t>(key);
  }

  void drop_dead_tops(Side& side) {
    while (side.dead != 0 && is_dead(side.keys.top_key(), side.keys.top_slot())) {
      side.keys.pop();
      --side.dead;
    }
  }

  void find_next() {
    const EventKey near = near_.keys.top_key();
    const EventKey far = far_.keys.top_key();
    const EventKey first = near < far ? near : far;
    next_instant_ = first == kLatestKey ? kNever : instant_of(first);
  }

  [[noreturn]] void no_progress() const;

  Instant now_ = kStart;
  Instant next_instant_ = kNever;
  Side near_;
  Side far_;
  std::vector<Slot> slots_;
  std::uint32_t free_slot_ = kNoSlot;
  std::size_t used_ = 0;
  std::size_t bound_;
  std::vector<std::uint64_t> orders_;  // by actor: the last order given out
  std::uint64_t steps_ = 0;
  std::uint64_t steps_max_ = kStepsAtOneInstantMax;
  ActorId last_actor_;
  ActorId previous_actor_;
  std::vector<std::string> names_;
};

}  // namespace tapestry::core
