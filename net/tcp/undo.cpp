// Second thoughts: a loss that was none. Segments that were only late get a sender to cut its
// window and send again; when the acknowledgements say so, the window becomes what it was
// (tcp_try_undo_*).
//
// Two things say so. Eifel (RFC 3522): what acknowledges the segment echoes a time before its
// retransmission, so it answers the original. D-SACK (RFC 3708): the peer has got every
// retransmission a second time.
#include <algorithm>

#include "net/tcp/connection.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

// tcp_init_undo: from here on it is counted what is sent again. What is on its way already counts,
// too; with nothing sent again no D-SACK can tell that all of it was in vain.
void Connection::remember_for_undo() {
  undo_from_ = snd_una_;
  undo_left_.reset();
  if (queue_.retransmitted_out != 0) undo_left_ = queue_.retransmitted_out;
  if (phase_ == Phase::open || phase_ == Phase::disorder) again_since_.reset();
}

void Connection::note_repair(std::uint32_t segments, std::uint32_t stamp) {
  if (!again_since_) again_since_ = stamp;
  undo_left_ = undo_left_.value_or(0) + segments;
}

// tcp_check_dsack: one of our repairs was one too many.
void Connection::note_needless(Range duplicate) {
  if (undo_from_ && undo_left_ && *undo_left_ != 0 && *undo_from_ < duplicate.end) --*undo_left_;
}

// tcp_packet_delayed
bool Connection::was_only_late(const Ack& ack) const {
  if (!again_since_) return true;
  return ack.echo && static_cast<std::int32_t>(*ack.echo - *again_since_) < 0;
}

bool Connection::may_undo(const Ack& ack) const {
  return undo_from_ && (undo_left_ == 0u || was_only_late(ack));
}

// tcp_undo_cwnd_reduction
void Connection::undo_reduction(bool unmark) {
  if (unmark) {
    for (SendSegment* segment = queue_.first_sent(); segment != nullptr;
         segment = queue_.after(*segment))
      queue_.unmark_lost(*segment);
    lost_from_.reset();
  }
  window_.size = std::max(window_.size, prior_window_);
  window_.threshold = std::max(window_.threshold, prior_threshold_);
  window_stamp_us_ = now_us();
  undo_from_.reset();
  rack_advanced_ = true;  // look anew at what is late
}

// tcp_try_undo_recovery: all that was on its way when it began has arrived. False: it was needed.
bool Connection::undo_all(const Ack& ack) {
  if (!may_undo(ack)) return false;
  ++(phase_ == Phase::loss ? tcp_.figures().loss_undo : tcp_.figures().full_undo);
  undo_reduction(false);
  return true;
}

// tcp_try_undo_partial: the first hole was no loss. While something sent again is on its way
// nothing more is, and the window waits for what becomes of that.
bool Connection::undo_partial(const Ack& ack) {
  if (!ack.advanced || !undo_from_ || !was_only_late(ack)) return false;
  if (queue_.retransmitted_out != 0) return true;
  again_since_.reset();
  undo_reduction(true);
  ++tcp_.figures().partial_undo;
  try_to_open();
  return true;
}

// tcp_try_undo_dsack
bool Connection::undo_by_duplicates() {
  if (!undo_from_ || undo_left_ != 0u) return false;
  undo_reduction(false);
  ++tcp_.figures().dsack_undo;
  return true;
}

// tcp_try_undo_loss: a timeout that came too early.
bool Connection::undo_loss(const Ack& ack) {
  if (!ack.advanced || !may_undo(ack)) return false;
  undo_reduction(true);
  ++tcp_.figures().loss_undo;
  retransmits_ = 0;
  if (sacks_) {
    phase_ = Phase::open;
    try_to_open();
  }
  return true;
}

}  // namespace tapestry::net::tcp
