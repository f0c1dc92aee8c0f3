// One TCP connection: the protocol's state machine (RFC 9293), Linux's way where it shows.
//
// All functions but those that say otherwise run with the connection's lock held, in process or
// softirq context, on a CPU that owes nothing or little: whatever leaves the connection (a packet,
// a wake-up, a timer, a look at the clock) settles for itself. The implementation is split by what
// it is about: state, input, acknowledgements, recovery, output, receive side, timers, calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/packet.hpp"
#include "irq/jiffy_timer.hpp"
#include "net/address.hpp"
#include "net/socket_status.hpp"
#include "net/tcp/congestion.hpp"
#include "net/tcp/header.hpp"
#include "net/tcp/info.hpp"
#include "net/tcp/lock.hpp"
#include "net/tcp/receive_queue.hpp"
#include "net/tcp/rtt.hpp"
#include "net/tcp/send_queue.hpp"
#include "net/tcp/traffic.hpp"

namespace tapestry::net {

class Tcp;

namespace tcp {

class Connection;
struct Listener;

class Connection {
 public:
  Connection(Tcp& tcp, Endpoint local, Endpoint remote, const Route& route);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- from a process, without the lock ----------------------------------------------------------
  SocketStatus connect(core::Instant deadline);
  SendResult send(std::span<const std::uint8_t> bytes, std::uint32_t flow, bool nonblocking,
                  core::Instant deadline);
  ReceiveResult receive(std::span<std::uint8_t> buffer, core::Instant deadline);
  void shutdown_send();
  void close();  // the process has no more to do with it; gone when this returns
  bool readable() const;
  bool writable() const;
  bool wait_readable(core::Instant deadline);
  bool wait_writable(core::Instant deadline);
  void set_no_delay(bool on);
  void set_cork(bool on);
  void set_quick_ack(bool on);
  void set_receive_buffer(std::uint32_t bytes);
  void set_send_buffer(std::uint32_t bytes);
  void set_congestion_control(CongestionControl which);
  Info info() const;

  // --- from softirqs, without the lock -----------------------------------------------------------
  void arrived(core::PacketPtr packet);  // begins at its TCP header, whose checksum is right
  void bytes_came_back();                // TSQ: send what was held back
  void undeliverable(Sequence sequence, SocketStatus why);  // ICMP about one of our segments

  // --- for Tcp -----------------------------------------------------------------------------------
  void open_passively(const Header& syn, Listener& listener);
  void listener_gone();
  void reset_unaccepted();  // its listener has closed
  const Endpoint& local() const { return local_; }
  const Endpoint& remote() const { return remote_; }
  State state() const { return state_; }
  // May a SYN begin a new connection in place of this one? (TIME_WAIT; RFC 6191)
  bool gives_way_to(const Header& syn) const;
  Sequence next_initial_sequence() const { return snd_nxt_ + 65535 + 2; }
  void end_quietly() { finish(); }
  void hold() { ++references_; }
  void let_go();

  Connection* next_in_bucket = nullptr;
  Connection* next_throttled = nullptr;
  bool in_table = false;
  bool queued_as_throttled = false;
  bool owned_by_socket = false;

 private:
  friend class SendAccount;
  class Owned;
  enum class Wait : std::uint8_t { none, retransmit, loss_probe, reordering, zero_window };
  enum class Phase : std::uint8_t { open, disorder, reduced, recovery, loss };  // tcp_ca_state

  // What an acknowledgement has brought (FLAG_*).
  struct Ack {
    bool advanced = false;  // snd_una moved
    bool data_acked = false;
    bool syn_acked = false;
    bool retransmitted_acked = false;
    bool sacked = false;
    bool duplicate_sacked = false;  // D-SACK
    bool window_updated = false;
    bool has_data = false;
    bool rearm = false;
    bool lost_retransmission = false;
    std::uint32_t delivered = 0;  // segments, newly acknowledged or sacked
    std::uint32_t newly_lost = 0;
    std::int64_t rtt_us = -1;
    std::int64_t sack_sent_us = -1;
    std::optional<Sequence> prior_highest;  // SACKed, before this one
    std::optional<std::uint32_t> echo;      // of our timestamp
  };

  // state (connection.cpp)
  void set_state(State state);
  void finish();  // to closed, out of the table
  void fail(SocketStatus error);
  void enter_time_wait();
  void become_established();
  void take_peer_options(const Header& header);
  void choose_initial_window();
  void set_sizes();
  void let_go_of_lock();
  void run_deferred();
  void wake_readers();
  void wake_writers();

  // input.cpp
  void input(core::PacketPtr packet);
  void input_syn_sent(Input& in);
  void input_synchronized(Input& in);
  bool input_syn_received(Input& in);
  void input_time_wait(Input& in);
  bool acceptable(Input& in);
  bool is_too_old(const Header& header) const;
  void take_timestamp(const Input& in);
  void after_ack_in_state();
  void take_data(Input& in);
  void take_in_order(Input& in);
  void take_early(Input& in);
  void take_fin();
  void refuse_data(Input& in, core::DropReason reason);
  void drop(Input& in, core::DropReason reason);
  void done(Input& in);

  // receive_side.cpp
  void note_data(const Input& in);
  void measure_receive_mss(const Input& in);
  void measure_receive_rtt(const Input& in);
  void update_receive_rtt(std::int64_t sample_us, bool by_window);
  void grow_window(std::uint32_t memory, std::uint32_t length);
  void adjust_receive_space();
  bool make_receive_room(std::uint32_t bytes);
  void acknowledge_if_due();
  void delay_ack();
  void after_read(std::uint32_t copied);
  void raise_quick_acks(std::uint32_t most);
  void enter_quick_ack(std::uint32_t most);
  bool in_quick_ack_mode() const { return quick_acks_ != 0 && !ping_pong_; }
  std::uint32_t receive_window() const;
  std::uint32_t window_to_offer();
  std::uint32_t select_window();
  std::uint32_t space_of(std::uint32_t memory) const { return memory - memory / 2; }
  std::uint32_t free_space() const;
  std::uint32_t full_space() const { return space_of(receive_buffer_); }

  // ack.cpp
  bool take_ack(Input& in);
  void update_send_window(const Input& in, Ack& ack);
  void clean_sent(Ack& ack, Sequence prior_una);
  void note_round_trip(Ack& ack, const Header& header);
  void take_sacks(const Header& header, Ack& ack, Sequence prior_una);
  void take_sack(Range block, Ack& ack);
  void take_sack_gap(Range gap, Ack& ack);
  void add_sacked(Range range);
  void tell_window();
  void control_window(const Ack& ack, std::uint32_t acked);
  void update_pacing_rate();
  void expand_send_buffer();
  void check_space();
  void take_late_ack(const Header& header, Ack& ack, Sequence prior_una);

  // recovery.cpp
  void judge(const Ack& ack, std::uint32_t duplicates);
  void enter_recovery();
  void begin_reduction();
  void end_reduction();
  void reduce(const Ack& ack);
  void enter_loss();
  void mark_lost(SendSegment& segment);
  void mark_by_count();
  bool time_to_recover() const;
  void try_to_open();
  void add_reno_sacks(std::uint32_t duplicates);
  void rack_advance(const SendSegment& segment);
  std::int64_t rack_detect();
  void rack_mark(Ack* ack);
  void reordering_timeout();
  void note_reordering(Sequence low);
  void take_loss_probe_ack(const Ack& ack);
  void send_loss_probe();
  bool schedule_loss_probe(bool advancing);
  void retransmit_lost();
  bool retransmit(SendSegment& segment, std::uint32_t segments);

  // undo.cpp
  void remember_for_undo();
  void note_repair(std::uint32_t segments, std::uint32_t stamp);
  void note_needless(Range duplicate);
  bool was_only_late(const Ack& ack) const;
  bool may_undo(const Ack& ack) const;
  void undo_reduction(bool unmark);
  bool undo_all(const Ack& ack);
  bool undo_partial(const Ack& ack);
  bool undo_by_duplicates();
  bool undo_loss(const Ack& ack);

  // output.cpp
  std::uint32_t current_mss();
  std::uint32_t size_goal(std::uint32_t mss);
  std::uint32_t segments_of_rate(std::uint32_t mss) const;
  bool can_segment() const;
  std::uint32_t gso_bytes_max() const;
  bool write(std::uint32_t mss, int nagle, int push_one);
  std::uint32_t may_send_now(SendSegment& segment, std::uint32_t mss, int nagle, int push_one,
                             std::uint32_t quota, bool& window_limited);
  bool nagle_allows(const SendSegment& segment, std::uint32_t mss, int nagle) const;
  bool should_defer(const SendSegment& segment, std::uint32_t most, bool& window_limited);
  bool below_is_full(const SendSegment& segment, int factor);
  void note_sent(SendSegment& segment);
  void validate_window(bool limited);
  void restart_window_after_idle();
  void push_pending(std::uint32_t mss, int nagle);
  void push(bool more);
  void check_data_and_space();
  bool transmit(SendSegment& segment, bool again);
  void transmit_header(Header header);
  void finish_header(Header& header, bool may_sack);
  void emit_and_send(core::PacketPtr packet, const Header& header, std::uint32_t memory);
  void send_ack();
  void send_challenge_ack();
  void send_reset();
  void send_syn(bool with_ack);
  void queue_fin();
  void note_ack_sent(std::uint32_t segments);
  void note_data_sent();
  void send_probe();
  std::uint32_t window_end_room(Sequence at) const;
  Sequence window_end() const { return snd_una_ + snd_wnd_; }

  // timers.cpp
  static void write_timer_expired(void* connection);
  static void ack_timer_expired(void* connection);
  static void other_timer_expired(void* connection);
  void timer_is_due(std::uint8_t which);
  void write_timer();
  void ack_timer();
  void other_timer();
  void retransmit_timer();
  void probe_timer();
  void syn_ack_timer();
  bool gave_up();
  void wait_for(Wait what, std::uint64_t jiffies);
  void stop_waiting(Wait what);
  void stop_waiting() { waiting_ = Wait::none; }
  void rearm_retransmit();
  std::uint64_t left_of_timeout();
  void set_timeout();
  void check_probe_timer();
  void wait_other(core::Nanos span);
  std::uint64_t jiffies();
  std::uint64_t to_jiffies(std::int64_t us) const;
  std::uint64_t timeout_max() const;

  // calls.cpp
  bool fill(std::span<const std::uint8_t>& bytes, std::uint32_t flow, std::uint32_t goal);
  SocketStatus send_status() const;
  bool wait_for_send_memory();
  bool copy_out(std::span<std::uint8_t> buffer, ReceiveResult& result);
  bool has_send_memory() const { return queue_.memory() < send_buffer_; }

  std::int64_t now_us();  // settles
  sched::Cpu& cpu() { return stack_.cpu(); }
  std::uint32_t timestamp();  // of the timestamps option: milliseconds

  Tcp& tcp_;
  Stack& stack_;
  const TcpOptions& options_;
  SocketLock lock_;
  Endpoint local_, remote_;
  Route route_;
  State state_ = State::closed;
  SocketStatus error_ = SocketStatus::ok;
  int references_ = 0;
  Listener* listener_ = nullptr;  // while not accepted
  bool accepted_ = true;
  bool orphaned_ = false;
  bool send_shut_ = false;               // SEND_SHUTDOWN
  bool receive_shut_ = false;            // the peer's FIN has come
  core::PacketQueue backlog_{SIZE_MAX};  // bounded in bytes
  std::uint32_t backlog_bytes_ = 0;
  std::uint8_t deferred_ = 0;  // timers and the tasklet that came while somebody had it
  sched::WaitQueue readers_{"socket data"};
  sched::WaitQueue writers_{"socket send space"};

  // sending
  SendQueue queue_;
  SendAccount* account_;
  core::PayloadFiller filler_;
  Sequence iss_, snd_una_, snd_nxt_, written_, pushed_, snd_small_, snd_wl1_;
  std::uint32_t snd_wnd_ = 0, window_max_ = 0;
  std::uint32_t peer_mss_ = kMssDefault, mss_ = kMssDefault, advertised_mss_ = 0;
  std::uint8_t snd_scale_ = 0, rcv_scale_ = 0;
  bool scaling_ = false, sacks_ = false, timestamps_ = false;
  std::uint32_t send_buffer_;
  bool send_buffer_fixed_ = false, wants_space_ = false, shrunk_ = false;
  int nagle_ = 0;                             // kNoDelay, kCork
  std::int64_t pacing_rate_ = INT64_MAX / 4;  // bytes/s; TSO sizes and TSQ follow it
  std::int64_t last_sent_us_ = 0;

  // congestion and recovery
  Window window_;
  std::unique_ptr<CongestionAlgorithm> algorithm_;
  RttEstimator rtt_;
  std::uint64_t timeout_;  // jiffies, with backoff
  int backoff_ = 0, retransmits_ = 0, probes_out_ = 0;
  Phase phase_ = Phase::open;
  Sequence high_;  // snd_nxt when recovery began
  std::uint32_t prior_window_ = 0, prr_delivered_ = 0, prr_out_ = 0;
  std::uint32_t prior_threshold_ = 0;         // what undoing goes back to, beside prior_window_
  std::optional<Sequence> undo_from_;         // undo_marker: snd_una when the window was cut
  std::optional<std::uint32_t> undo_left_;    // sent again since, less the needless; none: nothing
  std::optional<std::uint32_t> again_since_;  // retrans_stamp: timestamp() of the first of these
  std::uint32_t reordering_;
  bool reordering_seen_ = false;
  std::vector<Range> sacked_;  // what the peer has, by number: few, as holes are
  std::optional<Sequence> highest_sacked_;
  std::optional<Sequence> lost_from_;  // where to look for lost segments to send again
  std::optional<Sequence> probe_end_;  // tlp_high_seq
  bool probe_was_retransmission_ = false;
  std::int64_t rack_sent_us_ = 0, rack_rtt_us_ = 0;
  Sequence rack_end_;
  bool rack_advanced_ = false;
  std::uint32_t rack_steps_ = 1;
  std::uint32_t packets_out_max_ = 0, window_used_ = 0;
  bool window_limited_ = false;
  Sequence window_usage_end_;
  std::int64_t window_stamp_us_ = 0;

  // receiving
  ReceiveQueue received_;
  Sequence irs_, rcv_nxt_, rcv_wup_, copied_;
  std::uint32_t rcv_wnd_ = 0, rcv_threshold_ = 0, window_clamp_ = 0;
  std::uint32_t receive_buffer_;
  bool receive_buffer_fixed_ = false;
  std::uint32_t rcv_mss_ = kMssDefault, last_segment_ = 0;
  std::uint32_t ts_recent_ = 0;
  bool has_ts_recent_ = false;
  std::int64_t ts_recent_us_ = 0;
  Sequence last_ack_sent_;
  std::int64_t rcv_rtt_8_us_ = 0, rcv_rtt_start_us_ = 0;
  Sequence rcv_rtt_end_;
  std::uint32_t rcv_echo_ = 0;
  std::uint32_t space_ = 0;
  Sequence space_start_;
  std::int64_t space_start_us_ = 0;

  // acknowledging
  std::uint32_t quick_acks_ = 0;
  bool ping_pong_ = false;
  bool ack_scheduled_ = false, ack_now_ = false, ack_timed_ = false;
  bool ack_pushed_ = false, ack_pushed_twice_ = false;
  std::uint64_t ato_ = 0;  // jiffies; 0: no data has come
  std::uint64_t ack_due_ = 0;
  std::int64_t last_data_us_ = 0;
  std::int64_t challenge_second_ = -1;
  int challenges_ = 0;

  // timers
  Wait waiting_ = Wait::none;
  std::uint64_t write_due_ = 0, other_due_ = 0;
  std::uint64_t write_armed_ = 0, ack_armed_ = 0, other_armed_ = 0;
  irq::JiffyTimer write_timer_, ack_timer_, other_timer_;
  void arm(irq::JiffyTimer& timer, std::uint64_t& armed, std::uint64_t due);

  Info info_;  // the counters of it
};

inline constexpr int kNoDelay = 1;  // TCP_NAGLE_OFF
inline constexpr int kCork = 2;     // TCP_NAGLE_CORK
inline constexpr int kPush = 4;     // TCP_NAGLE_PUSH

inline constexpr std::uint8_t kDeferWriteTimer = 1;
inline constexpr std::uint8_t kDeferAckTimer = 2;
inline constexpr std::uint8_t kDeferOtherTimer = 4;
inline constexpr std::uint8_t kDeferThrottled = 8;

}  // namespace tcp
}  // namespace tapestry::net
