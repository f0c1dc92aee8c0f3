// TCP and its sockets (net/ipv4/tcp*.c).
//
// Socket functions run in process context inside a system call (kernel::Machine::system_call makes
// one); they block the running thread where the kernel would. While a process is inside of one, or
// a softirq works on the connection, segments that arrive wait in its backlog. Bytes are copied
// twice, in and out; packets that are sent, and sent again, share them.
//
// A connection outlives its socket: closing is finished by segments and timers, inside of Tcp.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "core/packet.hpp"
#include "core/random.hpp"
#include "irq/tasklet.hpp"
#include "net/address.hpp"
#include "net/socket_status.hpp"
#include "net/tcp/header.hpp"
#include "net/tcp/info.hpp"
#include "net/tcp/options.hpp"
#include "sched/wait_queue.hpp"

namespace tapestry::net {

class Stack;
class Tcp;

namespace tcp {
class Connection;
struct Listener;
}  // namespace tcp

class TcpSocket {
 public:
  // Closes: what was written is still delivered, unless there is data that nobody has read: then
  // the peer gets a reset. Nobody waits in it, and its stack still stands.
  ~TcpSocket();
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  SocketStatus bind(Endpoint local);  // port 0: an ephemeral one. As with SO_REUSEADDR
  // `backlog`: connections that may wait for accept, and as many that are being set up.
  SocketStatus listen(int backlog);
  // refused, timed_out (after 127 s of SYNs, or at the deadline), unreachable, in_use
  SocketStatus connect(Endpoint remote, core::Instant deadline = core::kNever);
  // The next connection. Null: the deadline has come, or the listener is closed.
  std::unique_ptr<TcpSocket> accept(core::Instant deadline = core::kNever);

  struct Sent {
    SocketStatus status = SocketStatus::ok;
    std::size_t length = 0;  // bytes taken, perhaps some even with an error
  };
  // Copies the bytes in (charged); blocks until all are in the send buffer or the deadline has come
  // (SO_SNDTIMEO), unless `nonblocking`; would_block if none are.
  // reset: the peer has; broken_pipe: this side was shut down; not_connected.
  Sent send(std::span<const std::uint8_t> bytes, std::uint32_t flow = 0, bool nonblocking = false,
            core::Instant deadline = core::kNever);

  struct Received {
    SocketStatus status = SocketStatus::ok;
    std::size_t length = 0;  // ok with 0: the peer has closed
    core::Instant born{};    // when the first byte's segment was written by its sender
    core::Instant stamp{};   // when it was put on this socket's queue
  };
  // Waits for data until `deadline` (kNever: for ever; now: does not wait) and copies out what is
  // there, at most as much as the buffer holds (charged).
  Received receive(std::span<std::uint8_t> buffer, core::Instant deadline = core::kNever);

  void shutdown_send();  // a FIN behind what was written
  // Data, the peer's end, an error, or a connection to accept.
  bool readable() const;
  // select/poll for one socket: wait, charge nothing for the call itself.
  bool wait_readable(core::Instant deadline);
  bool wait_writable(core::Instant deadline);

  void set_no_delay(bool on);   // TCP_NODELAY
  void set_cork(bool on);       // TCP_CORK; what was held back goes when it is taken away
  void set_quick_ack(bool on);  // TCP_QUICKACK
  // Bytes of packet memory, as SO_RCVBUF and SO_SNDBUF doubled; ends their autotuning.
  void set_receive_buffer(std::uint32_t bytes);
  void set_send_buffer(std::uint32_t bytes);
  void set_congestion_control(CongestionControl which);

  Endpoint local() const;
  Endpoint remote() const;
  using Info = tcp::Info;
  const Info& info() const;

 private:
  friend class Tcp;
  explicit TcpSocket(Tcp& tcp) : tcp_(tcp) {}
  TcpSocket(Tcp& tcp, tcp::Connection& connection);
  void apply_settings();

  // What was set before there was a connection; a listener's pass on to what it accepts.
  struct Settings {
    bool no_delay = false, cork = false;
    std::uint32_t receive_buffer = 0, send_buffer = 0;  // 0: not set
    std::optional<CongestionControl> congestion_control;
  };

  Tcp& tcp_;
  std::optional<Endpoint> bound_;
  TcpSocket* next_bound_ = nullptr;
  tcp::Connection* connection_ = nullptr;
  tcp::Listener* listener_ = nullptr;
  Settings settings_;
  mutable Info info_;
};

class Tcp {
 public:
  explicit Tcp(Stack& stack);
  ~Tcp();
  std::unique_ptr<TcpSocket> open();

  // From IPv4: the packet begins at its transport header; softirq context.
  void receive(core::PacketPtr packet, Ipv4Address source, Ipv4Address destination);
  // From ICMP: what was sent from here with this number is undeliverable; a code of kUnreachable.
  void receive_error(Endpoint local, Endpoint remote, tcp::Sequence sequence, std::uint8_t code);

  struct Figures {  // /proc/net/snmp Tcp:, then /proc/net/netstat TcpExt:
    std::uint64_t active_opens = 0, passive_opens = 0, attempt_fails = 0, estab_resets = 0;
    std::uint64_t curr_estab = 0, in_segs = 0, out_segs = 0, retrans_segs = 0, in_errs = 0;
    std::uint64_t out_rsts = 0, in_csum_errors = 0;
    std::uint64_t timeouts = 0, fast_retrans = 0, slow_start_retrans = 0, sack_recovery = 0;
    std::uint64_t reno_recovery = 0, lost_retransmit = 0, loss_probes = 0, delayed_acks = 0;
    std::uint64_t auto_corking = 0, listen_overflows = 0, listen_drops = 0, backlog_drops = 0;
    std::uint64_t ofo_queue = 0, ofo_pruned = 0, rcv_pruned = 0, dsack_recv = 0;
    std::uint64_t dsack_old_sent = 0, challenge_acks = 0, paws_estab = 0, time_wait = 0;
    std::uint64_t time_wait_overflow = 0, abort_on_close = 0, abort_on_timeout = 0;
    std::uint64_t abort_on_data = 0, zero_window_probes = 0, rcv_q_drop = 0, zero_window_drop = 0;
    std::uint64_t sack_reorder = 0, small_queue_failures = 0;
    std::uint64_t full_undo = 0, partial_undo = 0, dsack_undo = 0, loss_undo = 0;
  };
  const Figures& figures() const { return figures_; }
  Figures& figures() { return figures_; }

  // --- for connections ---------------------------------------------------------------------------
  Stack& stack() { return stack_; }
  const TcpOptions& options() const;
  tcp::Sequence initial_sequence() {
    return {static_cast<std::uint32_t>(forced_sequence_ ? *forced_sequence_
                                                        : sequences_.next() & 0xffff'ffffu)};
  }
  // Tests of the wrap: every connection from now on begins here.
  void force_initial_sequence(std::optional<std::uint32_t> value) { forced_sequence_ = value; }
  void link(tcp::Connection& connection);
  void unlink(tcp::Connection& connection);
  void throttled_may_send(tcp::Connection& connection);
  void send_reset_for(const core::Packet& packet, const tcp::Header& header, std::uint32_t length,
                      Endpoint from, Endpoint to);
  bool too_many_time_waits() const { return time_waits_ >= options().time_waits_max; }
  void count_time_waits(int by) { time_waits_ += static_cast<std::size_t>(by); }
  std::size_t connections() const { return connections_; }
  void listener_has(tcp::Listener& listener, tcp::Connection& connection);

 private:
  friend class TcpSocket;

  static constexpr std::uint16_t kEphemeralFirst = 32768;  // net.ipv4.ip_local_port_range
  static constexpr std::uint16_t kEphemeralLast = 60999;
  static constexpr std::size_t kBuckets = 1024;

  std::size_t bucket_of(Endpoint local, Endpoint remote) const;
  tcp::Connection* look_up(Endpoint local, Endpoint remote);
  tcp::Listener* look_up_listener(Endpoint local);
  bool checksum_is_wrong(core::Packet& packet, Ipv4Address source, Ipv4Address destination);
  void receive_syn(tcp::Listener& listener, core::PacketPtr packet, const tcp::Header& header,
                   Endpoint from, Endpoint to);
  bool is_bound(Endpoint local) const;
  std::optional<std::uint16_t> ephemeral_port(Ipv4Address address, std::optional<Endpoint> remote);
  void unbind(TcpSocket& socket);
  void close_listener(tcp::Listener& listener);
  static void run_throttled(void* tcp);

  Stack& stack_;
  std::array<tcp::Connection*, kBuckets> buckets_{};
  std::deque<std::unique_ptr<tcp::Listener>> listeners_;
  TcpSocket* bound_ = nullptr;
  tcp::Connection* throttled_ = nullptr;
  irq::Tasklet throttled_tasklet_;
  core::RandomStream sequences_;
  std::optional<std::uint32_t> forced_sequence_;
  std::uint16_t next_ephemeral_ = kEphemeralFirst;
  std::size_t connections_ = 0, time_waits_ = 0;
  Figures figures_;
};

}  // namespace tapestry::net
