// What is sent, when, and in pieces of which size (tcp_write_xmit and what it asks).
#include <algorithm>
#include <utility>

#include "net/device.hpp"
#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

namespace {

constexpr std::uint32_t kGsoBytesMax = 65'536 - 1 - 320;  // GSO_MAX_SIZE less headers
constexpr std::uint32_t kLeastSegments = 2;               // tcp_min_tso_segs
constexpr std::uint32_t kWindowDivisor = 3;               // tcp_tso_win_divisor

}  // namespace

// --- sizes ---------------------------------------------------------------------------------------

// Does somebody below cut large packets up? Whoever does, this is the one place that asks.
bool Connection::can_segment() const {
  if (route_.device == nullptr) return false;  // to ourselves: a segment is as large as a packet
  return route_.device->features().segmentation;
}

std::uint32_t Connection::gso_bytes_max() const { return kGsoBytesMax; }

// tcp_current_mss: less where an acknowledgement needs room for its blocks.
std::uint32_t Connection::current_mss() {
  std::uint32_t mss = mss_;
  if (sacks_ && received_.has_report()) {
    const std::uint32_t blocks = timestamps_ ? 3 : 4;
    mss -= std::min(4 + 8 * blocks, mss / 2);
  }
  // Half of the largest window that the peer ever offered (SWS avoidance).
  if (window_max_ > kMssDefault) mss = std::min(mss, std::max(window_max_ / 2, kMssLeast));
  return mss;
}

// tcp_tso_autosize: what goes in about a millisecond, and more to near peers.
std::uint32_t Connection::segments_of_rate(std::uint32_t mss) const {
  std::uint64_t bytes = static_cast<std::uint64_t>(pacing_rate_) >> 10;
  if (options_.autosize_by_rtt && rtt_.least_us() != INT64_MAX) {
    const std::int64_t halvings = rtt_.least_us() >> 9;
    if (halvings < 32) bytes += std::uint64_t{65'536} >> halvings;
  }
  bytes = std::min<std::uint64_t>(bytes, gso_bytes_max());
  if (!options_.autosize) bytes = gso_bytes_max();
  return std::max(static_cast<std::uint32_t>(bytes / mss), kLeastSegments);
}

std::uint32_t Connection::size_goal(std::uint32_t mss) {
  if (!can_segment()) return mss;
  std::uint32_t bytes = gso_bytes_max();
  if (window_max_ > kMssDefault) bytes = std::min(bytes, std::max(window_max_ / 2, mss));
  return std::max(std::min(segments_of_rate(mss), bytes / mss), std::uint32_t{1}) * mss;
}

std::uint32_t Connection::window_end_room(Sequence at) const {
  return at < window_end() ? window_end() - at : 0;
}

// --- may it go -----------------------------------------------------------------------------------

bool Connection::nagle_allows(const SendSegment& segment, std::uint32_t mss, int nagle) const {
  if ((nagle & kPush) != 0 || segment.fin) return true;
  if (segment.bytes >= mss) return true;
  if ((nagle & kCork) != 0) return false;
  if ((nagle & kNoDelay) != 0 || queue_.packets_out == 0) return true;
  // Minshall: only an earlier small segment that is not acknowledged holds it back.
  return !(snd_small_ > snd_una_ && snd_small_ <= snd_nxt_);
}

// tcp_tso_should_defer: a part of a large packet may go now, or soon all of it.
bool Connection::should_defer(const SendSegment& segment, std::uint32_t most,
                              bool& window_limited) {
  if (segment.fin || phase_ == Phase::recovery || phase_ == Phase::loss) return false;
  const std::int64_t now = now_us();
  if (now - last_sent_us_ > 1000 && queue_.packets_out == 0) return false;
  const std::uint32_t in_flight = queue_.in_flight();
  const std::uint32_t mss = current_mss();
  const std::uint32_t send_room = window_end_room(segment.first);
  const std::uint64_t window_room = std::uint64_t{window_.size - in_flight} * mss;
  const std::uint64_t limit = std::min<std::uint64_t>(send_room, window_room);
  if (limit >= std::uint64_t{most} * mss) return false;
  if (!queue_.is_last(segment) && limit >= segment.bytes) return false;
  const std::uint64_t chunk =
      std::min<std::uint64_t>(snd_wnd_, std::uint64_t{window_.size} * mss) / kWindowDivisor;
  if (limit >= chunk) return false;
  const SendSegment* head = queue_.first_sent();
  // The next acknowledgement comes too late.
  if (head == nullptr || now - head->sent_us < rtt_.smoothed_us() / 2) return false;
  if (window_room < send_room) {
    if (window_room > segment.bytes) return false;
    window_limited = true;
    return true;
  }
  return send_room <= segment.bytes;
}

// TCP small queues: is enough of this connection between it and the wire?
bool Connection::below_is_full(const SendSegment& segment, int factor) {
  if (!options_.small_queues) return false;
  const std::uint64_t rate = static_cast<std::uint64_t>(pacing_rate_) >> 10;
  std::uint64_t limit = std::max<std::uint64_t>(std::uint64_t{2} * segment.memory(), rate);
  limit = std::min<std::uint64_t>(limit, options_.limit_output_bytes) << factor;
  cpu().settle();
  if (account_->bytes() < limit) return false;
  if (!queue_.has_sent()) return false;  // always one
  account_->throttled = true;
  ++tcp_.figures().small_queue_failures;
  return true;
}

// How many bytes of the next segment may go now; 0: none.
std::uint32_t Connection::may_send_now(SendSegment& segment, std::uint32_t mss, int nagle,
                                       int push_one, std::uint32_t quota, bool& window_limited) {
  const std::uint32_t room = window_end_room(segment.first);
  const std::uint32_t first = std::min(segment.bytes, mss);
  if (room < first + (segment.fin && segment.bytes <= mss ? 1u : 0u)) return 0;
  if (segment.segments == 1) {
    if (!nagle_allows(segment, mss, queue_.is_last(segment) ? nagle : nagle | kPush)) return 0;
    return std::max(segment.bytes, std::uint32_t{1});
  }
  const std::uint32_t most = segments_of_rate(mss);
  if (push_one == 0 && should_defer(segment, most, window_limited)) return 0;
  // tcp_mss_split_point: whole segments, as many as both windows let; a rest only if Nagle lets.
  const std::uint32_t segments = std::min({quota, most, gso_bytes_max() / mss});
  const std::uint64_t wanted = std::uint64_t{segments} * mss;
  const std::uint32_t limit =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::min(room, segment.bytes), wanted));
  if (limit == segment.bytes) {
    const std::uint32_t rest = limit % mss;
    if (rest == 0 || (nagle & (kNoDelay | kPush)) != 0 || !queue_.is_last(segment) || segment.fin)
      return limit;
    const bool held = (nagle & kCork) != 0 ||
                      (queue_.packets_out != 0 && snd_small_ > snd_una_ && snd_small_ <= snd_nxt_);
    return held ? limit - rest : limit;
  }
  return std::max(limit / mss * mss, std::min(mss, limit));
}

// tcp_write_xmit. True: there is something to send, nothing on its way, and the peer's window is
// what holds it: somebody must probe. `push_one`: 1, one packet; 2, one whatever the window is.
bool Connection::write(std::uint32_t mss, int nagle, int push_one) {
  bool limited = false;
  std::uint32_t sent = 0;
  while (SendSegment* segment = queue_.next_unsent()) {
    segment->count(mss);
    std::uint32_t quota = window_.size > queue_.in_flight() ? window_.size - queue_.in_flight() : 0;
    if (quota == 0) {
      if (push_one != 2) {
        limited = true;
        break;
      }
      quota = 1;
    }
    const std::uint32_t bytes = may_send_now(*segment, mss, nagle, push_one, quota, limited);
    if (bytes == 0) break;
    if (bytes < segment->bytes) {
      (void)queue_.split(*segment, bytes, mss, false);
      segment->count(mss);
    }
    if (below_is_full(*segment, 0)) break;
    if (!transmit(*segment, false)) break;
    sent += segment->segments;
    note_sent(*segment);
    if (segment->bytes < mss) snd_small_ = segment->end;
    if (push_one != 0) break;
  }
  if (sent != 0) {
    if (phase_ == Phase::recovery || phase_ == Phase::reduced) prr_out_ += sent;
    limited |= queue_.in_flight() >= window_.size;
    validate_window(limited);
    if (push_one != 2) (void)schedule_loss_probe(false);
    return false;
  }
  return queue_.packets_out == 0 && queue_.next_unsent() != nullptr;
}

// tcp_event_new_data_sent
void Connection::note_sent(SendSegment& segment) {
  segment.sent_us = now_us();
  snd_nxt_ = segment.end;
  const bool first = queue_.packets_out == 0;
  queue_.move_to_sent(segment);
  if (first || waiting_ == Wait::loss_probe) rearm_retransmit();
}

// --- how large the window is in use --------------------------------------------------------------

void Connection::validate_window(bool limited) {
  if (snd_una_ >= window_usage_end_ || limited ||
      (!window_limited_ && queue_.packets_out > packets_out_max_)) {
    window_limited_ = limited;
    packets_out_max_ = queue_.packets_out;
    window_usage_end_ = snd_nxt_;
  }
  const bool full = window_.in_slow_start() ? window_.size < 2 * packets_out_max_ : limited;
  if (full) {
    window_used_ = 0;
    window_stamp_us_ = now_us();
    return;
  }
  window_used_ = std::max(window_used_, queue_.packets_out);
  const std::int64_t tick = stack_.environment().jiffies.tick().count() / 1000;
  if (!options_.restart_after_idle ||
      now_us() - window_stamp_us_ < static_cast<std::int64_t>(timeout_) * tick)
    return;
  // The application does not use it: tcp_cwnd_application_limited.
  if (phase_ == Phase::open) {
    const std::uint32_t used = std::max(window_used_, options_.initial_window);
    if (used < window_.size) {
      window_.threshold = std::max(window_.threshold == kNoThreshold ? 0 : window_.threshold,
                                   (window_.size / 2) + (window_.size / 4));
      window_.size = (window_.size + used) / 2;
    }
    window_used_ = 0;
  }
  window_stamp_us_ = now_us();
}

// tcp_cwnd_restart: the window of an idle connection fades, halved with each timeout.
void Connection::restart_window_after_idle() {
  if (queue_.packets_out != 0 || last_sent_us_ == 0) return;
  const std::int64_t now = now_us();
  const std::int64_t tick = stack_.environment().jiffies.tick().count() / 1000;
  std::int64_t idle = now - last_sent_us_;
  const std::int64_t timeout = static_cast<std::int64_t>(timeout_) * tick;
  algorithm_->restarted(now, idle);
  if (!options_.restart_after_idle || idle <= timeout) return;
  const std::uint32_t least = std::min(options_.initial_window, window_.size);
  if (window_.threshold != kNoThreshold || phase_ != Phase::open || window_.size > least)
    window_.threshold =
        std::max(window_.threshold == kNoThreshold ? kNoThreshold : window_.threshold,
                 window_.size / 2 + window_.size / 4);
  while ((idle -= timeout) > 0 && window_.size > least)
    window_.size /= 2;
  window_.size = std::max(window_.size, least);
  window_stamp_us_ = now;
  window_used_ = 0;
}

// --- pushing -------------------------------------------------------------------------------------

void Connection::push_pending(std::uint32_t mss, int nagle) {
  if (state_ == State::closed || queue_.next_unsent() == nullptr) return;
  if (write(mss, nagle, 0)) check_probe_timer();
}

// tcp_push, at the end of a send call or before it sleeps; `more`: it is not the end.
void Connection::push(bool more) {
  SendSegment* last = queue_.last_unsent();
  if (last == nullptr) return;
  if (!more || written_ - pushed_ > window_max_ / 2) {
    last->push = true;
    pushed_ = written_;
  }
  const std::uint32_t mss = current_mss();
  if (options_.autocork && queue_.has_sent() && last->bytes < size_goal(mss)) {
    cpu().settle();
    // More may come while packets of this connection still wait to be freed by the device.
    if (account_->bytes() >= last->memory()) {
      account_->throttled = true;
      ++tcp_.figures().auto_corking;
      return;
    }
  }
  push_pending(mss, more ? kPush : nagle_);
}

void Connection::check_data_and_space() {
  push_pending(current_mss(), nagle_);
  check_space();
}

void Connection::queue_fin() {
  SendSegment* last = queue_.last_unsent();
  if (last == nullptr) last = &queue_.append(written_);
  last->fin = true;
  last->push = last->bytes != 0;
  last->end += 1;
  written_ += 1;
  push_pending(current_mss(), kNoDelay);
}

}  // namespace tapestry::net::tcp
