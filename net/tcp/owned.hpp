// A process inside a connection: has its lock as long as the scope lasts.
#pragma once

#include "net/tcp/connection.hpp"

namespace tapestry::net::tcp {

class Connection::Owned {
 public:
  explicit Owned(Connection& of);
  ~Owned() noexcept(false);  // sees to what came meanwhile
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  // Lets go, waits until `done()` or the deadline, and has it again (sk_wait_event).
  template <typename Done>
  bool wait(sched::WaitQueue& queue, core::Instant deadline, Done done) {
    connection.let_go_of_lock();
    const bool in_time = queue.wait_until(connection.stack_.scheduler(), deadline, done);
    connection.lock_.take(connection.stack_);
    return in_time;
  }

  Connection& connection;

 private:
  // Kept even if the wait for the lock ends by unwinding.
  struct Hold {
    explicit Hold(Connection& of) : held(of) { held.hold(); }
    ~Hold() { held.let_go(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Connection& held;
  };
  Hold hold_;
};

}  // namespace tapestry::net::tcp
