// The life of a connection: its states, its lock, its beginning and its end.
#include "net/tcp/connection.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "net/device.hpp"
#include "net/ipv4.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "net/tcp/listener.hpp"
#include "net/tcp/owned.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

std::string_view state_name(State state) {
  static constexpr std::array<std::string_view, 11> kNames{
      "CLOSE",      "LISTEN",     "SYN-SENT", "SYN-RECV", "ESTAB",    "FIN-WAIT-1",
      "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING",  "LAST-ACK", "TIME-WAIT"};
  return kNames[static_cast<std::size_t>(state)];
}

// --- what is below the socket --------------------------------------------------------------------

// Packets also end while a world is taken down, when nobody is to be told any more.
void SendAccount::packet_released(std::uint32_t bytes) {
  bytes_ -= bytes;
  if (connection_ == nullptr) {
    if (bytes_ == 0) delete this;
    return;
  }
  if (!throttled || connection_->stack_.scheduler().hub().cancelling()) return;
  throttled = false;
  connection_->tcp_.throttled_may_send(*connection_);
}

void SendAccount::connection_gone() {
  connection_ = nullptr;
  if (bytes_ == 0) delete this;
}

// --- beginning and end ---------------------------------------------------------------------------

Connection::Connection(Tcp& tcp, Endpoint local, Endpoint remote, const Route& route)
    : tcp_(tcp),
      stack_(tcp.stack()),
      options_(tcp.options()),
      local_(local),
      remote_(remote),
      route_(route),
      account_(new SendAccount(*this)),
      send_buffer_(options_.send_memory[1]),
      algorithm_(make_algorithm(
          options_.congestion_control,
          static_cast<int>(1'000'000'000 / stack_.environment().jiffies.tick().count()))),
      rtt_(options_.least_timeout.count() / 1000),
      timeout_(0),
      reordering_(options_.reordering),
      received_(stack_.allocator()),
      receive_buffer_(options_.receive_memory[1]),
      write_timer_(stack_.environment().jiffies, &Connection::write_timer_expired, this),
      ack_timer_(stack_.environment().jiffies, &Connection::ack_timer_expired, this),
      other_timer_(stack_.environment().jiffies, &Connection::other_timer_expired, this) {
  timeout_ = to_jiffies(rtt_.timeout_us());
  window_.size = options_.initial_window;
  const std::size_t mtu = stack_.ipv4().unfragmented_max(route_);
  advertised_mss_ = static_cast<std::uint32_t>(std::min<std::size_t>(mtu - kHeaderBytes, 65'495));
  mss_ = std::min(kMssDefault, advertised_mss_);
}

Connection::~Connection() {
  backlog_.drop_all(core::DropReason::queue_purge);
  received_.drop_all();
  queue_.clear();
  filler_.reset();
  account_->connection_gone();
}

void Connection::let_go() {
  TAPESTRY_ASSERT(references_ > 0, "a connection is let go by who holds it");
  if (--references_ == 0) delete this;
}

void Connection::set_state(State state) {
  cpu().settle();  // processes that wait look at it
  const bool counted = state_ == State::established || state_ == State::close_wait;
  const bool counts = state == State::established || state == State::close_wait;
  auto& established = tcp_.figures().curr_estab;
  if (counts && !counted) ++established;
  if (counted && !counts) --established;
  if (state == State::time_wait) tcp_.count_time_waits(1);
  if (state_ == State::time_wait) tcp_.count_time_waits(-1);
  state_ = state;
}

// tcp_done: nothing of it is left for the network.
void Connection::finish() {
  if (state_ == State::closed && !in_table) return;
  const State before = state_;
  if (before == State::syn_sent || before == State::syn_received) ++tcp_.figures().attempt_fails;
  set_state(State::closed);
  stop_waiting();
  ack_scheduled_ = ack_timed_ = false;
  write_timer_.cancel();
  ack_timer_.cancel();
  other_timer_.cancel();
  queue_.clear();
  filler_.reset();
  send_shut_ = receive_shut_ = true;
  if (listener_ != nullptr) {
    std::erase(listener_->being_set_up, this);
    if (before == State::syn_received || orphaned_) listener_ = nullptr;
  }
  wake_readers();
  wake_writers();
  tcp_.unlink(*this);
}

// tcp_reset and its like: the process hears of it.
void Connection::fail(SocketStatus error) {
  cpu().settle();
  error_ = error;
  received_.drop_all();
  finish();
}

void Connection::listener_gone() { listener_ = nullptr; }

void Connection::enter_time_wait() {
  const bool room = !tcp_.too_many_time_waits();
  ++(room ? tcp_.figures().time_wait : tcp_.figures().time_wait_overflow);
  if (!room) {
    finish();
    return;
  }
  set_state(State::time_wait);
  stop_waiting();
  queue_.clear();
  wake_readers();
  wait_other(options_.fin_timeout);
}

// --- the handshake's outcome ---------------------------------------------------------------------

void Connection::take_peer_options(const Header& header) {
  peer_mss_ = header.mss != 0 ? std::max<std::uint32_t>(header.mss, kMssLeast) : kMssDefault;
  scaling_ = header.has_window_scale && options_.window_scaling;
  snd_scale_ = scaling_ ? std::min(header.window_scale, kWindowScaleMax) : 0;
  if (!scaling_) rcv_scale_ = 0;
  sacks_ = header.sack_permitted && options_.selective_acks;
  timestamps_ = header.has_timestamps && options_.timestamps;
  if (timestamps_) {
    ts_recent_ = header.timestamp;
    has_ts_recent_ = true;
    ts_recent_us_ = now_us();
  }
  set_sizes();
}

void Connection::set_sizes() {
  const std::uint32_t options = timestamps_ ? kTimestampBytes : 0;
  mss_ = std::min(peer_mss_, advertised_mss_) - options;
  rcv_mss_ = std::max(std::min({advertised_mss_, mss_, receive_window() / 2, kMssDefault}),
                      std::uint32_t{88});
}

// tcp_select_initial_window: half of the buffer is for the packets' own memory.
void Connection::choose_initial_window() {
  std::uint32_t space = full_space();
  if (space > advertised_mss_) space = space / advertised_mss_ * advertised_mss_;
  rcv_wnd_ = std::min<std::uint32_t>(space, 65535);
  rcv_scale_ = 0;
  if (options_.window_scaling) {
    std::uint32_t most = std::max(space, options_.receive_memory[2]);
    if (receive_buffer_fixed_) most = space;
    while (most > 65535 && rcv_scale_ < kWindowScaleMax) {
      most >>= 1;
      ++rcv_scale_;
    }
  }
  window_clamp_ = std::uint32_t{65535} << rcv_scale_;
  rcv_threshold_ = rcv_wnd_;
}

// tcp_init_transfer
void Connection::become_established() {
  set_state(State::established);
  window_clamp_ = std::min(window_clamp_, std::max(full_space(), advertised_mss_));
  rcv_threshold_ = std::min(rcv_threshold_, window_clamp_);
  space_ = std::min(rcv_wnd_, options_.initial_window * advertised_mss_);
  space_start_ = copied_;
  space_start_us_ = window_stamp_us_ = now_us();
  last_sent_us_ = window_stamp_us_;
  expand_send_buffer();
  update_pacing_rate();
}

// --- the lock ------------------------------------------------------------------------------------

// release_sock: what came meanwhile is done first. Settled in every turn, so that nothing comes
// between the last look and letting go.
void Connection::let_go_of_lock() {
  for (;;) {
    cpu().settle();
    if (core::PacketPtr packet = backlog_.pop()) {
      backlog_bytes_ -= socket_memory_bytes(packet->length());
      input(std::move(packet));
      continue;
    }
    if (deferred_ == 0) break;
    run_deferred();
  }
  lock_.release(stack_);
}

void Connection::run_deferred() {
  const std::uint8_t what = std::exchange(deferred_, std::uint8_t{0});
  if ((what & kDeferWriteTimer) != 0) write_timer();
  if ((what & kDeferAckTimer) != 0) ack_timer();
  if ((what & kDeferOtherTimer) != 0) other_timer();
  if ((what & kDeferThrottled) != 0) {
    account_->throttled = false;
    if (state_ == State::closed || state_ == State::syn_sent || state_ == State::syn_received)
      return;
    if (queue_.lost_out > queue_.retransmitted_out) retransmit_lost();
    (void)write(current_mss(), nagle_, 0);
  }
}

Connection::Owned::Owned(Connection& of) : connection(of), hold_(of) {
  connection.lock_.take(connection.stack_);
}

Connection::Owned::~Owned() noexcept(false) {
  // A world that ends unwinds its threads: then there is nothing to see to.
  if (connection.stack_.scheduler().hub().cancelling())
    connection.lock_.release(connection.stack_);
  else
    connection.let_go_of_lock();
}

// tcp_v4_rcv, from the socket on.
void Connection::arrived(core::PacketPtr packet) {
  hold();
  cpu().charge(sched::Work::lock);
  cpu().settle();
  if (lock_.try_take(stack_)) {
    input(std::move(packet));
    let_go_of_lock();
  } else {
    const std::uint32_t bytes = socket_memory_bytes(packet->length());
    if (std::uint64_t{backlog_bytes_} + bytes >
        std::uint64_t{receive_buffer_} + send_buffer_ + 65'536) {
      ++tcp_.figures().backlog_drops;
      stack_.allocator().drop(std::move(packet), core::DropReason::socket_backlog);
    } else {
      backlog_bytes_ += bytes;
      (void)backlog_.push(std::move(packet));
    }
  }
  let_go();
}

void Connection::bytes_came_back() {
  hold();
  cpu().settle();
  deferred_ |= kDeferThrottled;
  if (lock_.try_take(stack_)) let_go_of_lock();
  let_go();
}

// Somebody else's guess of the number is no message about our SYN. While a process has the socket
// the message is lost, and the next SYN brings another.
void Connection::undeliverable(Sequence sequence, SocketStatus why) {
  hold();
  cpu().settle();
  if (lock_.try_take(stack_)) {
    if (state_ == State::syn_sent && sequence == snd_una_) fail(why);
    let_go_of_lock();
  }
  let_go();
}

void Connection::wake_readers() {
  if (stack_.scheduler().hub().cancelling()) return;
  cpu().settle();
  if (readers_.anyone_waits()) readers_.wake_all(cpu());
}

void Connection::wake_writers() {
  if (stack_.scheduler().hub().cancelling()) return;
  cpu().settle();
  if (writers_.anyone_waits()) writers_.wake_all(cpu());
}

std::int64_t Connection::now_us() {
  cpu().settle();
  return core::nanos_since_start(stack_.timeline().now()) / 1000;
}

// From 1000, since an echo of 0 means that there is none.
std::uint32_t Connection::timestamp() { return static_cast<std::uint32_t>(now_us() / 1000 + 1000); }

}  // namespace tapestry::net::tcp
