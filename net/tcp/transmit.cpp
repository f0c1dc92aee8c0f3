// Segments as packets: data, acknowledgements, resets, probes (__tcp_transmit_skb).
#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/checksum_offload.hpp"
#include "net/headers.hpp"
#include "net/ipv4.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"
#include "net/tcp/connection.hpp"
#include "net/tcp/tcp.hpp"

namespace tapestry::net::tcp {

namespace {

constexpr int kChallengesASecond = 2;  // tcp_invalid_ratelimit is 500 ms

}  // namespace

// What every header of this connection says. `may_sack`: blocks, as many as there is room for.
void Connection::finish_header(Header& header, bool may_sack) {
  header.source = local_.port;
  header.destination = remote_.port;
  if (header.ack) {
    header.acknowledgement = rcv_nxt_;
    if (!header.syn)
      header.window = static_cast<std::uint16_t>(select_window());
    else
      header.window = static_cast<std::uint16_t>(std::min<std::uint32_t>(rcv_wnd_, 65535));
  }
  if (timestamps_ && !header.syn) {
    header.has_timestamps = true;
    header.timestamp = timestamp();
    header.timestamp_echo = ts_recent_;
  }
  if (may_sack && sacks_)
    header.sacks = received_.report(header.sack, header.has_timestamps ? 3 : 4);
}

// The checksum is left to the device, or to the framework in front of one that cannot.
void Connection::emit_and_send(core::PacketPtr packet, const Header& header, std::uint32_t memory) {
  const std::size_t bytes = header.bytes();
  const std::span<std::uint8_t> at = packet->push(bytes);
  emit(header, at);
  core::InternetChecksum pseudo;
  core::add_ipv4_pseudo_header(pseudo, local_.address.value, remote_.address.value, ipv4::kTcp,
                               static_cast<std::uint16_t>(packet->length()));
  core::store_be16(at.data() + kChecksumOffset, pseudo.sum());
  mark_unfinished_checksum(*packet, 0, kChecksumOffset);
  const std::uint32_t segments = std::max<std::uint32_t>(packet->gso_segments, 1);
  tcp_.figures().out_segs += segments;
  info_.segs_out += segments;
  ++info_.packets_out;
  if (memory != 0) {
    cpu().settle();
    account_->account(*packet, memory);
  }
  stack_.ipv4().send(
      std::move(packet), route_,
      {.source = local_.address, .destination = remote_.address, .protocol = ipv4::kTcp});
}

// One packet with the bytes of a segment, which it shares. False: there is no memory for it.
bool Connection::transmit(SendSegment& segment, bool again) {
  cpu().charge(sched::Work::tcp_output);
  const core::Origin origin = again ? core::Origin::duplication : core::Origin::stack;
  core::PacketPtr packet = stack_.allocator().allocate(origin);
  if (!packet) return false;
  for (std::uint8_t i = 0; i < segment.ranges_used; ++i)
    packet->append_payload(segment.ranges[i]);
  packet->account(segment.bytes);
  packet->reach(core::Milestone::socket_sent);
  packet->born = segment.born;
  packet->flow = segment.flow;
  packet->payload_owner = segment.payload_owner;
  if (segment.segments > 1) {
    packet->gso_size = static_cast<std::uint16_t>(current_mss());
    packet->gso_segments = static_cast<std::uint16_t>(segment.segments);
    packet->gso_type = core::GsoType::tcpv4;
  }
  Header header;
  header.sequence = segment.first;
  header.syn = segment.syn;
  header.fin = segment.fin;
  header.psh = segment.push;
  header.ack = !segment.syn || state_ == State::syn_received;
  if (segment.syn) {
    header.mss = static_cast<std::uint16_t>(advertised_mss_);
    const bool answer = header.ack;
    header.has_window_scale = answer ? scaling_ : options_.window_scaling;
    header.window_scale = rcv_scale_;
    header.sack_permitted = answer ? sacks_ : options_.selective_acks;
    header.has_timestamps = answer ? timestamps_ : options_.timestamps;
    header.timestamp = header.has_timestamps ? timestamp() : 0;
    header.timestamp_echo = header.has_timestamps && answer ? ts_recent_ : 0;
    header.window = static_cast<std::uint16_t>(std::min<std::uint32_t>(rcv_wnd_, 65535));
  }
  finish_header(header, !segment.syn);
  if (header.ack) note_ack_sent(segment.segments);
  if (segment.bytes != 0) {
    info_.data_segs_out += segment.segments;
    note_data_sent();
  }
  emit_and_send(std::move(packet), header, segment.memory());
  return true;
}

// A segment without data.
void Connection::transmit_header(Header header) {
  core::PacketPtr packet = stack_.allocator().allocate();
  if (!packet) return;
  ++info_.acks_out;
  packet->reach(core::Milestone::socket_sent);
  emit_and_send(std::move(packet), header, 0);
}

void Connection::send_ack() {
  if (state_ == State::closed) return;
  cpu().charge(sched::Work::tcp_ack_send);
  Header header;
  header.ack = true;
  header.sequence = snd_nxt_;
  finish_header(header, true);
  note_ack_sent(1);
  transmit_header(header);
}

// RFC 5961: whoever is really the peer answers what is true; not many in a second.
void Connection::send_challenge_ack() {
  const std::int64_t second = now_us() / 1'000'000;
  if (second != challenge_second_) {
    challenge_second_ = second;
    challenges_ = 0;
  }
  if (challenges_ >= kChallengesASecond) return;
  ++challenges_;
  ++tcp_.figures().challenge_acks;
  send_ack();
}

void Connection::send_reset() {
  cpu().charge(sched::Work::tcp_ack_send);
  ++tcp_.figures().out_rsts;
  Header header;
  header.rst = header.ack = true;
  header.sequence = snd_nxt_;
  finish_header(header, false);
  header.window = 0;
  transmit_header(header);
}

// The first SYN, or the SYN-ACK: a segment of the queue like any other, sent until it is answered.
void Connection::send_syn(bool with_ack) {
  SendSegment* sent = queue_.first_sent();
  if (sent != nullptr && sent->syn) {  // again
    if (!transmit(*sent, true)) return;
    sent->sent_us = now_us();
    queue_.note_sent_again(*sent);
    return;
  }
  SendSegment& segment = queue_.append(iss_);
  segment.syn = true;
  segment.end = iss_ + 1;
  snd_una_ = iss_;
  written_ = pushed_ = segment.end;
  window_usage_end_ = high_ = snd_small_ = iss_;
  (void)transmit(segment, false);
  segment.sent_us = now_us();
  snd_nxt_ = segment.end;
  queue_.move_to_sent(segment);
  wait_for(Wait::retransmit, timeout_);
  (void)with_ack;
}

// tcp_event_ack_sent
void Connection::note_ack_sent(std::uint32_t segments) {
  quick_acks_ -= std::min(quick_acks_, std::max(segments, std::uint32_t{1}));
  ack_scheduled_ = ack_now_ = ack_timed_ = ack_pushed_ = ack_pushed_twice_ = false;
  last_ack_sent_ = rcv_nxt_;
}

// tcp_event_data_sent: an answer that follows data soon makes it a conversation, in which data
// carries the acknowledgements.
void Connection::note_data_sent() {
  const std::int64_t now = now_us();
  const std::int64_t tick = stack_.environment().jiffies.tick().count() / 1000;
  if (ato_ != 0 && now - last_data_us_ < static_cast<std::int64_t>(ato_) * tick) ping_pong_ = true;
  last_sent_us_ = now;
}

// tcp_write_wakeup: a zero window is asked whether it still is.
void Connection::send_probe() {
  ++tcp_.figures().zero_window_probes;
  SendSegment* next = queue_.next_unsent();
  const std::uint32_t room = next != nullptr ? window_end_room(next->first) : 0;
  if (next != nullptr && room != 0) {
    const std::uint32_t mss = current_mss();
    const std::uint32_t bytes = std::min({room, next->bytes, mss});
    if (bytes != 0 && bytes < next->bytes) (void)queue_.split(*next, bytes, mss, false);
    next->push = true;
    next->count(mss);
    if (transmit(*next, false)) note_sent(*next);
    return;
  }
  cpu().charge(sched::Work::tcp_ack_send);
  Header header;
  header.ack = true;
  header.sequence = snd_una_ - 1;  // old: it must be answered
  finish_header(header, false);
  transmit_header(header);
}

}  // namespace tapestry::net::tcp
