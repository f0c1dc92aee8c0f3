// The receiver's side: how much the peer may send, and when it hears that its bytes have come
// (tcp_select_window, tcp_grow_window, tcp_rcv_space_adjust, __tcp_ack_snd_check).
#include <algorithm>
#include <utility>

#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

namespace {

constexpr std::uint32_t kQuickAcksMax = 16;           // TCP_MAX_QUICKACKS
constexpr std::int64_t kDelayMaxUs = 200'000;         // TCP_DELACK_MAX
constexpr std::uint32_t kHeadersMax = 320;            // MAX_TCP_HEADER
constexpr std::uint32_t kPacketOverhead = 256 + 320;  // SKB_TRUESIZE(0)

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

// --- data has come -------------------------------------------------------------------------------

// tcp_event_data_recv: how eager is the peer, how large are its segments, may it send more?
void Connection::note_data(const Input& in) {
  cpu().charge(sched::Work::tcp_data);
  const std::int64_t now = now_us();
  const std::uint64_t least = to_jiffies(options_.delayed_ack.count() / 1000);
  ack_scheduled_ = true;
  measure_receive_mss(in);
  if (rcv_rtt_start_us_ == 0 || rcv_nxt_ >= rcv_rtt_end_) {
    if (rcv_rtt_start_us_ != 0) update_receive_rtt(now - rcv_rtt_start_us_, true);
    rcv_rtt_end_ = rcv_nxt_ + rcv_wnd_;
    rcv_rtt_start_us_ = std::max<std::int64_t>(now, 1);
  }
  measure_receive_rtt(in);
  if (ato_ == 0) {  // the first data
    raise_quick_acks(kQuickAcksMax);
    ato_ = std::max<std::uint64_t>(least, 1);
  } else {
    const std::uint64_t since = to_jiffies(now - last_data_us_);
    if (since <= least / 2) {
      ato_ = ato_ / 2 + least / 2;
    } else if (since < ato_) {
      ato_ = std::min(ato_ / 2 + since, timeout_);
    } else if (since > timeout_) {
      // The peer begins anew, perhaps in slow start after a loss.
      raise_quick_acks(kQuickAcksMax);
    }
  }
  last_data_us_ = now;
  if (in.length >= 128) grow_window(socket_memory_bytes(in.length), in.length);
}

void Connection::measure_receive_mss(const Input& in) {
  const std::uint32_t last = std::exchange(last_segment_, 0u);
  const std::uint32_t length =
      in.packet && in.packet->gso_size != 0 ? in.packet->gso_size : in.length;
  if (length >= rcv_mss_) {
    rcv_mss_ = std::min(length, advertised_mss_);
    return;
  }
  if (length >= kMssDefault - 32 || (length >= kMssLeast && !in.header.psh)) {
    last_segment_ = length;
    if (length == last) {
      rcv_mss_ = length;
      return;
    }
  }
  if (ack_pushed_) ack_pushed_twice_ = true;
  ack_pushed_ = true;
}

void Connection::measure_receive_rtt(const Input& in) {
  if (!in.header.has_timestamps || in.header.timestamp_echo == 0 || !timestamps_) return;
  if (in.header.timestamp_echo == rcv_echo_ || in.length < rcv_mss_) return;
  rcv_echo_ = in.header.timestamp_echo;
  const std::uint32_t ms = std::max<std::uint32_t>(timestamp() - rcv_echo_, 1);
  if (ms < 0x7fff'ffff / 1000) update_receive_rtt(std::int64_t{ms} * 1000, false);
}

// A round trip by the window is at most that long; by timestamps it is averaged.
void Connection::update_receive_rtt(std::int64_t sample_us, bool by_window) {
  sample_us = std::max<std::int64_t>(sample_us, 1);
  if (rcv_rtt_8_us_ == 0)
    rcv_rtt_8_us_ = sample_us * 8;
  else if (by_window)
    rcv_rtt_8_us_ = std::min(rcv_rtt_8_us_, sample_us * 8);
  else
    rcv_rtt_8_us_ += sample_us - rcv_rtt_8_us_ / 8;
}

// --- the window ----------------------------------------------------------------------------------

std::uint32_t Connection::receive_window() const {
  const std::uint32_t end = rcv_wup_.value + rcv_wnd_;
  const auto left = static_cast<std::int32_t>(end - rcv_nxt_.value);
  return left > 0 ? static_cast<std::uint32_t>(left) : 0;
}

std::uint32_t Connection::free_space() const {
  const std::uint32_t used = received_.memory();
  return used < receive_buffer_ ? space_of(receive_buffer_ - used) : 0;
}

// The threshold up to which the window opens grows with every segment that carries more payload
// than its packet wastes memory (__tcp_grow_window).
void Connection::grow_window(std::uint32_t memory, std::uint32_t length) {
  const std::uint32_t most = std::min(window_clamp_, free_space());
  if (most <= rcv_threshold_) return;
  std::uint32_t more = 0;
  std::uint32_t size = space_of(memory);
  if (size <= length) {
    more = 2 * advertised_mss_;
  } else {
    size /= 2;
    std::uint32_t window = space_of(options_.receive_memory[2]) / 2;
    while (rcv_threshold_ <= window) {
      if (size <= length) {
        more = 2 * rcv_mss_;
        break;
      }
      size /= 2;
      window /= 2;
    }
  }
  if (more == 0) return;
  more = std::max(more, 2 * length);
  rcv_threshold_ += std::min(most - rcv_threshold_, more);
  quick_acks_ |= 1;
}

// Dynamic right-sizing: twice what was read in a round trip, and what it grew by.
void Connection::adjust_receive_space() {
  const std::int64_t now = now_us();
  if (rcv_rtt_8_us_ == 0 || now - space_start_us_ < rcv_rtt_8_us_ / 8) return;
  const std::uint32_t copied = copied_ - space_start_;
  if (copied > space_) {
    if (options_.moderate_receive_buffer && !receive_buffer_fixed_) {
      std::uint64_t window = std::uint64_t{copied} * 2 + 16 * advertised_mss_;
      const std::uint64_t grown = window * (copied - space_) / std::max(space_, std::uint32_t{1});
      window += 2 * grown;
      std::uint32_t memory = advertised_mss_ + kHeadersMax + kPacketOverhead;
      while (space_of(memory) < advertised_mss_)
        memory += 128;
      const std::uint64_t wanted =
          std::min<std::uint64_t>(window / advertised_mss_ * memory, options_.receive_memory[2]);
      if (wanted > receive_buffer_) {
        receive_buffer_ = static_cast<std::uint32_t>(wanted);
        window_clamp_ = full_space();
      }
    }
    space_ = copied;
  }
  space_start_ = copied_;
  space_start_us_ = now;
}

// tcp_try_rmem_schedule: room for a packet, if need be by throwing away what came too early.
bool Connection::make_receive_room(std::uint32_t bytes) {
  if (received_.memory() <= receive_buffer_) return true;
  ++tcp_.figures().rcv_pruned;
  // tcp_clamp_window: the stream in order must not starve for memory's sake.
  if (!receive_buffer_fixed_ && receive_buffer_ < options_.receive_memory[2]) {
    receive_buffer_ = std::min(received_.memory() + bytes, options_.receive_memory[2]);
    if (received_.memory() <= receive_buffer_) return true;
  }
  tcp_.figures().ofo_pruned += received_.prune_early();
  return received_.memory() <= receive_buffer_;
}

// __tcp_select_window: what there is room for, in steps that are worth a segment.
std::uint32_t Connection::window_to_offer() {
  const std::uint32_t full = std::min(window_clamp_, full_space());
  const std::uint32_t mss = std::min(rcv_mss_, full);
  if (mss == 0) return 0;
  std::uint32_t space = free_space();
  const std::uint32_t unit = std::uint32_t{1} << rcv_scale_;
  if (space < full / 2) {
    quick_acks_ = 0;
    space = space / unit * unit;
    if (space < full_space() / 16 || space < mss) return 0;
  }
  space = std::min(space, rcv_threshold_);
  if (rcv_scale_ != 0) return round_up(space, unit);
  if (rcv_wnd_ + mss <= space || rcv_wnd_ > space) return space / mss * mss;
  if (mss == full && space > rcv_wnd_ + full / 2) return space;
  return rcv_wnd_;
}

// What the header says. A window never shrinks.
std::uint32_t Connection::select_window() {
  const std::uint32_t now = receive_window();
  std::uint32_t offered = window_to_offer();
  if (offered < now) offered = round_up(now, std::uint32_t{1} << rcv_scale_);
  rcv_wup_ = rcv_nxt_;
  offered = std::min(offered, std::uint32_t{65535} << rcv_scale_);
  rcv_wnd_ = offered;
  return offered >> rcv_scale_;
}

// --- acknowledging -------------------------------------------------------------------------------

void Connection::raise_quick_acks(std::uint32_t most) {
  const std::uint32_t segments = std::max(rcv_wnd_ / (2 * rcv_mss_), std::uint32_t{2});
  quick_acks_ = std::max(quick_acks_, std::min(segments, most));
}

void Connection::enter_quick_ack(std::uint32_t most) {
  raise_quick_acks(most);
  ping_pong_ = false;
  ato_ = std::max<std::uint64_t>(to_jiffies(options_.delayed_ack.count() / 1000), 1);
}

// __tcp_ack_snd_check
void Connection::acknowledge_if_due() {
  if (!ack_scheduled_ && !ack_now_) return;
  cpu().settle();
  const bool two =
      rcv_nxt_ - rcv_wup_ > rcv_mss_ && (received_.empty() || window_to_offer() >= rcv_wnd_);
  const bool at_once = options_.delayed_ack.count() == 0;
  if (two || at_once || ack_now_ || in_quick_ack_mode() || received_.has_early())
    send_ack();
  else
    delay_ack();
}

// tcp_send_delayed_ack
void Connection::delay_ack() {
  const std::uint64_t least = to_jiffies(options_.delayed_ack.count() / 1000);
  std::uint64_t delay = ato_;
  if (delay > least) {
    std::uint64_t most = to_jiffies(ping_pong_ || ack_pushed_ ? kDelayMaxUs : 500'000);
    if (rtt_.known()) most = std::min(most, std::max(to_jiffies(rtt_.smoothed_us()), least));
    delay = std::min(delay, most);
  }
  const std::uint64_t now = jiffies();
  std::uint64_t due = now + delay;
  if (ack_timed_) {
    if (ack_due_ <= now + delay / 4) {
      send_ack();
      return;
    }
    due = std::min(due, ack_due_);
  }
  ack_scheduled_ = ack_timed_ = true;
  ack_due_ = due;
  arm(ack_timer_, ack_armed_, due);
}

// tcp_cleanup_rbuf: the process has read. The peer hears of it if it waits for an acknowledgement,
// or if the window has opened so far that it makes a difference.
void Connection::after_read(std::uint32_t copied) {
  if (state_ == State::closed || state_ == State::time_wait) return;
  bool now = false;
  if (ack_scheduled_) {
    now = rcv_nxt_ - rcv_wup_ > rcv_mss_ ||
          (copied != 0 && (ack_pushed_twice_ || (ack_pushed_ && !ping_pong_)) && received_.empty());
  }
  if (copied != 0 && !now && !receive_shut_) {
    const std::uint32_t window = receive_window();
    if (2 * std::uint64_t{window} <= window_clamp_) {
      const std::uint32_t offered = window_to_offer();
      now = offered != 0 && offered >= 2 * std::uint64_t{window};
    }
  }
  if (now) send_ack();
}

}  // namespace tapestry::net::tcp
