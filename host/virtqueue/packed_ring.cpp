#include "host/virtqueue/packed_ring.hpp"

namespace tapestry::host::virtqueue {

bool wants_to_be_told(const EventSuppression& wish, bool event_index, PackedPosition now,
                      std::size_t entries, std::size_t size) {
  if (entries == 0 || wish.flags == kEventDisable) return false;
  if (!event_index || wish.flags != kEventDescriptor) return true;
  const PackedPosition event = PackedPosition::of(wish.offset_wrap);
  if (event.index >= size) return true;  // nonsense: told too often rather than never
  const std::size_t laps = 2 * size;
  const std::size_t at = event.index + (event.lap ? 0 : size);
  const std::size_t end = now.index + (now.lap ? 0 : size);
  const std::size_t behind = (end + laps - at - 1) % laps;
  return behind < entries;
}

}  // namespace tapestry::host::virtqueue
