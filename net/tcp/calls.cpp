// What a process calls (net/ipv4/tcp.c). Each call has the connection for itself, but for where it
// sleeps.
#include <algorithm>
#include <utility>

#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/listener.hpp"
#include "net/tcp/owned.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

namespace {

// A small write fits a small block; a stream takes large ones, of which a packet holds more.
constexpr std::size_t kSmallBlock = core::kPayloadClassBytes[0];
constexpr std::size_t kLargeBlock = core::kPayloadClassBytes[1];

}  // namespace

// --- connect -------------------------------------------------------------------------------------

SocketStatus Connection::connect(core::Instant deadline) {
  Owned owned(*this);
  ++tcp_.figures().active_opens;
  iss_ = tcp_.initial_sequence();
  choose_initial_window();
  set_state(State::syn_sent);
  cpu().charge(sched::Work::tcp_send);
  send_syn(false);
  const auto decided = [this] {
    return state_ != State::syn_sent && state_ != State::syn_received;
  };
  if (!owned.wait(writers_, deadline, decided) && !decided()) return SocketStatus::timed_out;
  if (error_ != SocketStatus::ok) return error_;
  return state_ == State::closed ? SocketStatus::reset : SocketStatus::ok;
}

// A SYN for a listener: the connection is set up without a process.
void Connection::open_passively(const Header& syn, Listener& listener) {
  Owned owned(*this);
  listener_ = &listener;
  accepted_ = false;
  if (listener.receive_buffer != 0) set_receive_buffer(listener.receive_buffer);
  if (listener.send_buffer != 0) set_send_buffer(listener.send_buffer);
  iss_ = tcp_.initial_sequence();
  irs_ = syn.sequence;
  rcv_nxt_ = rcv_wup_ = copied_ = last_ack_sent_ = irs_ + 1;
  choose_initial_window();
  take_peer_options(syn);
  snd_wl1_ = syn.sequence;
  snd_wnd_ = window_max_ = syn.window;
  set_state(State::syn_received);
  send_syn(true);
}

// --- send ----------------------------------------------------------------------------------------

SocketStatus Connection::send_status() const {
  if (error_ != SocketStatus::ok) return error_;
  if (send_shut_) return SocketStatus::broken_pipe;
  if (state_ == State::established || state_ == State::close_wait) return SocketStatus::ok;
  return SocketStatus::not_connected;
}

// tcp_sendmsg: bytes go behind those that wait, up to what makes a good packet.
SendResult Connection::send(std::span<const std::uint8_t> bytes, std::uint32_t flow,
                            bool nonblocking, core::Instant deadline) {
  SendResult result;
  cpu().charge(sched::Work::tcp_send);
  Owned owned(*this);
  restart_window_after_idle();
  while (!bytes.empty()) {
    result.status = send_status();
    if (result.status != SocketStatus::ok) break;
    const std::uint32_t mss = current_mss();
    const std::uint32_t goal = size_goal(mss);
    const std::size_t before = bytes.size();
    const bool filled = fill(bytes, flow, goal);
    result.length += before - bytes.size();
    if (!filled) {  // no memory: what there is goes, then the process sleeps
      if (result.length != 0) push(true);
      if (nonblocking) {
        result.status = SocketStatus::would_block;
        break;
      }
      wants_space_ = true;
      const bool in_time = owned.wait(writers_, deadline, [this] {
        return has_send_memory() || error_ != SocketStatus::ok || state_ == State::closed;
      });
      if (!in_time) {
        result.status = SocketStatus::would_block;
        break;
      }
      continue;
    }
    if (bytes.empty()) break;
    SendSegment* last = queue_.last_unsent();
    if (last == nullptr || last->bytes < goal) continue;
    if (written_ - pushed_ > window_max_ / 2) {  // forced_push
      last->push = true;
      pushed_ = written_;
      push_pending(mss, kPush);
    } else if (last == queue_.next_unsent()) {
      if (write(mss, kPush, 1)) check_probe_timer();
    }
  }
  if (result.length != 0 && state_ != State::closed) push(false);
  if (result.length != 0 && result.status != SocketStatus::ok &&
      result.status != SocketStatus::would_block)
    result.status = SocketStatus::ok;
  if (result.length != 0 && result.status == SocketStatus::would_block)
    result.status = SocketStatus::ok;
  return result;
}

// Copies as much as one segment takes. False: nothing, for want of memory.
bool Connection::fill(std::span<const std::uint8_t>& bytes, std::uint32_t flow,
                      std::uint32_t goal) {
  SendSegment* last = queue_.last_unsent();
  const bool joins = last != nullptr && last->bytes < goal && !last->fin &&
                     (last->has_range_left() || filler_.left() != 0);
  if (!joins && !has_send_memory()) return false;
  if (filler_.left() == 0) {
    const bool small = bytes.size() <= kSmallBlock && queue_.empty();
    core::PayloadRef block = stack_.packets().allocate_payload(small ? kSmallBlock : kLargeBlock);
    if (!block) return false;
    filler_.start(std::move(block));
    if (joins && !last->has_range_left()) last = nullptr;
  }
  cpu().settle();
  if (!joins || last == nullptr) {
    last = &queue_.append(written_);
    last->born = stack_.timeline().now();
    last->flow = flow;
  }
  const std::size_t take =
      std::min({bytes.size(), std::size_t{goal - last->bytes}, filler_.left()});
  core::PayloadRef piece = filler_.fill(bytes.first(take));
  if (!last->has_range_left() && !last->would_join(piece)) {
    last = &queue_.append(written_);
    last->born = stack_.timeline().now();
    last->flow = flow;
  }
  last->push = false;  // the end is behind it now
  last->append(std::move(piece));
  last->count(mss_);
  queue_.note_written(static_cast<std::uint32_t>(take));
  written_ += static_cast<std::uint32_t>(take);
  last->payload_owner = cpu().cache_owner();
  stack_.environment().user_memory.charge_copy(take, last->payload_owner);
  cpu().charge(sched::Work::tcp_send, 0, static_cast<std::int64_t>(take));
  bytes = bytes.subspan(take);
  return true;
}

// --- receive -------------------------------------------------------------------------------------

ReceiveResult Connection::receive(std::span<std::uint8_t> buffer, core::Instant deadline) {
  ReceiveResult result;
  cpu().charge(sched::Work::tcp_receive);
  Owned owned(*this);
  for (;;) {
    while (result.length < buffer.size() && copy_out(buffer.subspan(result.length), result)) {
    }
    if (result.length != 0 || buffer.empty()) break;
    if (error_ != SocketStatus::ok) {
      result.status = std::exchange(error_, SocketStatus::ok);
      return result;
    }
    if (receive_shut_ || state_ == State::closed) return result;
    after_read(0);
    cpu().settle();
    const bool waits = deadline > stack_.timeline().now();
    if (!waits || !owned.wait(readers_, deadline, [this] { return readable(); })) {
      if (readable()) continue;
      result.status = waits ? SocketStatus::timed_out : SocketStatus::would_block;
      return result;
    }
  }
  adjust_receive_space();
  after_read(static_cast<std::uint32_t>(result.length));
  return result;
}

// From the first packet, as much as there is or fits. False: no packet.
bool Connection::copy_out(std::span<std::uint8_t> buffer, ReceiveResult& result) {
  core::Packet* packet = received_.front();
  if (packet == nullptr) return false;
  if (result.length == 0) {
    result.born = packet->born;
    result.stamp = packet->stamp;
  }
  const std::size_t bytes = std::min(buffer.size(), packet->length());
  packet->copy_out(0, buffer.first(bytes));
  stack_.environment().user_memory.charge_copy(bytes, packet->payload_owner);
  copied_ += static_cast<std::uint32_t>(bytes);
  result.length += bytes;
  if (bytes < packet->length()) {
    packet->pull(bytes);
    return true;
  }
  cpu().charge(sched::Work::packet_free);
  core::deliver(received_.pop());
  return true;
}

bool Connection::readable() const {
  return !received_.empty() || receive_shut_ || error_ != SocketStatus::ok ||
         state_ == State::closed;
}

bool Connection::writable() const {
  if (state_ == State::syn_sent || state_ == State::syn_received) return false;
  return error_ != SocketStatus::ok || send_shut_ || state_ == State::closed ||
         (has_send_memory() && send_buffer_ - queue_.memory() >= queue_.memory() / 2);
}

bool Connection::wait_readable(core::Instant deadline) {
  cpu().settle();
  if (readable()) return true;
  if (deadline <= stack_.timeline().now()) return false;
  hold();
  const bool is = readers_.wait_until(stack_.scheduler(), deadline, [this] { return readable(); });
  let_go();
  return is;
}

bool Connection::wait_writable(core::Instant deadline) {
  cpu().settle();
  if (writable()) return true;
  if (deadline <= stack_.timeline().now()) return false;
  wants_space_ = true;
  hold();
  const bool is = writers_.wait_until(stack_.scheduler(), deadline, [this] { return writable(); });
  let_go();
  return is;
}

// --- the end -------------------------------------------------------------------------------------

void Connection::shutdown_send() {
  Owned owned(*this);
  if (send_shut_ || (state_ != State::established && state_ != State::close_wait)) return;
  send_shut_ = true;
  set_state(state_ == State::established ? State::fin_wait_1 : State::last_ack);
  queue_fin();
}

// tcp_close
void Connection::close() {
  Owned owned(*this);
  orphaned_ = true;
  const bool unread = !received_.empty();
  received_.drop_all();
  switch (state_) {
    case State::closed:
    case State::time_wait:
      break;
    case State::syn_sent:
    case State::syn_received:
      if (state_ == State::syn_received) send_reset();
      finish();
      break;
    default:
      if (unread) {  // RFC 2525: the peer must know that its data went nowhere
        ++tcp_.figures().abort_on_close;
        send_reset();
        finish();
      } else if (!send_shut_) {
        send_shut_ = true;
        set_state(state_ == State::established ? State::fin_wait_1 : State::last_ack);
        queue_fin();
      } else if (state_ == State::fin_wait_2) {
        wait_other(options_.fin_timeout);
      }
  }
}

void Connection::reset_unaccepted() {
  Owned owned(*this);
  orphaned_ = true;
  if (state_ != State::closed) send_reset();
  received_.drop_all();
  finish();
}

// --- settings ------------------------------------------------------------------------------------

void Connection::set_no_delay(bool on) {
  Owned owned(*this);
  nagle_ = on ? nagle_ | kNoDelay : nagle_ & ~kNoDelay;
  if (on) push_pending(current_mss(), nagle_ | kPush);
}

void Connection::set_cork(bool on) {
  Owned owned(*this);
  nagle_ = on ? nagle_ | kCork : nagle_ & ~kCork;
  if (!on) push_pending(current_mss(), (nagle_ & kNoDelay) != 0 ? nagle_ | kPush : nagle_);
}

void Connection::set_quick_ack(bool on) {
  Owned owned(*this);
  ping_pong_ = !on;
  if (on && ack_scheduled_ && state_ != State::closed) {
    ack_pushed_ = true;
    send_ack();
  }
}

void Connection::set_receive_buffer(std::uint32_t bytes) {
  receive_buffer_ = std::max<std::uint32_t>(bytes, 2304);
  receive_buffer_fixed_ = true;
}

void Connection::set_send_buffer(std::uint32_t bytes) {
  send_buffer_ = std::max<std::uint32_t>(bytes, 4608);
  send_buffer_fixed_ = true;
}

void Connection::set_congestion_control(CongestionControl which) {
  algorithm_ = make_algorithm(
      which, static_cast<int>(1'000'000'000 / stack_.environment().jiffies.tick().count()));
}

Info Connection::info() const {
  Info info = info_;
  const std::int64_t tick = stack_.environment().jiffies.tick().count() / 1000;
  info.state = state_;
  info.snd_mss = mss_;
  info.rcv_mss = rcv_mss_;
  info.advmss = advertised_mss_;
  info.snd_cwnd = window_.size;
  info.snd_ssthresh = window_.threshold;
  info.unacked = queue_.packets_out;
  info.sacked = queue_.sacked_out;
  info.lost = queue_.lost_out;
  info.retrans = queue_.retransmitted_out;
  info.rtt_us = rtt_.smoothed_us();
  info.rttvar_us = rtt_.variance_us();
  info.min_rtt_us = rtt_.least_us() == INT64_MAX ? 0 : rtt_.least_us();
  info.rto_us = static_cast<std::int64_t>(timeout_) * tick;
  info.ato_us = static_cast<std::int64_t>(ato_) * tick;
  info.snd_wscale = snd_scale_;
  info.rcv_wscale = rcv_scale_;
  info.sack = sacks_;
  info.timestamps = timestamps_;
  info.rcv_space = space_;
  info.rcv_ssthresh = rcv_threshold_;
  info.snd_wnd = snd_wnd_;
  info.rcv_wnd = rcv_wnd_;
  info.receive_buffer = receive_buffer_;
  info.send_buffer = send_buffer_;
  info.pacing_rate = pacing_rate_;
  info.backoff = static_cast<std::uint32_t>(backoff_);
  return info;
}

}  // namespace tapestry::net::tcp
