// What a device checks of a chain before it believes any of it, whatever the layout of the ring.
#pragma once

#include <optional>

#include "host/virtqueue/guest_memory.hpp"
#include "host/virtqueue/queue.hpp"

namespace tapestry::host::virtqueue {

// Adds the next piece of a chain; the first one says which buffer it is.
std::optional<Fault> add_piece(const GuestMemory& memory, DeviceSide::Chain& chain,
                               const Descriptor& piece, bool first);

// Behind the last piece: is it a whole buffer that nobody else is working on?
std::optional<Fault> check_whole(GuestMemory& memory, const DeviceSide::Chain& chain);

}  // namespace tapestry::host::virtqueue
