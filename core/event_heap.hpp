// A 4-ary heap of event keys.
//
// Keys of 128 bits and the numbers of the slots that hold the payload lie in two arrays, so that a
// comparison touches keys only. The root is at index 3: then the four children of i begin at 4(i -
// 2), a multiple of four, and share one cache line. Behind the last key stand keys that are later
// than any, so that choosing the earliest of four children needs no bounds check and no branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/assert.hpp"

namespace tapestry::core {

__extension__ using EventKey = unsigned __int128;  // instant in the upper, order in the lower half

inline constexpr EventKey kLatestKey = ~EventKey{0};

class EventHeap {
 public:
  EventHeap() { grow(); }

  bool empty() const { return end_ == kRoot; }
  std::size_t size() const { return end_ - kRoot; }

  // kLatestKey when empty.
  EventKey top_key() const { return keys_[kRoot]; }
  std::uint32_t top_slot() const { return slots_[kRoot]; }

  void push(EventKey key, std::uint32_t slot) {
    if (end_ + kTail >= capacity_) [[unlikely]]
      grow();
    place_up(end_++, key, slot);
  }

  // Takes the earliest out; there must be one. The hole sinks to the bottom first and the last key
  // rises into it, because a last key nearly always belongs near the bottom.
  void pop() {
    const std::size_t last = --end_;
    const EventKey key = keys_[last];
    const std::uint32_t slot = slots_[last];
    keys_[last] = kLatestKey;
    if (last == kRoot) return;
    std::size_t hole = kRoot;
    for (std::size_t child = first_child(hole); child < last; child = first_child(hole)) {
      if (last > kPrefetchFrom) prefetch_children(child);
      const std::size_t left = child + (keys_[child + 1] < keys_[child] ? 1 : 0);
      const std::size_t right = child + 2 + (keys_[child + 3] < keys_[child + 2] ? 1 : 0);
      const std::size_t earliest = keys_[right] < keys_[left] ? right : left;
      keys_[hole] = keys_[earliest];
      slots_[hole] = slots_[earliest];
      hole = earliest;
    }
    place_up(hole, key, slot);
  }

  // Takes out every entry for which `dead(key, slot)` holds. Linear in the size.
  template <class Dead>
  void remove_if(Dead dead) {
    const std::size_t old_end = end_;
    end_ = kRoot;
    for (std::size_t i = kRoot; i < old_end; ++i) {
      const EventKey key = keys_[i];
      const std::uint32_t slot = slots_[i];
      keys_[i] = kLatestKey;
      if (!dead(key, slot)) place_up(end_++, key, slot);
    }
  }

 private:
  static constexpr std::size_t kRoot = 3;
  static constexpr std::size_t kTail = 4;  // keys behind the last that a choice of four may look at

  static constexpr std::size_t kPrefetchFrom = 4096;  // keys: 64 KiB

  struct FreeAligned {
    void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };

  // Asks for all sixteen grandchildren while the children are compared: in a heap that outgrows the
  // first cache this takes the waiting out of every level, in a smaller one it costs 7%. Asking
  // beyond the end is harmless.
  void prefetch_children(std::size_t child) const {
    const std::size_t next = first_child(child);
    for (std::size_t i = 0; i < 16; i += 4)
      __builtin_prefetch(keys_.get() + next + i);
    __builtin_prefetch(slots_.get() + next);
  }

  static std::size_t first_child(std::size_t index) { return 4 * (index - 2); }
  static std::size_t parent(std::size_t index) { return index / 4 + 2; }

  void place_up(std::size_t hole, EventKey key, std::uint32_t slot) {
    while (hole != kRoot) {
      const std::size_t above = parent(hole);
      if (keys_[above] <= key) break;
      keys_[hole] = keys_[above];
      slots_[hole] = slots_[above];
      hole = above;
    }
    keys_[hole] = key;
    slots_[hole] = slot;
  }

  void grow();

  std::unique_ptr<EventKey[], FreeAligned> keys_;
  std::unique_ptr<std::uint32_t[], FreeAligned> slots_;
  std::size_t end_ = kRoot;  // one past the last key
  std::size_t capacity_ = 0;
};

}  // namespace tapestry::core
