// Timers (net/ipv4/tcp_timer.c): one that waits for acknowledgements, in four roles; one that
// delays our own; one for the states that end by themselves. A timer that is put off is left to
// expire and armed anew then, so that putting it off costs nothing.
#include <algorithm>
#include <utility>

#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/listener.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

namespace {

constexpr std::int64_t kTimeoutMaxUs = 120'000'000;  // TCP_RTO_MAX
constexpr int kBackoffMax = 30;

}  // namespace

std::uint64_t Connection::jiffies() {
  cpu().settle();
  return stack_.environment().jiffies.jiffies();
}

std::uint64_t Connection::to_jiffies(std::int64_t us) const {
  return stack_.environment().jiffies.to_jiffies(core::Nanos{us * 1000});
}

std::uint64_t Connection::timeout_max() const { return to_jiffies(kTimeoutMaxUs); }

void Connection::arm(irq::JiffyTimer& timer, std::uint64_t& armed, std::uint64_t due) {
  if (timer.pending() && armed <= due) return;
  timer.modify(due);
  armed = due;
}

// tcp_set_rto
void Connection::set_timeout() {
  timeout_ = std::min(to_jiffies(rtt_.timeout_us()), timeout_max());
}

void Connection::wait_for(Wait what, std::uint64_t span) {
  waiting_ = what;
  write_due_ = jiffies() + std::min(std::max<std::uint64_t>(span, 1), timeout_max());
  arm(write_timer_, write_armed_, write_due_);
}

void Connection::stop_waiting(Wait what) {
  if (waiting_ == what) waiting_ = Wait::none;
}

void Connection::wait_other(core::Nanos span) {
  other_due_ = jiffies() + stack_.environment().jiffies.to_jiffies(span);
  arm(other_timer_, other_armed_, other_due_);
}

// What is left of the timeout, counted from when the first segment was sent; at least one tick.
std::uint64_t Connection::left_of_timeout() {
  const SendSegment* first = queue_.first_sent();
  if (first == nullptr) return timeout_;
  const std::uint64_t since = to_jiffies(now_us() - first->sent_us);
  return timeout_ > since ? timeout_ - since : 1;
}

// tcp_rearm_rto
void Connection::rearm_retransmit() {
  if (queue_.packets_out == 0) {
    stop_waiting();
    return;
  }
  const bool other = waiting_ == Wait::loss_probe || waiting_ == Wait::reordering;
  wait_for(Wait::retransmit, other ? left_of_timeout() : timeout_);
}

void Connection::check_probe_timer() {
  if (queue_.packets_out != 0 || waiting_ != Wait::none) {
    if (waiting_ != Wait::zero_window) return;
  }
  const int shift = std::min(backoff_, kBackoffMax);
  const std::uint64_t base = std::max(timeout_, to_jiffies(options_.least_timeout.count() / 1000));
  wait_for(Wait::zero_window, std::min(base << shift, timeout_max()));
}

// --- expiry --------------------------------------------------------------------------------------

void Connection::write_timer_expired(void* connection) {
  static_cast<Connection*>(connection)->timer_is_due(kDeferWriteTimer);
}
void Connection::ack_timer_expired(void* connection) {
  static_cast<Connection*>(connection)->timer_is_due(kDeferAckTimer);
}
void Connection::other_timer_expired(void* connection) {
  static_cast<Connection*>(connection)->timer_is_due(kDeferOtherTimer);
}

void Connection::timer_is_due(std::uint8_t which) {
  hold();
  cpu().settle();
  deferred_ |= which;
  if (lock_.try_take(stack_)) let_go_of_lock();
  let_go();
}

void Connection::write_timer() {
  if (state_ == State::closed || waiting_ == Wait::none) return;
  if (write_due_ > jiffies()) {
    arm(write_timer_, write_armed_, write_due_);
    return;
  }
  cpu().charge(sched::Work::tcp_timer);
  switch (std::exchange(waiting_, Wait::none)) {
    case Wait::reordering:
      reordering_timeout();
      break;
    case Wait::loss_probe:
      send_loss_probe();
      break;
    case Wait::retransmit:
      retransmit_timer();
      break;
    case Wait::zero_window:
      probe_timer();
      break;
    case Wait::none:
      break;
  }
}

// tcp_write_timeout: true if the connection has ended.
bool Connection::gave_up() {
  int most = options_.retries;
  if (state_ == State::syn_sent) most = options_.syn_retries;
  if (state_ == State::syn_received) most = options_.syn_ack_retries;
  if (orphaned_ && state_ != State::syn_received) most = options_.orphan_retries;
  if (retransmits_ < most) return false;
  ++tcp_.figures().abort_on_timeout;
  const bool quiet = state_ == State::syn_received && listener_ != nullptr;
  if (quiet)
    finish();
  else
    fail(SocketStatus::timed_out);
  return true;
}

void Connection::retransmit_timer() {
  SendSegment* first = queue_.first_sent();
  if (first == nullptr) return;
  if (gave_up()) return;
  ++tcp_.figures().timeouts;
  ++info_.timeouts;
  if (first->syn) {
    ++retransmits_;
    ++tcp_.figures().retrans_segs;
    ++info_.total_retrans;
    send_syn(state_ == State::syn_received);
    window_.size = std::min<std::uint32_t>(window_.size, options_.initial_window);
  } else {
    enter_loss();
    ++retransmits_;
    const std::uint32_t stamp = timestamp();
    if (!retransmit(*first, 1)) {  // no memory here: soon again
      wait_for(Wait::retransmit, 1);
      return;
    }
    note_repair(first->segments, stamp);
  }
  ++backoff_;
  timeout_ = std::min(timeout_ * 2, timeout_max());
  wait_for(Wait::retransmit, timeout_);
}

// tcp_probe_timer, tcp_send_probe0
void Connection::probe_timer() {
  if (queue_.packets_out != 0 || queue_.next_unsent() == nullptr) {
    probes_out_ = 0;
    return;
  }
  if (probes_out_ >= (orphaned_ ? options_.orphan_retries : options_.retries)) {
    ++tcp_.figures().abort_on_timeout;
    fail(SocketStatus::timed_out);
    return;
  }
  send_probe();
  if (queue_.packets_out != 0 || queue_.next_unsent() == nullptr) {
    probes_out_ = backoff_ = 0;
    return;
  }
  ++probes_out_;
  backoff_ = std::min(backoff_ + 1, kBackoffMax);
  waiting_ = Wait::none;
  check_probe_timer();
}

// tcp_delack_timer_handler
void Connection::ack_timer() {
  if (state_ == State::closed || !ack_timed_) return;
  if (ack_due_ > jiffies()) {
    arm(ack_timer_, ack_armed_, ack_due_);
    return;
  }
  ack_timed_ = false;
  if (!ack_scheduled_) return;
  if (!ping_pong_) {
    ato_ = std::min(ato_ * 2, timeout_);
  } else {
    // The answer that would have carried it did not come.
    ping_pong_ = false;
    ato_ = std::max<std::uint64_t>(to_jiffies(options_.delayed_ack.count() / 1000), 1);
  }
  ++tcp_.figures().delayed_acks;
  cpu().charge(sched::Work::tcp_timer);
  send_ack();
}

// FIN-WAIT-2 of a process that is gone, and TIME-WAIT.
void Connection::other_timer() {
  if (state_ == State::closed) return;
  if (other_due_ > jiffies()) {
    arm(other_timer_, other_armed_, other_due_);
    return;
  }
  if (state_ == State::time_wait || (state_ == State::fin_wait_2 && orphaned_)) finish();
}

}  // namespace tapestry::net::tcp
