#include "net/tcp/send_queue.hpp"

#include <algorithm>
#include <utility>

namespace tapestry::net::tcp {

void SendSegment::append(core::PayloadRef piece) {
  const std::size_t length = piece.length();
  bytes += static_cast<std::uint32_t>(length);
  end += static_cast<std::uint32_t>(length);
  if (would_join(piece)) {
    ranges[ranges_used - 1u].lengthen(length);
    return;
  }
  TAPESTRY_ASSERT(has_range_left(), "a segment has a bounded number of ranges");
  ranges[ranges_used++] = std::move(piece);
}

SendSegment& SendQueue::append(Sequence at) {
  auto segment = std::make_unique<SendSegment>();
  segment->first = segment->end = at;
  memory_ += kSegmentMemory;
  unsent_.push_back(*segment);
  return *segment.release();
}

void SendQueue::drop_last_unsent() {
  SendSegment& segment = unsent_.back();
  memory_ -= segment.memory();
  unsent_.pop_back_and_dispose(std::default_delete<SendSegment>());
}

void SendQueue::move_to_sent(SendSegment& segment) {
  unsent_.pop_front();
  sent_.insert(sent_.end(), segment);
  by_time_.push_back(segment);
  packets_out += segment.segments;
}

void SendQueue::leave_time_order(SendSegment& segment) {
  if (static_cast<boost::intrusive::list_base_hook<>&>(segment).is_linked())
    by_time_.erase(List::s_iterator_to(segment));
}

void SendQueue::note_sent_again(SendSegment& segment) {
  if (!segment.retransmitted) retransmitted_out += segment.segments;
  segment.retransmitted = segment.ever_retransmitted = true;
  leave_time_order(segment);
  by_time_.push_back(segment);
}

SendSegment* SendQueue::after(SendSegment& segment) {
  auto next = std::next(Sent::s_iterator_to(segment));
  return next == sent_.end() ? nullptr : &*next;
}

SendSegment* SendQueue::find(Sequence at) {
  auto found = sent_.upper_bound(at, ByFirst());
  if (found != sent_.begin()) {
    auto before = std::prev(found);
    if (at < before->end) return &*before;
  }
  return found == sent_.end() ? nullptr : &*found;
}

void SendQueue::remove(SendSegment& segment) {
  packets_out -= segment.segments;
  if (segment.sacked) sacked_out -= segment.segments;
  if (segment.lost) lost_out -= segment.segments;
  if (segment.retransmitted) retransmitted_out -= segment.segments;
  memory_ -= segment.memory();
  leave_time_order(segment);
  sent_.erase(Sent::s_iterator_to(segment));
  std::default_delete<SendSegment>()(&segment);
}

// --- marks ---------------------------------------------------------------------------------------

void SendQueue::mark_sacked(SendSegment& segment) {
  unmark_lost(segment);
  forget_retransmission(segment);
  segment.sacked = true;
  sacked_out += segment.segments;
  leave_time_order(segment);
}

void SendQueue::mark_lost(SendSegment& segment) {
  if (segment.lost || segment.sacked) return;
  segment.lost = true;
  lost_out += segment.segments;
}

void SendQueue::unmark_lost(SendSegment& segment) {
  if (std::exchange(segment.lost, false)) lost_out -= segment.segments;
}

void SendQueue::forget_retransmission(SendSegment& segment) {
  if (std::exchange(segment.retransmitted, false)) retransmitted_out -= segment.segments;
}

// --- cutting -------------------------------------------------------------------------------------

SendSegment& SendQueue::split(SendSegment& segment, std::uint32_t bytes, std::uint32_t mss,
                              bool sent) {
  TAPESTRY_ASSERT(bytes > 0 && bytes < segment.bytes && !segment.syn, "a cut lies inside");
  auto made = std::make_unique<SendSegment>();
  SendSegment& rest = *made.release();
  rest.first = segment.first + bytes;
  rest.end = rest.first;
  const Sequence end = segment.end;
  rest.sacked = segment.sacked;
  rest.lost = segment.lost;
  rest.retransmitted = segment.retransmitted;
  rest.ever_retransmitted = segment.ever_retransmitted;
  rest.sent_us = segment.sent_us;
  rest.born = segment.born;
  rest.flow = segment.flow;
  rest.payload_owner = segment.payload_owner;
  rest.fin = std::exchange(segment.fin, false);
  rest.push = std::exchange(segment.push, false);

  std::uint32_t keep = bytes;
  std::uint8_t kept = 0;
  for (std::uint8_t i = 0; i < segment.ranges_used; ++i) {
    core::PayloadRef& range = segment.ranges[i];
    const auto length = static_cast<std::uint32_t>(range.length());
    const std::uint32_t here = std::min(keep, length);
    keep -= here;
    if (here < length) rest.append(range.slice(here, length - here));
    if (here == 0) {
      range.reset();
      continue;
    }
    range.shorten_to(here);
    ++kept;
  }
  segment.ranges_used = kept;
  segment.bytes = bytes;
  segment.end = rest.first;
  rest.end = end;
  memory_ += kSegmentMemory;

  const std::uint32_t before = segment.segments;
  segment.count(mss);
  rest.count(mss);
  if (!sent) {
    unsent_.insert(std::next(List::s_iterator_to(segment)), rest);
    return rest;
  }
  const std::uint32_t more = segment.segments + rest.segments - before;  // modulo 2^32
  packets_out += more;
  if (segment.sacked) sacked_out += more;
  if (segment.lost) lost_out += more;
  if (segment.retransmitted) retransmitted_out += more;
  sent_.insert(rest);
  if (static_cast<boost::intrusive::list_base_hook<>&>(segment).is_linked())
    by_time_.insert(std::next(List::s_iterator_to(segment)), rest);
  return rest;
}

void SendQueue::trim_front(SendSegment& segment, std::uint32_t bytes, std::uint32_t mss) {
  TAPESTRY_ASSERT(bytes < segment.sequence_length(), "something of it is left");
  bytes = std::min(bytes, segment.bytes);
  std::uint32_t left = bytes;
  std::uint8_t gone = 0;
  while (left != 0) {
    core::PayloadRef& range = segment.ranges[gone];
    const std::uint32_t here = std::min(left, static_cast<std::uint32_t>(range.length()));
    range.remove_prefix(here);
    left -= here;
    if (range.length() != 0) break;
    range.reset();
    ++gone;
  }
  std::move(segment.ranges.begin() + gone, segment.ranges.begin() + segment.ranges_used,
            segment.ranges.begin());
  segment.ranges_used = static_cast<std::uint8_t>(segment.ranges_used - gone);
  segment.first += bytes;
  segment.bytes -= bytes;
  memory_ -= bytes;
  const std::uint32_t before = segment.segments;
  segment.count(mss);
  const std::uint32_t fewer = before - segment.segments;
  packets_out -= fewer;
  if (segment.sacked) sacked_out -= fewer;
  if (segment.lost) lost_out -= fewer;
  if (segment.retransmitted) retransmitted_out -= fewer;
}

void SendQueue::clear() {
  by_time_.clear();
  sent_.clear_and_dispose(std::default_delete<SendSegment>());
  unsent_.clear_and_dispose(std::default_delete<SendSegment>());
  packets_out = sacked_out = lost_out = retransmitted_out = 0;
  memory_ = 0;
}

}  // namespace tapestry::net::tcp
