// What an application has written and the peer has not acknowledged: segments that wait to be sent,
// and segments that were sent, with what is known of each (sacked, lost, sent again).
//
// Sent segments are found by sequence number in a tree and stand in a second list by the time they
// were last sent, so that neither a selective acknowledgement nor the search for losses scans the
// queue: its length costs its logarithm.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <memory>

#include "core/packet.hpp"
#include "core/payload.hpp"
#include "core/time.hpp"
#include "net/tcp/sequence.hpp"

namespace tapestry::net::tcp {

// Packet memory of a segment without its bytes: an sk_buff for TCP (SKB_TRUESIZE of 704 bytes).
inline constexpr std::uint32_t kSegmentMemory = 1280;

struct SendSegment : boost::intrusive::list_base_hook<>, boost::intrusive::set_base_hook<> {
  static constexpr std::size_t kRangesMax = core::Packet::kFragmentsMax - 1;  // MAX_SKB_FRAGS

  Sequence first;
  Sequence end;  // behind SYN and FIN, which count one each
  bool syn = false, fin = false, push = false;
  bool sacked = false;         // the peer has it, but not what is before it
  bool lost = false;           // believed lost
  bool retransmitted = false;  // and that retransmission is on its way
  bool ever_retransmitted = false;
  std::uint32_t segments = 1;  // packets on the wire (tcp_skb_pcount)
  std::int64_t sent_us = 0;    // when it was last sent
  core::Instant born{};        // when its first byte was written
  std::uint32_t flow = 0;
  core::CacheOwner payload_owner = 0;  // who wrote last
  std::uint32_t bytes = 0;             // of payload
  std::uint8_t ranges_used = 0;
  std::array<core::PayloadRef, kRangesMax> ranges;

  std::uint32_t memory() const { return kSegmentMemory + bytes; }
  std::uint32_t sequence_length() const { return end - first; }
  bool has_range_left() const { return ranges_used < kRangesMax; }
  // Takes a piece that continues its last one; without asking whether a range is left.
  void append(core::PayloadRef piece);
  bool would_join(const core::PayloadRef& piece) const {
    return ranges_used != 0 && ranges[ranges_used - 1u].continues_with(piece);
  }
  void count(std::uint32_t mss) { segments = bytes <= mss ? 1 : (bytes + mss - 1) / mss; }
};

class SendQueue {
 public:
  SendQueue() = default;
  ~SendQueue() { clear(); }
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  struct ByFirst {
    bool operator()(const SendSegment& a, const SendSegment& b) const { return a.first < b.first; }
    bool operator()(const SendSegment& a, Sequence b) const { return a.first < b; }
    bool operator()(Sequence a, const SendSegment& b) const { return a < b.first; }
  };
  using Sent = boost::intrusive::set<SendSegment, boost::intrusive::compare<ByFirst>>;
  using List = boost::intrusive::list<SendSegment>;

  // --- not yet sent ------------------------------------------------------------------------------
  SendSegment& append(Sequence at);  // a new, empty one behind all
  SendSegment* next_unsent() { return unsent_.empty() ? nullptr : &unsent_.front(); }
  SendSegment* last_unsent() { return unsent_.empty() ? nullptr : &unsent_.back(); }
  bool is_last(const SendSegment& segment) const { return &segment == &unsent_.back(); }
  void note_written(std::uint32_t bytes) { memory_ += bytes; }
  void drop_last_unsent();  // an empty one that got no bytes

  // --- sent --------------------------------------------------------------------------------------
  void move_to_sent(SendSegment& segment);  // the first of the unsent
  void note_sent_again(SendSegment& segment);
  SendSegment* first_sent() { return sent_.empty() ? nullptr : &*sent_.begin(); }
  SendSegment* last_sent() { return sent_.empty() ? nullptr : &*sent_.rbegin(); }
  SendSegment* after(SendSegment& segment);
  // The sent segment that holds this number, or the first behind it; null: none.
  SendSegment* find(Sequence at);
  // Gone from the front of the queue: acknowledged.
  void remove(SendSegment& segment);
  // By time; without those that were sacked or given up as lost since they were last sent.
  List& by_time() { return by_time_; }
  void leave_time_order(SendSegment& segment);

  // Cuts a segment in two, the first with `bytes` of payload; flags and marks follow.
  SendSegment& split(SendSegment& segment, std::uint32_t bytes, std::uint32_t mss, bool sent);
  // Gives away the first bytes of a segment that are acknowledged.
  void trim_front(SendSegment& segment, std::uint32_t bytes, std::uint32_t mss);

  void mark_sacked(SendSegment& segment);
  void mark_lost(SendSegment& segment);
  void forget_retransmission(SendSegment& segment);
  void unmark_lost(SendSegment& segment);

  bool has_sent() const { return !sent_.empty(); }
  bool empty() const { return sent_.empty() && unsent_.empty(); }
  std::uint32_t memory() const { return memory_; }  // sk_wmem_queued
  // Packets on the wire: sent and not acknowledged; of these sacked, lost; sent again.
  std::uint32_t packets_out = 0, sacked_out = 0, lost_out = 0, retransmitted_out = 0;
  std::uint32_t in_flight() const {
    return packets_out - (sacked_out + lost_out) + retransmitted_out;
  }

  void clear();

 private:
  // A segment waits in `unsent_`, or stands in `sent_`; then it may be in `by_time_` as well, by
  // the hook that the first list does not need any more.
  List unsent_;
  Sent sent_;
  List by_time_;
  std::uint32_t memory_ = 0;
};

}  // namespace tapestry::net::tcp
