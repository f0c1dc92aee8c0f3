// When to tell the other side, in 16-bit arithmetic that wraps (VIRTIO 1.2, 2.7.7.2 and 2.7.10).
#pragma once

#include <cstdint>

namespace tapestry::host::virtqueue {

// Has the index passed `event` while it went from `old_index` to `new_index`? True if the entry
// number `event` is one of those that were added: `event` lies in [old_index, new_index). Looking
// for the exact index instead loses the notification when several entries are added at once.
constexpr bool passes_event(std::uint16_t event, std::uint16_t new_index, std::uint16_t old_index) {
  const auto behind_event = static_cast<std::uint16_t>(new_index - event - 1);
  const auto added = static_cast<std::uint16_t>(new_index - old_index);
  return behind_event < added;
}

}  // namespace tapestry::host::virtqueue
