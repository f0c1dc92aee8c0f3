#include "core/event_queue.hpp"

#include <cstring>
#include <utility>

namespace tapestry::core {

void EventHeap::grow() {
  const std::size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
  std::unique_ptr<EventKey[], FreeAligned> keys(
      new (::operator new (capacity * sizeof(EventKey), std::align_val_t{64})) EventKey[capacity]);
  std::unique_ptr<std::uint32_t[], FreeAligned> slots(new (::operator new (
      capacity * sizeof(std::uint32_t), std::align_val_t{64})) std::uint32_t[capacity]{});
  for (std::size_t i = 0; i < capacity; ++i)
    keys[i] = i < end_ && keys_ ? keys_[i] : kLatestKey;
  for (std::size_t i = 0; i < end_ && slots_; ++i)
    slots[i] = slots_[i];
  keys_ = std::move(keys);
  slots_ = std::move(slots);
  capacity_ = capacity;
}

ActorId EventQueue::add_actor(std::string name, Phase phase) {
  const auto number = static_cast<std::uint32_t>(orders_.size());
  TAPESTRY_ASSERT(number < (1u << kActorBits), "a world has fewer than 2^23 actors");
  orders_.push_back(std::uint64_t{static_cast<std::uint8_t>(phase)} << (kActorBits + kSerialBits) |
                    std::uint64_t{number} << kSerialBits);
  names_.push_back(std::move(name));
  return ActorId{number};
}

bool EventQueue::cancel(EventId event) {
  if (!pending(event)) return false;
  release_slot(event.slot_);
  Side& side = event.far_ ? far_ : near_;
  ++side.dead;
  if (side.dead > 64 && 2 * side.dead > side.keys.size()) {
    side.keys.remove_if([this](EventKey key, std::uint32_t slot) { return is_dead(key, slot); });
    side.dead = 0;
  }
  drop_dead_tops(side);
  find_next();
  return true;
}

void EventQueue::no_progress() const {
  const std::string last(actor_name(last_actor_));
  const std::string previous(actor_name(previous_actor_));
  throw NoProgress("no progress: more than " + std::to_string(steps_max_) + " steps at " +
                   std::to_string(nanos_since_start(now_)) + " ns, the last ones of \"" + last +
                   "\" and \"" + previous + "\"");
}

}  // namespace tapestry::core
