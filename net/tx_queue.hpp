// One transmit queue of a device: its queueing discipline, its limit in bytes, and whether the
// driver has stopped it (net/sched/sch_generic.c).
//
// The discipline is pfifo_fast: three bands by type of service, each a queue of txqueuelen packets.
// Who enqueues also runs the queue, unless somebody does already: the runner hands packets to the
// driver until the queue is empty or stopped, or 64 are done; then NET_TX goes on. A packet that
// the driver did not take, and those dequeued with it, wait in a slot of their own and go first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/batch_sizes.hpp"
#include "core/packet.hpp"
#include "net/byte_queue_limit.hpp"
#include "net/device.hpp"

namespace tapestry::net {

// Why a run of a queue ended.
enum class RunEnd : std::uint8_t {
  queue_empty,  // nothing waits any more
  ring_full,    // the driver has stopped the queue
  byte_limit,   // BQL has
  busy,         // the driver did not take a packet (NETDEV_TX_BUSY)
  quota,        // 64 packets were done: NET_TX goes on
  resched,      // another thread waits for the CPU: likewise
  closed,       // the device goes down
  count_
};
inline constexpr std::size_t kRunEnds = static_cast<std::size_t>(RunEnd::count_);

class TxQueue {
 public:
  static constexpr std::size_t kBands = 3;
  static constexpr int kQuota = 64;  // net.core.dev_weight: dev_tx_weight

  TxQueue(Device& device, std::size_t index, std::uint32_t length);

  // --- for drivers, settled ----------------------------------------------------------------------
  void stop();  // netif_tx_stop_queue
  void wake();  // netif_tx_wake_queue: schedules NET_TX if something waits
  // netif_tx_start_queue: for a driver that stopped it in this very call, whose caller goes on.
  void start();
  bool stopped() const { return stopped_; }
  // Must the driver ring now? Yes unless more is promised, and yes in any case if no more can come,
  // because the queue was stopped by the driver or by its limit (netif_xmit_stopped).
  // Once for each packet that the driver has put into its ring.
  bool must_ring(bool more) {
    ++unrung_;
    if (more && !blocked()) {
      ++figures_.promises;
      return false;
    }
    if (more) ++figures_.rings_blocked;
    figures_.ring_sizes.add(std::exchange(unrung_, 0));
    return true;
  }
  // BQL: what the driver queued, and what it found completed.
  void sent(std::uint64_t bytes);
  void completed(std::uint64_t packets, std::uint64_t bytes);
  void reset_limit();  // netdev_tx_reset_queue

  // --- for the framework -------------------------------------------------------------------------
  // __dev_xmit_skb: settled, bottom halves off. Enqueues, then runs the queue unless somebody else
  // does. An empty queue is bypassed.
  bool enqueue(core::PacketPtr packet);  // false: the band was full, and it was dropped
  // qdisc_run: settled, bottom halves off.
  void run();
  void drop_all();
  std::size_t waiting() const {
    return requeued_.size() + bands_[0].size() + bands_[1].size() + bands_[2].size();
  }

  Device& device() { return device_; }
  std::size_t index() const { return index_; }
  const ByteQueueLimit& limit() const { return limit_; }

  struct Figures {
    std::uint64_t requeues = 0;          // packets that went to the requeue slot
    std::uint64_t stops = 0, wakes = 0;  // netdev-genl qstats tx-stop, tx-wake
    std::uint64_t bulk_dequeues = 0;     // runs that took more than one packet
    std::uint64_t qdisc_drops = 0;
    std::array<std::uint64_t, kRunEnds> run_ends{};
    core::BatchSizes run_sizes;       // packets that a run gave to the driver
    std::uint64_t promises = 0;       // packets without a doorbell, since more were to follow
    std::uint64_t rings_blocked = 0;  // doorbells in spite of a promise: nothing can follow
    core::BatchSizes ring_sizes;      // packets to a doorbell
  };
  const Figures& figures() const { return figures_; }

 private:
  void tell(core::Happening happening, std::uint64_t argument = 0) const;
  friend class Device;
  friend class Stack;

  bool blocked() const { return stopped_ || limit_stopped_; }
  bool enqueue_to_band(core::PacketPtr& packet);
  std::size_t dequeue(core::PacketQueue& batch);
  void make_transmittable(core::PacketQueue& batch);
  RunEnd send(core::PacketQueue& batch);
  bool offer(core::PacketPtr& packet);
  void requeue(core::PacketQueue& batch);
  RunEnd run_owned();
  RunEnd why_blocked() const;
  void ended(RunEnd why);
  void let_go();
  void schedule();

  Device& device_;
  std::size_t index_;
  core::PacketQueue bands_[kBands];
  core::PacketQueue requeued_;       // gso_skb: goes first, checksums and all are done
  bool requeued_was_shown_ = false;  // taps have seen its first packet
  bool has_limit_;
  ByteQueueLimit limit_;
  bool stopped_ = false;
  bool limit_stopped_ = false;  // __QUEUE_STATE_STACK_XOFF
  bool running_ = false;        // somebody runs it
  bool scheduled_ = false;      // on a CPU's list for NET_TX
  core::Instant stopped_since_{};
  std::uint64_t unrung_ =
      0;  // packets that the driver has put into its ring since the last doorbell
  std::uint64_t handed_ = 0;  // packets that the present run gave to the driver
  Figures figures_;
  core::SubjectId subject_;
};

}  // namespace tapestry::net
