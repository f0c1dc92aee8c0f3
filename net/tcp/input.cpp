// Segments that come in: what each state makes of them (tcp_rcv_state_process and what it calls).
#include <algorithm>
#include <utility>

#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/listener.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

using core::DropReason;

namespace {

constexpr std::int64_t kTimestampLifeUs = 24LL * 24 * 3600 * 1'000'000;  // TCP_PAWS_24DAYS

}  // namespace

void Connection::input(core::PacketPtr packet) {
  Input in;
  const std::size_t bytes = header_bytes(packet->data());
  (void)parse({packet->data(), bytes}, in.header);
  packet->pull(bytes);
  in.length = static_cast<std::uint32_t>(packet->length());
  in.segments = std::max<std::uint32_t>(packet->gso_segments, 1);
  in.end = in.header.sequence + in.length + (in.header.syn ? 1u : 0u) + (in.header.fin ? 1u : 0u);
  in.packet = std::move(packet);
  info_.segs_in += in.segments;
  if (in.length != 0) info_.data_segs_in += in.segments;
  switch (state_) {
    case State::closed:
    case State::listen:
      drop(in, DropReason::tcp_close);
      break;
    case State::syn_sent:
      input_syn_sent(in);
      break;
    case State::time_wait:
      input_time_wait(in);
      break;
    default:
      input_synchronized(in);
  }
  if (in.packet) done(in);
}

// The segment itself is used up; what it was accountable for has been taken out before.
void Connection::done(Input& in) {
  if (in.packet->weight() != 0)
    stack_.allocator().drop(std::move(in.packet), DropReason::tcp_old_data);
  else
    stack_.allocator().free(std::move(in.packet));
}

void Connection::drop(Input& in, DropReason reason) {
  stack_.allocator().drop(std::move(in.packet), reason);
}

// --- SYN-SENT ------------------------------------------------------------------------------------

void Connection::input_syn_sent(Input& in) {
  const Header& header = in.header;
  if (header.ack && !(snd_una_ < header.acknowledgement && header.acknowledgement <= snd_nxt_)) {
    if (!header.rst) tcp_.send_reset_for(*in.packet, header, in.length, remote_, local_);
    drop(in, DropReason::tcp_invalid_ack_sequence);
    return;
  }
  if (header.rst) {
    if (header.ack) fail(SocketStatus::refused);
    drop(in, DropReason::tcp_reset);
    return;
  }
  if (!header.syn) {
    drop(in, DropReason::tcp_flags);
    return;
  }
  irs_ = header.sequence;
  rcv_nxt_ = rcv_wup_ = copied_ = last_ack_sent_ = irs_ + 1;
  take_peer_options(header);
  snd_wl1_ = header.sequence;
  snd_wnd_ = window_max_ = header.window;  // never scaled in a SYN
  if (!header.ack) {                       // both sides have begun (RFC 9293, figure 7)
    set_state(State::syn_received);
    send_syn(true);
    return;
  }
  Input ack_only;
  ack_only.header = header;
  ack_only.header.sacks = 0;
  ack_only.end = in.end;
  (void)take_ack(ack_only);
  become_established();
  wake_writers();
  // The ACK of the handshake waits for the data that the process is about to send.
  if (queue_.next_unsent() != nullptr || ping_pong_) {
    ack_scheduled_ = true;
    ato_ = to_jiffies(options_.delayed_ack.count() / 1000);
    delay_ack();
  } else {
    send_ack();
  }
}

// --- TIME-WAIT -----------------------------------------------------------------------------------

void Connection::input_time_wait(Input& in) {
  if (in.header.rst) {
    // RFC 1337: it does not shorten the wait, unless it is exactly what comes next.
    if (in.header.sequence == rcv_nxt_) finish();
    drop(in, DropReason::tcp_reset);
    return;
  }
  if (is_too_old(in.header)) ++tcp_.figures().paws_estab;
  if (in.end != in.header.sequence || in.header.syn || is_too_old(in.header)) {
    send_ack();
    if (in.header.fin) wait_other(options_.fin_timeout);
  }
  drop(in, DropReason::tcp_close);
}

bool Connection::gives_way_to(const Header& syn) const {
  if (state_ != State::time_wait) return false;
  if (syn.sequence > rcv_nxt_) return true;
  return has_ts_recent_ && syn.has_timestamps &&
         static_cast<std::int32_t>(syn.timestamp - ts_recent_) > 0;
}

// --- is it ours ----------------------------------------------------------------------------------

// PAWS: a timestamp from before what was already seen (RFC 7323, section 5).
bool Connection::is_too_old(const Header& header) const {
  if (!timestamps_ || !header.has_timestamps || !has_ts_recent_) return false;
  if (static_cast<std::int32_t>(ts_recent_ - header.timestamp) <= 0) return false;
  const std::int64_t now = core::nanos_since_start(stack_.timeline().now()) / 1000;
  return now - ts_recent_us_ < kTimestampLifeUs;
}

// tcp_validate_incoming. False: the segment has been dealt with.
bool Connection::acceptable(Input& in) {
  const Header& header = in.header;
  cpu().settle();
  const auto answer = [&] {  // tcp_send_dupack
    if (in.end != header.sequence && header.sequence < rcv_nxt_) {
      enter_quick_ack(16);
      if (sacks_) received_.note_duplicate({header.sequence, earlier(in.end, rcv_nxt_)});
    }
    send_ack();
  };
  if (is_too_old(header) && !header.rst) {
    ++tcp_.figures().paws_estab;
    answer();
    drop(in, DropReason::tcp_rfc7323_paws);
    return false;
  }
  const bool inside = in.end >= rcv_wup_ && header.sequence <= rcv_nxt_ + receive_window();
  if (!inside) {
    if (header.syn && !header.rst)
      send_challenge_ack();
    else if (!header.rst)
      answer();
    const bool old = in.end < rcv_wup_;
    if (old && in.length != 0) ++tcp_.figures().dsack_old_sent;
    drop(in, old ? DropReason::tcp_old_sequence : DropReason::tcp_invalid_sequence);
    return false;
  }
  if (header.rst) {  // RFC 5961: only exactly what comes next; else the peer is asked
    if (header.sequence == rcv_nxt_) {
      ++tcp_.figures().estab_resets;
      const bool refused = state_ == State::syn_received && accepted_;
      fail(refused                       ? SocketStatus::refused
           : state_ == State::close_wait ? SocketStatus::broken_pipe
                                         : SocketStatus::reset);
    } else {
      send_challenge_ack();
    }
    drop(in, DropReason::tcp_reset);
    return false;
  }
  if (header.syn) {
    const bool crossed = state_ == State::syn_received && header.ack &&
                         header.sequence == irs_;  // the answer to our SYN of two
    const bool again = state_ == State::syn_received && !header.ack && header.sequence == irs_;
    if (crossed) return true;
    if (again)
      send_syn(true);
    else
      send_challenge_ack();
    drop(in, DropReason::tcp_invalid_syn);
    return false;
  }
  return true;
}

// --- every synchronized state --------------------------------------------------------------------

void Connection::input_synchronized(Input& in) {
  // A crossed SYN-ACK stands one before what comes next.
  if (state_ == State::syn_received && in.header.syn && in.header.sequence == irs_ &&
      !in.header.ack) {
    if (in.header.has_timestamps) ts_recent_ = in.header.timestamp;
    send_syn(true);
    drop(in, DropReason::tcp_invalid_syn);
    return;
  }
  if (!acceptable(in)) return;
  if (!in.header.ack) {
    drop(in, DropReason::tcp_flags);
    return;
  }
  if (state_ == State::syn_received && !input_syn_received(in)) return;
  if (!take_ack(in)) {
    drop(in, DropReason::tcp_invalid_ack_sequence);
    return;
  }
  after_ack_in_state();
  if (state_ == State::closed || state_ == State::time_wait) return;
  const bool news = in.end != in.header.sequence && !in.header.syn;
  // A process that is gone reads nothing more.
  if (orphaned_ && in.length != 0 && in.end > rcv_nxt_ &&
      (state_ == State::fin_wait_1 || state_ == State::fin_wait_2)) {
    ++tcp_.figures().abort_on_data;
    send_reset();
    drop(in, DropReason::tcp_abort_on_data);
    fail(SocketStatus::reset);
    return;
  }
  if (news) take_data(in);
  if (state_ == State::closed || state_ == State::time_wait) return;
  check_data_and_space();
  acknowledge_if_due();
}

// True: established. The last part of the handshake, on either side.
bool Connection::input_syn_received(Input& in) {
  const Header& header = in.header;
  if (!(snd_una_ < header.acknowledgement && header.acknowledgement <= snd_nxt_)) {
    tcp_.send_reset_for(*in.packet, header, in.length, remote_, local_);
    drop(in, DropReason::tcp_invalid_ack_sequence);
    return false;
  }
  if (listener_ != nullptr && listener_->is_full()) {
    ++tcp_.figures().listen_overflows;
    ++tcp_.figures().listen_drops;
    drop(in, DropReason::tcp_flags);
    return false;
  }
  snd_wl1_ = header.sequence - 1;
  become_established();
  if (listener_ != nullptr) {
    tcp_.listener_has(*listener_, *this);
  } else {
    wake_writers();
  }
  return true;
}

// Our FIN is acknowledged?
void Connection::after_ack_in_state() {
  const bool all = snd_una_ == written_ && send_shut_ && queue_.empty();
  switch (state_) {
    case State::fin_wait_1:
      if (!all) return;
      set_state(State::fin_wait_2);
      wake_writers();
      if (orphaned_) wait_other(options_.fin_timeout);
      return;
    case State::closing:
      if (all) enter_time_wait();
      return;
    case State::last_ack:
      if (all) finish();
      return;
    default:
      return;
  }
}

// --- data ----------------------------------------------------------------------------------------

void Connection::refuse_data(Input& in, DropReason reason) {
  enter_quick_ack(16);
  ack_scheduled_ = true;
  drop(in, reason);
}

// tcp_data_queue
void Connection::take_data(Input& in) {
  const Sequence first = in.header.sequence;
  const std::uint32_t window = receive_window();
  if (in.end <= rcv_nxt_) {
    ++tcp_.figures().dsack_old_sent;
    if (sacks_) received_.note_duplicate({first, in.end});
    refuse_data(in, DropReason::tcp_old_data);
    return;
  }
  if (first >= rcv_nxt_ + window && !(first == rcv_nxt_ && in.length == 0)) {
    ++tcp_.figures().zero_window_drop;
    refuse_data(in, window == 0 ? DropReason::tcp_zerowindow : DropReason::tcp_overwindow);
    return;
  }
  const bool fin_fits = in.end - rcv_nxt_ <= window + 1;
  if (!fin_fits) in.header.fin = false;
  if (in.length != 0) {  // beyond the window nothing is taken
    const std::uint32_t last = in.header.fin ? in.end - 1 - first : in.end - first;
    const std::uint32_t room = (rcv_nxt_ + window) - first;
    if (last > room) {
      in.packet->truncate_to(room);
      in.length = room;
      in.header.fin = false;
    }
  }
  in.end = first + in.length + (in.header.fin ? 1u : 0u);
  if (first <= rcv_nxt_) {
    if (first < rcv_nxt_) {
      if (sacks_) received_.note_duplicate({first, rcv_nxt_});
      in.packet->lose_front(std::min<std::size_t>(rcv_nxt_ - first, in.packet->length()));
      in.length = static_cast<std::uint32_t>(in.packet->length());
    }
    take_in_order(in);
  } else {
    take_early(in);
  }
}

void Connection::take_in_order(Input& in) {
  if (in.length != 0 && !make_receive_room(socket_memory_bytes(in.length))) {
    ++tcp_.figures().rcv_q_drop;
    refuse_data(in, DropReason::proto_mem);
    return;
  }
  bool fin = in.header.fin;
  info_.bytes_received += in.end - rcv_nxt_ - (fin ? 1u : 0u);
  rcv_nxt_ = in.end;
  if (in.length != 0) {
    note_data(in);
    cpu().settle();
    in.packet->stamp = stack_.timeline().now();
    received_.push(std::move(in.packet));
  }
  if (!fin && received_.has_early()) {
    const Sequence before = rcv_nxt_;
    const ReceiveQueue::Joined joined = received_.join(rcv_nxt_);
    rcv_nxt_ = joined.next;
    fin = joined.fin;
    info_.bytes_received += rcv_nxt_ - before - (fin ? 1u : 0u);
    // RFC 5681: at once when a hole is filled.
    if (!received_.has_early()) ack_now_ = true;
  }
  if (fin) take_fin();
  if (!orphaned_) wake_readers();
}

void Connection::take_early(Input& in) {
  ++tcp_.figures().ofo_queue;
  const std::uint32_t memory = socket_memory_bytes(in.length);
  if (!make_receive_room(memory)) {
    refuse_data(in, DropReason::proto_mem);
    return;
  }
  note_data(in);
  ack_now_ = true;  // a duplicate acknowledgement, at once
  cpu().settle();
  in.packet->stamp = stack_.timeline().now();
  if (received_.insert(std::move(in.packet), {in.header.sequence, in.end}, in.header.fin))
    grow_window(memory, in.length);
}

// tcp_fin: the peer will send no more.
void Connection::take_fin() {
  cpu().settle();
  ack_scheduled_ = true;
  receive_shut_ = true;
  (void)received_.prune_early();
  switch (state_) {
    case State::syn_received:
    case State::established:
      set_state(State::close_wait);
      ping_pong_ = true;
      break;
    case State::fin_wait_1:  // both at once
      send_ack();
      set_state(State::closing);
      break;
    case State::fin_wait_2:
      send_ack();
      enter_time_wait();
      break;
    default:
      break;
  }
  wake_readers();
}

}  // namespace tapestry::net::tcp
