// A socket that listens: the connections that are being set up, and those that wait for accept.
#pragma once

#include <cstdint>
#include <deque>

#include "net/address.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::net::tcp {

class Connection;

struct Listener {
  Endpoint local;
  std::size_t backlog = 0;
  std::deque<Connection*> being_set_up;  // SYN_RECV; at most `backlog` + 1
  std::deque<Connection*> ready;         // likewise
  // What its connections begin with; 0: as the sysctls say.
  std::uint32_t receive_buffer = 0;
  std::uint32_t send_buffer = 0;
  bool closed = false;
  int users = 0;  // threads inside accept
  sched::WaitQueue acceptors{"a connection"};

  bool is_full() const { return ready.size() > backlog; }
};

}  // namespace tapestry::net::tcp
