// What socket calls come back with.
#pragma once

#include <cstdint>

namespace tapestry::net {

enum class SocketStatus : std::uint8_t {
  ok,
  would_block,  // EAGAIN
  unreachable,  // no route, here or further on; or, of bind, not an address of this machine
  too_long,     // EMSGSIZE: beyond 65,507 bytes
  no_buffers,   // ENOBUFS
  in_use,       // EADDRINUSE
  timed_out,
  refused,        // ECONNREFUSED: nobody listens there
  reset,          // ECONNRESET: the peer has given up
  broken_pipe,    // EPIPE: this side, or the whole connection, is shut
  not_connected,  // ENOTCONN
};

}  // namespace tapestry::net
