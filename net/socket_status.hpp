// What socket calls come back with.
#pragma once

#include <cstdint>

namespace tapestry::net {

enum class SocketStatus : std::uint8_t {
  ok,
  would_block,  // EAGAIN
  unreachable,  // no route; or, of bind, not an address of this machine
  too_long,     // EMSGSIZE: beyond 65,507 bytes
  no_buffers,   // ENOBUFS
  in_use,       // EADDRINUSE
  timed_out
};

}  // namespace tapestry::net
