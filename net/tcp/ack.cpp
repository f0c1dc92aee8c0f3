// Acknowledgements: what they free, what they say of the path, what the window makes of them
// (tcp_ack, tcp_clean_rtx_queue, tcp_sacktag_write_queue).
#include <algorithm>
#include <utility>

#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

// False: it acknowledges what was never sent; the segment is not to be used.
bool Connection::take_ack(Input& in) {
  const Header& header = in.header;
  const Sequence prior_una = snd_una_;
  Ack ack;
  ack.has_data = in.length != 0;
  ack.prior_highest = highest_sacked_;
  if (timestamps_ && header.has_timestamps && header.timestamp_echo != 0)
    ack.echo = header.timestamp_echo;
  if (header.acknowledgement > snd_nxt_) {
    send_challenge_ack();
    return false;
  }
  if (header.acknowledgement < snd_una_) {
    if (header.acknowledgement < snd_una_ - window_max_) {  // RFC 5961, section 5.2
      send_challenge_ack();
      return false;
    }
    if (header.sacks != 0 && sacks_) {
      take_sacks(header, ack, prior_una);
      judge(ack, 0);
      retransmit_lost();
    }
    return true;
  }
  take_timestamp(in);
  const bool had_packets = queue_.packets_out != 0;
  const std::uint32_t sacked_before = queue_.sacked_out;
  ack.advanced = header.acknowledgement > snd_una_;
  update_send_window(in, ack);
  if (ack.advanced) {
    info_.bytes_acked += header.acknowledgement - snd_una_;
    retransmits_ = 0;
  }
  snd_una_ = header.acknowledgement;
  probes_out_ = 0;
  if (!had_packets) {
    take_late_ack(header, ack, prior_una);
    return true;
  }
  if (header.sacks != 0 && sacks_) take_sacks(header, ack, prior_una);
  const std::uint32_t packets_before = queue_.packets_out;
  clean_sent(ack, prior_una);
  note_round_trip(ack, header);
  const std::uint32_t acked = packets_before - queue_.packets_out;
  if (sacks_)
    ack.delivered = acked + queue_.sacked_out - sacked_before;
  else if (acked != 0)  // duplicates have counted some of them already
    ack.delivered = acked > sacked_before ? acked - sacked_before : 1;
  if (probe_end_) take_loss_probe_ack(ack);
  const bool plain_duplicate =
      !ack.advanced && !ack.has_data && !ack.window_updated && !ack.duplicate_sacked;
  const bool dubious = !(ack.advanced || ack.has_data || ack.window_updated) || ack.sacked ||
                       phase_ != Phase::open || ack.duplicate_sacked;
  if (dubious) judge(ack, plain_duplicate ? in.segments : 0);
  if (!sacks_ && plain_duplicate) ack.delivered += in.segments;
  if (ack.rearm && !schedule_loss_probe(true)) rearm_retransmit();
  control_window(ack, ack.delivered);
  retransmit_lost();
  return true;
}

void Connection::take_timestamp(const Input& in) {
  const Header& header = in.header;
  if (!timestamps_ || !header.has_timestamps) return;
  // RFC 7323: of the segment that the last acknowledgement was about.
  if (header.sequence > last_ack_sent_) return;
  if (has_ts_recent_ && static_cast<std::int32_t>(header.timestamp - ts_recent_) < 0) return;
  ts_recent_ = header.timestamp;
  ts_recent_us_ = now_us();
  has_ts_recent_ = true;
}

void Connection::update_send_window(const Input& in, Ack& ack) {
  const Header& header = in.header;
  const std::uint32_t window = std::uint32_t{header.window} << (header.syn ? 0 : snd_scale_);
  const bool newer = header.acknowledgement > snd_una_ || header.sequence > snd_wl1_ ||
                     (header.sequence == snd_wl1_ && window > snd_wnd_);
  if (!newer) return;
  ack.window_updated = window != snd_wnd_;
  snd_wl1_ = header.sequence;
  snd_wnd_ = window;
  window_max_ = std::max(window_max_, window);
}

// Nothing was on its way: has some of it come twice? Is this the answer to a probe, or does the
// window open?
void Connection::take_late_ack(const Header& header, Ack& ack, Sequence prior_una) {
  if (header.sacks != 0 && sacks_) take_sacks(header, ack, prior_una);
  if (ack.duplicate_sacked) judge(ack, 0);
  const SendSegment* next = queue_.next_unsent();
  if (next == nullptr) return;
  if (next->end <= window_end()) {
    backoff_ = 0;
    set_timeout();
    stop_waiting(Wait::zero_window);
  } else {
    check_probe_timer();
  }
}

// --- freeing what was acknowledged ---------------------------------------------------------------

void Connection::clean_sent(Ack& ack, Sequence prior_una) {
  cpu().settle();  // writers look at how much is queued
  std::int64_t first_sent = -1, last_sent = -1;
  std::int64_t freed = 0;
  Sequence reordered = snd_una_;
  while (SendSegment* segment = queue_.first_sent()) {
    const bool whole = segment->end <= snd_una_;
    if (!whole) {
      if (segment->segments == 1 || snd_una_ <= segment->first) break;
      const std::uint32_t before = segment->segments;
      queue_.trim_front(*segment, snd_una_ - segment->first, mss_);
      if (before == segment->segments) break;
    }
    if (segment->retransmitted || segment->ever_retransmitted) {
      ack.retransmitted_acked = true;
    } else if (!segment->sacked) {
      last_sent = segment->sent_us;
      if (first_sent < 0) first_sent = last_sent;
      if (segment->first < reordered) reordered = segment->first;
    }
    if (!segment->sacked && sacks_) rack_advance(*segment);
    (segment->syn ? ack.syn_acked : ack.data_acked) = true;
    if (!whole) break;
    ++freed;
    queue_.remove(*segment);
  }
  if (!ack.data_acked && !ack.syn_acked) return;
  cpu().charge(sched::Work::tcp_ack, freed);
  shrunk_ = true;
  ack.rearm = true;
  std::erase_if(sacked_, [this](Range range) { return range.end <= snd_una_; });
  if (sacks_ && ack.prior_highest && reordered < *ack.prior_highest && reordered >= prior_una &&
      reordered < snd_una_ && !ack.retransmitted_acked)
    note_reordering(reordered);
  if (highest_sacked_ && *highest_sacked_ <= snd_una_) highest_sacked_.reset();
  if (lost_from_ && *lost_from_ < snd_una_) lost_from_ = snd_una_;
  if (ack.retransmitted_acked) first_sent = last_sent = -1;
  if (first_sent >= 0) {
    const std::int64_t now = now_us();
    ack.rtt_us = now - first_sent;
    rtt_.note_least(std::max<std::int64_t>(now - last_sent, 1), now);
    rtt_.add(ack.rtt_us, snd_una_, snd_nxt_);
    backoff_ = 0;
    set_timeout();
    ack.rtt_us = now - last_sent;  // what congestion control sees
  }
}

// What a selective acknowledgement or an echoed timestamp says, if nothing better is known.
void Connection::note_round_trip(Ack& ack, const Header& header) {
  if (ack.rtt_us >= 0) return;
  const std::int64_t now = now_us();
  std::int64_t sample = -1;
  if (ack.sack_sent_us >= 0) {
    sample = now - ack.sack_sent_us;
  } else if ((ack.data_acked || ack.syn_acked) && timestamps_ && header.has_timestamps &&
             header.timestamp_echo != 0) {
    const std::uint32_t ms = timestamp() - header.timestamp_echo;
    if (ms < 0x7fff'ffff / 1000) sample = std::max<std::int64_t>(std::int64_t{ms} * 1000, 1000);
  }
  if (sample < 0) return;
  rtt_.add(sample, snd_una_, snd_nxt_);
  backoff_ = 0;
  set_timeout();
}

// --- selective acknowledgements ------------------------------------------------------------------

void Connection::take_sacks(const Header& header, Ack& ack, Sequence prior_una) {
  std::size_t i = 0;
  const Range first = header.sack[0];
  // RFC 2883: a first block below the acknowledgement, or inside of the second, is a duplicate.
  const bool below = first.first < header.acknowledgement;
  const bool inside =
      header.sacks > 1 && header.sack[1].first <= first.first && first.end <= header.sack[1].end;
  if (below || inside) {
    ack.duplicate_sacked = true;
    ++tcp_.figures().dsack_recv;
    if (rack_steps_ < 255) ++rack_steps_;
    note_needless(first);
    i = 1;
  }
  std::array<Range, kSacksMax> blocks = header.sack;
  const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(i);
  const auto end = blocks.begin() + header.sacks;
  std::sort(begin, end, [](Range a, Range b) { return a.first < b.first; });
  for (auto at = begin; at != end; ++at) {
    Range block = *at;
    if (!(block.first < block.end) || block.end > snd_nxt_ || block.first < prior_una) continue;
    block.first = later(block.first, header.acknowledgement);
    if (block.first < block.end) take_sack(block, ack);
  }
}

// Only what was not known before is looked at.
void Connection::take_sack(Range block, Ack& ack) {
  Sequence at = block.first;
  while (at < block.end) {
    const auto range = std::ranges::find_if(sacked_, [at](Range r) { return at < r.end; });
    if (range != sacked_.end() && range->first <= at) {
      at = range->end;
      continue;
    }
    const Sequence end = range != sacked_.end() ? earlier(block.end, range->first) : block.end;
    take_sack_gap({at, end}, ack);
    at = end;
  }
}

// A segment that is covered in part is cut, at a multiple of the segment size.
void Connection::take_sack_gap(Range gap, Ack& ack) {
  SendSegment* segment = queue_.find(gap.first);
  std::int64_t looked = 0;
  while (segment != nullptr && segment->first < gap.end) {
    ++looked;
    if (segment->first < gap.first) {
      const std::uint32_t front = (gap.first - segment->first + mss_ - 1) / mss_ * mss_;
      if (front < segment->bytes)
        segment = &queue_.split(*segment, front, mss_, true);
      else
        segment = queue_.after(*segment);
      continue;
    }
    if (segment->end > gap.end) {
      const std::uint32_t front = (gap.end - segment->first) / mss_ * mss_;
      if (front == 0) break;
      if (front < segment->bytes) (void)queue_.split(*segment, front, mss_, true);
    }
    if (!segment->sacked) {
      if (!segment->ever_retransmitted) {
        if (ack.sack_sent_us < 0) ack.sack_sent_us = segment->sent_us;
        if (ack.prior_highest && segment->first < *ack.prior_highest)
          note_reordering(segment->first);
      }
      rack_advance(*segment);
      queue_.mark_sacked(*segment);
      ack.sacked = true;
      if (!highest_sacked_ || *highest_sacked_ < segment->first) highest_sacked_ = segment->first;
      add_sacked({segment->first, segment->end});
    }
    segment = queue_.after(*segment);
  }
  cpu().charge(sched::Work::tcp_ack, looked);
}

void Connection::add_sacked(Range range) {
  auto at = std::ranges::find_if(sacked_, [range](Range r) { return range.first <= r.end; });
  if (at == sacked_.end() || range.end < at->first) {
    sacked_.insert(at, range);
    return;
  }
  at->first = earlier(at->first, range.first);
  at->end = later(at->end, range.end);
  while (std::next(at) != sacked_.end() && std::next(at)->first <= at->end) {
    at->end = later(at->end, std::next(at)->end);
    sacked_.erase(std::next(at));
  }
}

// --- the window ----------------------------------------------------------------------------------

void Connection::control_window(const Ack& ack, std::uint32_t acked) {
  AckView view;
  view.acked = acked;
  view.now_us = now_us();
  view.rtt_us = ack.rtt_us;
  view.acknowledged = snd_una_;
  view.next = snd_nxt_;
  view.window_limited =
      window_.in_slow_start() ? window_.size < 2 * packets_out_max_ : window_limited_;
  if (ack.data_acked && !ack.retransmitted_acked) algorithm_->measured(window_, view);
  if (phase_ == Phase::reduced || phase_ == Phase::recovery) {
    if (ack.delivered != 0 || ack.newly_lost != 0 || ack.advanced) reduce(ack);
  } else if (ack.data_acked || ack.syn_acked) {
    // The SYN's does not count: there is nothing yet that a window would bound.
    if (!ack.syn_acked) algorithm_->acknowledged(window_, view);
    window_stamp_us_ = view.now_us;
  }
  update_pacing_rate();
  tell_window();
}

void Connection::tell_window() {
  core::Timeline& timeline = stack_.scheduler().hub().timeline();
  if (!timeline.on_happening.watched()) return;
  timeline.tell(
      core::Happening::window,
      timeline.names().intern(stack_.scheduler().name() + " port " + std::to_string(local_.port)),
      std::uint64_t{window_.size} * current_mss());
}

// tcp_update_pacing_rate: twice what goes now while in slow start, else a fifth more.
void Connection::update_pacing_rate() {
  std::int64_t rate = std::int64_t{mss_} * 1'000'000 / 100;
  rate *= window_.size < window_.threshold / 2 ? 200 : 120;
  rate *= std::max(window_.size, queue_.packets_out);
  rate *= 8;
  if (rtt_.known()) rate /= rtt_.smoothed_8_us();
  pacing_rate_ = rate;
}

// tcp_sndbuf_expand: twice the window, with what packets cost beside their bytes.
void Connection::expand_send_buffer() {
  if (send_buffer_fixed_) return;
  std::uint32_t each = std::max(peer_mss_, mss_) + 320 + 320;
  std::uint32_t object = 1;
  while (object < each)
    object *= 2;
  each = object + 256;
  const std::uint32_t segments = std::max({options_.initial_window, window_.size, reordering_ + 1});
  const std::uint64_t wanted = std::uint64_t{2} * segments * each;
  if (wanted > send_buffer_)
    send_buffer_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, options_.send_memory[2]));
}

// tcp_check_space, tcp_new_space, sk_stream_write_space: wakes writers when a third is free.
void Connection::check_space() {
  if (!std::exchange(shrunk_, false) || !wants_space_) return;
  if (queue_.in_flight() < window_.size) expand_send_buffer();
  if (queue_.memory() >= send_buffer_) return;
  if (send_buffer_ - queue_.memory() < queue_.memory() / 2) return;
  wants_space_ = false;
  cpu().settle();
  wake_writers();
}

}  // namespace tapestry::net::tcp
