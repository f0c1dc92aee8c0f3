// Losses: how they are noticed (RACK, or the number of duplicates), what the window does meanwhile
// (PRR), what is sent again (tcp_fastretrans_alert, net/ipv4/tcp_recovery.c).
#include <algorithm>
#include <utility>

#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

namespace {

// Was one segment sent after another? Of those sent in one instant, the later in the stream.
bool sent_after(std::int64_t a_us, Sequence a_end, std::int64_t b_us, Sequence b_end) {
  return a_us > b_us || (a_us == b_us && a_end > b_end);
}

}  // namespace

void Connection::judge(const Ack& given, std::uint32_t duplicates) {
  Ack ack = given;
  if (queue_.packets_out == 0) queue_.sacked_out = 0;
  // Everything that was on its way when it began has arrived.
  if (phase_ != Phase::open && snd_una_ >= high_) {
    if (phase_ == Phase::reduced || phase_ == Phase::recovery) {
      if (phase_ == Phase::recovery || snd_una_ != high_ || queue_.packets_out == 0) {
        if (phase_ == Phase::reduced || !undo_all(ack)) end_reduction();
        phase_ = Phase::open;
        if (!sacks_) queue_.sacked_out = 0;
      }
    } else if (phase_ == Phase::loss) {
      (void)undo_all(ack);
      phase_ = Phase::open;
      if (!sacks_) queue_.sacked_out = 0;
    }
  }
  if (!sacks_) {
    if (ack.advanced && phase_ != Phase::recovery) queue_.sacked_out = 0;
    if (duplicates != 0 && phase_ != Phase::loss) add_reno_sacks(duplicates);
  }
  if (phase_ == Phase::recovery && undo_partial(ack)) return;
  if (phase_ == Phase::loss && undo_loss(ack)) return;
  if (phase_ != Phase::loss && undo_by_duplicates()) {
    try_to_open();
    return;
  }
  const bool by_time = options_.rack && sacks_;
  if (by_time) rack_mark(&ack);
  if (phase_ == Phase::recovery) {
    if (!by_time && sacks_) mark_by_count();
    // NewReno: a partial acknowledgement names the next loss.
    if (!sacks_ && ack.advanced) {
      queue_.sacked_out = queue_.sacked_out > 1 ? queue_.sacked_out - 1 : 0;
      if (SendSegment* first = queue_.first_sent()) mark_lost(*first);
    }
    return;
  }
  if (phase_ == Phase::loss) return;
  if (!time_to_recover()) {
    try_to_open();
    return;
  }
  enter_recovery();
  if (!by_time) {
    if (sacks_)
      mark_by_count();
    else if (SendSegment* first = queue_.first_sent())
      mark_lost(*first);
  }
}

bool Connection::time_to_recover() const {
  if (queue_.lost_out != 0) return true;
  if (options_.rack && sacks_) return false;
  return queue_.sacked_out >= reordering_;
}

void Connection::try_to_open() {
  if (phase_ == Phase::reduced) return;
  phase_ = queue_.sacked_out != 0 || queue_.lost_out != 0 ? Phase::disorder : Phase::open;
  if (phase_ == Phase::disorder) high_ = snd_nxt_;
}

// A duplicate acknowledgement stands for a segment that has arrived.
void Connection::add_reno_sacks(std::uint32_t duplicates) {
  queue_.sacked_out += duplicates;
  const std::uint32_t lost = std::max(queue_.lost_out, std::uint32_t{1});
  if (queue_.sacked_out + lost > queue_.packets_out)
    queue_.sacked_out = queue_.packets_out > lost ? queue_.packets_out - lost : 0;
}

// --- the window ----------------------------------------------------------------------------------

void Connection::begin_reduction() {
  high_ = snd_nxt_;
  probe_end_.reset();
  window_.counted = 0;
  prior_window_ = window_.size;
  prr_delivered_ = prr_out_ = 0;
  window_.threshold = algorithm_->threshold_after_loss(window_);
  if (!options_.proportional_reduction) window_.size = window_.threshold;
}

void Connection::enter_recovery() {
  ++(sacks_ ? tcp_.figures().sack_recovery : tcp_.figures().reno_recovery);
  ++info_.fast_recoveries;
  remember_for_undo();
  if (phase_ != Phase::reduced) {
    prior_threshold_ = std::max(window_.threshold, window_.size * 3 / 4);
    begin_reduction();
  }
  high_ = snd_nxt_;
  phase_ = Phase::recovery;
}

// PRR with the slow-start bound (RFC 6937).
void Connection::reduce(const Ack& ack) {
  const auto in_flight = static_cast<std::int64_t>(queue_.in_flight());
  const std::int64_t delta = std::int64_t{window_.threshold} - in_flight;
  // Without SACK a duplicate counts; a cumulative acknowledgement may count down again.
  const std::int64_t delivered = std::max(static_cast<std::int32_t>(ack.delivered), 0);
  prr_delivered_ += static_cast<std::uint32_t>(delivered);
  if (!options_.proportional_reduction) {
    window_.size = std::max<std::uint32_t>(window_.threshold, 2);
    return;
  }
  std::int64_t send = 0;
  if (delta < 0) {
    const std::int64_t wanted =
        (std::int64_t{window_.threshold} * prr_delivered_ + prior_window_ - 1) /
        std::max(prior_window_, std::uint32_t{1});
    send = wanted - prr_out_;
  } else {
    send = std::max(std::int64_t{prr_delivered_} - prr_out_, delivered);
    if (ack.advanced && ack.newly_lost == 0) ++send;
    send = std::min(delta, send);
  }
  send = std::max<std::int64_t>(send, prr_out_ != 0 ? 0 : 1);
  window_.size = static_cast<std::uint32_t>(std::max<std::int64_t>(in_flight + send, 1));
}

void Connection::end_reduction() {
  if (window_.threshold < kNoThreshold) window_.size = window_.threshold;
  window_stamp_us_ = now_us();
}

// The retransmission timer: nothing that is on its way is believed in any more.
void Connection::enter_loss() {
  for (SendSegment* segment = queue_.first_sent(); segment != nullptr;
       segment = queue_.after(*segment)) {
    queue_.forget_retransmission(*segment);
    mark_lost(*segment);
  }
  if (!sacks_) {
    queue_.sacked_out = 0;
  }
  if (phase_ == Phase::open || phase_ == Phase::disorder || high_ <= snd_una_ ||
      (phase_ == Phase::loss && retransmits_ == 0)) {
    prior_threshold_ = std::max(window_.threshold, window_.size * 3 / 4);
    prior_window_ = window_.size;
    remember_for_undo();
    window_.threshold = algorithm_->threshold_after_loss(window_);
    algorithm_->timed_out();
  }
  window_.size = queue_.in_flight() + 1;
  window_.counted = 0;
  window_stamp_us_ = now_us();
  phase_ = Phase::loss;
  high_ = snd_nxt_;
  probe_end_.reset();
}

// --- what is lost --------------------------------------------------------------------------------

void Connection::mark_lost(SendSegment& segment) {
  if (segment.sacked) return;
  if (segment.retransmitted) {
    queue_.forget_retransmission(segment);
    ++tcp_.figures().lost_retransmit;
  }
  queue_.mark_lost(segment);
  queue_.leave_time_order(segment);
  if (!lost_from_ || segment.first < *lost_from_) lost_from_ = segment.first;
}

// RFC 6675, before RACK: so many segments above it have arrived.
void Connection::mark_by_count() {
  if (!highest_sacked_) return;
  std::uint32_t above = queue_.sacked_out;
  for (SendSegment* segment = queue_.first_sent();
       segment != nullptr && segment->first < *highest_sacked_ && above >= reordering_;
       segment = queue_.after(*segment)) {
    if (segment->sacked)
      above -= segment->segments;
    else if (!segment->lost && !segment->ever_retransmitted)
      mark_lost(*segment);
  }
  // At least the first.
  SendSegment* first = queue_.first_sent();
  if (queue_.lost_out == 0 && first != nullptr && !first->ever_retransmitted) mark_lost(*first);
}

// Something sent late has arrived: what was sent before it, and has not, is late.
void Connection::rack_advance(const SendSegment& segment) {
  const std::int64_t rtt = now_us() - segment.sent_us;
  // An early answer to a retransmission was one to the original.
  if (segment.ever_retransmitted && rtt < rtt_.least_us()) return;
  rack_advanced_ = true;
  rack_rtt_us_ = rtt;
  if (rack_sent_us_ == 0 || sent_after(segment.sent_us, segment.end, rack_sent_us_, rack_end_)) {
    rack_sent_us_ = segment.sent_us;
    rack_end_ = segment.end;
  }
}

// Marks what is overdue; how long until the next is, in microseconds, 0: none.
std::int64_t Connection::rack_detect() {
  const std::int64_t now = now_us();
  std::int64_t window = 0;
  const bool impatient = !reordering_seen_ && (phase_ == Phase::recovery || phase_ == Phase::loss ||
                                               queue_.sacked_out >= reordering_);
  if (!impatient && rtt_.least_us() != INT64_MAX)
    window = std::min(rtt_.least_us() / 4 * rack_steps_, rtt_.smoothed_us());
  std::int64_t longest = 0;
  SendQueue::List& list = queue_.by_time();
  for (auto at = list.begin(); at != list.end();) {
    SendSegment& segment = *at++;
    if (segment.lost && !segment.retransmitted) continue;
    if (!sent_after(rack_sent_us_, rack_end_, segment.sent_us, segment.end)) break;
    const std::int64_t left = rack_rtt_us_ + window - (now - segment.sent_us);
    if (left <= 0)
      mark_lost(segment);
    else
      longest = std::max(longest, left);
  }
  return longest;
}

void Connection::rack_mark(Ack* ack) {
  if (!std::exchange(rack_advanced_, false)) return;
  const std::uint32_t lost_before = queue_.lost_out;
  const std::int64_t left = rack_detect();
  if (ack != nullptr && queue_.lost_out > lost_before)
    ack->newly_lost = queue_.lost_out - lost_before;
  if (left != 0) {
    wait_for(Wait::reordering, to_jiffies(left) + 2);
  }
}

void Connection::reordering_timeout() {
  const std::uint32_t before = queue_.in_flight();
  (void)rack_detect();
  if (before != queue_.in_flight()) {
    if (phase_ != Phase::recovery && phase_ != Phase::loss) {
      enter_recovery();
      Ack one;
      one.delivered = one.newly_lost = 1;
      reduce(one);
    }
    retransmit_lost();
  }
  if (waiting_ != Wait::retransmit) rearm_retransmit();
}

void Connection::note_reordering(Sequence low) {
  if (!highest_sacked_ || mss_ == 0) return;
  const std::uint32_t distance = (*highest_sacked_ - low + mss_ - 1) / mss_;
  reordering_ = std::max(reordering_, std::min(distance, std::uint32_t{300}));
  reordering_seen_ = true;
  ++tcp_.figures().sack_reorder;
}

// --- tail loss probes ----------------------------------------------------------------------------

// Two round trips without an answer: one more segment, so that there is one. False: not now.
bool Connection::schedule_loss_probe(bool advancing) {
  if (!options_.tail_loss_probe || !sacks_ || queue_.packets_out == 0) return false;
  if (phase_ != Phase::open && phase_ != Phase::reduced) return false;
  if (queue_.sacked_out != 0) return false;
  std::uint64_t wait = to_jiffies(1'000'000);
  if (rtt_.known()) {
    wait = to_jiffies(2 * rtt_.smoothed_us());
    wait += queue_.packets_out == 1 ? to_jiffies(options_.least_timeout.count() / 1000) : 2;
  }
  // Not later than the timeout that it spares; an acknowledgement has begun that anew.
  wait = std::min(wait, advancing ? timeout_ : left_of_timeout());
  wait_for(Wait::loss_probe, std::max<std::uint64_t>(wait, 1));
  return true;
}

void Connection::send_loss_probe() {
  if (probe_end_) {  // one at a time
    rearm_retransmit();
    return;
  }
  SendSegment* next = queue_.next_unsent();
  const std::uint32_t before = queue_.packets_out;
  probe_was_retransmission_ = false;
  if (next != nullptr && window_end_room(next->first) != 0) {
    (void)write(current_mss(), kPush, 2);
  }
  if (queue_.packets_out == before) {
    SendSegment* last = queue_.last_sent();
    if (last == nullptr) return;
    const std::uint32_t mss = current_mss();
    if (last->segments > 1 && last->bytes > (last->segments - 1) * mss)
      last = &queue_.split(*last, (last->segments - 1) * mss, mss, true);
    if (!retransmit(*last, 1)) {
      rearm_retransmit();
      return;
    }
    probe_was_retransmission_ = true;
  }
  probe_end_ = snd_nxt_;
  ++tcp_.figures().loss_probes;
  ++info_.loss_probes;
  stop_waiting();
  rearm_retransmit();
}

void Connection::take_loss_probe_ack(const Ack& ack) {
  if (snd_una_ < *probe_end_) return;
  if (!probe_was_retransmission_ || ack.duplicate_sacked) {
    probe_end_.reset();  // nothing was lost
  } else if (snd_una_ > *probe_end_ || ack.advanced) {
    // The probe repaired a loss: the window hears of it.
    if (ack.retransmitted_acked && phase_ == Phase::open) {
      begin_reduction();
      end_reduction();
    }
    probe_end_.reset();
  }
}

// --- sending again -------------------------------------------------------------------------------

// tcp_xmit_retransmit_queue: from the first lost segment on, as far as the window lets.
void Connection::retransmit_lost() {
  if (!lost_from_ || state_ == State::closed) return;
  const bool begun = phase_ == Phase::recovery || phase_ == Phase::loss;
  if (!begun || queue_.lost_out <= 0) return;
  bool sent = false;
  SendSegment* segment = queue_.find(*lost_from_);
  while (segment != nullptr) {
    if (!segment->lost || segment->retransmitted) {
      segment = queue_.after(*segment);
      if (segment != nullptr) lost_from_ = segment->first;
      continue;
    }
    if (queue_.in_flight() >= window_.size) break;
    if (below_is_full(*segment, 1)) break;
    const std::uint32_t quota = window_.size - queue_.in_flight();
    const std::uint32_t stamp = timestamp();  // not later than the one in the header
    if (!retransmit(*segment, quota)) break;
    note_repair(segment->segments, stamp);
    sent = true;
    ++(phase_ == Phase::loss ? tcp_.figures().slow_start_retrans : tcp_.figures().fast_retrans);
    if (phase_ == Phase::recovery) prr_out_ += segment->segments;
    segment = queue_.after(*segment);
    if (segment != nullptr) lost_from_ = segment->first;
  }
  if (segment == nullptr) lost_from_.reset();
  if (sent && waiting_ != Wait::reordering) {
    stop_waiting();
    rearm_retransmit();
  }
}

// tcp_retransmit_skb: at most so many segments of it; false: it could not be sent.
bool Connection::retransmit(SendSegment& segment, std::uint32_t segments) {
  const std::uint32_t mss = current_mss();
  if (segment.first >= window_end() && segment.first != snd_una_) return false;
  std::uint32_t most = mss * std::max<std::uint32_t>(segments, 1);
  if (!can_segment()) most = mss;
  if (segment.bytes > most) (void)queue_.split(segment, most, mss, true);
  if (!transmit(segment, true)) return false;
  segment.sent_us = now_us();
  queue_.note_sent_again(segment);
  tcp_.figures().retrans_segs += segment.segments;
  info_.total_retrans += segment.segments;
  return true;
}

}  // namespace tapestry::net::tcp
