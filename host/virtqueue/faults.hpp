// What one side of a queue may find wrong with what the other side wrote. Whoever finds a fault
// counts it and calls the queue broken: it is not used any more until it is set up anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tapestry::host::virtqueue {

enum class Fault : std::uint8_t {
  // found by a device
  index_jump,       // more entries were made available than the queue has
  bad_head,         // an available entry names no descriptor
  head_in_use,      // ... or one that the device still has
  bad_next,         // a chain goes on at no descriptor
  endless_chain,    // a chain is longer than the queue: it loops
  empty_piece,      // a descriptor of length 0
  bad_address,      // no mapped buffer is there
  beyond_buffer,    // a piece begins in a buffer and ends outside of it
  scattered,        // pieces of one chain are not one buffer in its order
  mixed_direction,  // readable and writable pieces of one buffer
  partial_buffer,   // a readable chain that leaves bytes of its buffer out
  bad_table,        // an indirect table: its length, a table within it, or a chain behind it
  // found by a driver
  used_jump,      // more entries were used than were available
  bad_used_id,    // a used entry names what was not available
  used_too_long,  // more bytes were written than there was room for
  count_
};

class Faults {
 public:
  void count(Fault fault) { ++counts_[static_cast<std::size_t>(fault)]; }
  std::uint64_t of(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }
  std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts_)
      sum += count;
    return sum;
  }

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(Fault::count_)> counts_{};
};

}  // namespace tapestry::host::virtqueue
