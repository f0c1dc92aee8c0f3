// Where a packet has come to on its way. A copy across a descriptor or a wire keeps the id of what
// it copies (host/frame_copy), so that one id is one life across machines; where a packet becomes
// another one, the milestone says which.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapestry::core {

enum class Milestone : std::uint8_t {
  socket_sent,      // a socket has built it
  qdisc_enqueued,   // it waits in a queueing discipline
  driver_transmit,  // a driver has taken it or will at once
  host_copied,      // a copy of it is the host's
  wire_out,         // its last bit leaves; argument: the instant, nanoseconds
  ring_filled,      // a card has written it to memory
  ring_queued,      // it waits at a descriptor or socket of a host for a reader
  napi_received,    // a driver hands it up in a poll
  backlog_queued,   // a driver leaves it to the backlog
  stack_received,   // the protocol stack has it
  bridge_forward,   // a bridge has chosen its ports
  merged,           // it lives on in another; argument: that one's id
  segmented,        // a segment was cut from another; argument: that one's id
  cloned,           // the same again; argument: the first one's id
  socket_queued,    // it waits in a socket for its reader
  delivered,        // the reader has it
  consumed,         // its content has been used, or copied away
  dropped,          // argument: the reason
  count_
};

inline constexpr std::size_t kMilestones = static_cast<std::size_t>(Milestone::count_);
std::string_view name_of(Milestone milestone);

}  // namespace tapestry::core
