#include "net/tx_queue.hpp"

#include <algorithm>
#include <utility>

#include "net/headers.hpp"
#include "net/stack.hpp"
#include "net/transmit_softirq.hpp"

namespace tapestry::net {

using core::Direction;
using core::DropReason;
using core::PacketPtr;
using sched::Work;

namespace {

constexpr core::Nanos kLimitInterval{1'000'000'000};

// ip_tos2prio and prio2band in one, by the four values of the type of service that matter: none,
// throughput, delay, both.
constexpr std::size_t kBandOf[] = {1, 2, 0, 1};

std::size_t band_of(const core::Packet& packet) {
  if (packet.protocol != ethernet::kIpv4) return 1;
  return kBandOf[packet.network_header()[ipv4::kTypeOfService] >> 3 & 3];
}

bool uses_limit(const Device& device, const StackOptions& options) {
  return device.options().byte_queue_limits && options.byte_queue_limits;
}

}  // namespace

TxQueue::TxQueue(Device& device, std::size_t index, std::uint32_t length)
    : device_(device),
      index_(index),
      bands_{core::PacketQueue(length), core::PacketQueue(length), core::PacketQueue(length)},
      requeued_(kBands * length + 1),
      has_limit_(uses_limit(device, device.stack().options())),
      limit_(device.stack().environment().jiffies.to_jiffies(kLimitInterval)),
      subject_(device.stack().scheduler().hub().timeline().names().add(
          device.stack().scheduler().name(), device.name() + ".tx" + std::to_string(index))) {}

void TxQueue::tell(core::Happening happening, std::uint64_t argument) const {
  device_.stack_.timeline().tell(happening, subject_, argument);
}

// --- for drivers ---------------------------------------------------------------------------------

void TxQueue::stop() {
  const core::Timeline& timeline = device_.stack_.timeline();
  timeline.require_settled("a transmit queue");
  if (stopped_) return;
  stopped_ = true;
  stopped_since_ = timeline.now();
  ++figures_.stops;
  tell(core::Happening::queue_stopped);
}

void TxQueue::wake() {
  device_.stack_.timeline().require_settled("a transmit queue");
  if (!stopped_) return;
  stopped_ = false;
  ++figures_.wakes;
  tell(core::Happening::queue_woken);
  if (waiting() != 0) schedule();
}

void TxQueue::start() {
  device_.stack_.timeline().require_settled("a transmit queue");
  stopped_ = false;
}

void TxQueue::sent(std::uint64_t bytes) {
  if (!has_limit_) return;
  device_.stack_.timeline().require_settled("a byte queue limit");
  limit_.queued(static_cast<std::uint32_t>(bytes));
  if (limit_.available() < 0) limit_stopped_ = true;
}

void TxQueue::completed(std::uint64_t packets, std::uint64_t bytes) {
  if (!has_limit_ || packets == 0 || bytes == 0) return;
  device_.stack_.timeline().require_settled("a byte queue limit");
  limit_.completed(static_cast<std::uint32_t>(bytes),
                   device_.stack_.environment().jiffies.jiffies());
  if (limit_.available() < 0 || !limit_stopped_) return;
  limit_stopped_ = false;
  if (waiting() != 0) schedule();
}

void TxQueue::reset_limit() {
  device_.stack_.timeline().require_settled("a byte queue limit");
  limit_stopped_ = false;
  limit_.reset(device_.stack_.environment().jiffies.jiffies());
}

// --- enqueueing ----------------------------------------------------------------------------------

bool TxQueue::enqueue(PacketPtr packet) {
  Stack& stack = device_.stack_;
  stack.timeline().require_settled("a queueing discipline");
  packet->more = false;
  const bool owned = running_;
  if (!owned && waiting() == 0) [[likely]] {
    running_ = true;
    core::PacketQueue batch(1);
    (void)batch.push(std::move(packet));
    stack.cpu().charge(Work::qdisc);
    make_transmittable(batch);
    RunEnd end = send(batch);
    if (end == RunEnd::queue_empty) end = run_owned();
    ended(end);
    let_go();
    return true;
  }
  const bool queued = enqueue_to_band(packet);
  stack.cpu().charge(Work::qdisc);
  if (!queued) {
    ++figures_.qdisc_drops;
    stack.allocator().drop(std::move(packet), DropReason::qdisc_drop);
  }
  if (owned) return queued;
  stack.cpu().settle();
  run();
  return queued;
}

bool TxQueue::enqueue_to_band(PacketPtr& packet) {
  packet->reach(core::Milestone::qdisc_enqueued);
  const bool queued = bands_[band_of(*packet)].push(std::move(packet));
  if (queued) tell(core::Happening::queue_length, waiting());
  return queued;
}

// --- running -------------------------------------------------------------------------------------

void TxQueue::run() {
  if (running_) return;  // it will see what we saw
  running_ = true;
  ended(run_owned());
  let_go();
}

void TxQueue::let_go() {
  device_.stack_.timeline().require_settled("a queueing discipline");
  running_ = false;
  if (stopped_ && device_.transmitting_) device_.watch_stopped_queue();
}

RunEnd TxQueue::why_blocked() const { return stopped_ ? RunEnd::ring_full : RunEnd::byte_limit; }

void TxQueue::ended(RunEnd why) {
  ++figures_.run_ends[static_cast<std::size_t>(why)];
  figures_.run_sizes.add(std::exchange(handed_, 0));
}

// __qdisc_run. Returns settled, with nothing seen since that would be left to do.
RunEnd TxQueue::run_owned() {
  sched::Cpu& cpu = device_.stack_.cpu();
  int quota = kQuota;
  for (;;) {
    cpu.settle();
    if (blocked()) return why_blocked();
    if (waiting() == 0) return RunEnd::queue_empty;
    if (!device_.transmitting_) return RunEnd::closed;
    core::PacketQueue batch(waiting());
    quota -= static_cast<int>(dequeue(batch));
    if (const RunEnd end = send(batch); end != RunEnd::queue_empty) return end;
    cpu.settle();
    if (quota <= 0 || cpu.need_resched()) {
      if (waiting() == 0) return RunEnd::queue_empty;
      schedule();
      return quota <= 0 ? RunEnd::quota : RunEnd::resched;
    }
  }
}

// Takes one packet, and more of the same queue for as many bytes as its limit leaves: a driver that
// reports no completions never gets several at once. Returns how many, before any is cut into
// segments. Settled.
std::size_t TxQueue::dequeue(core::PacketQueue& batch) {
  const auto pop = [this] {
    for (core::PacketQueue& band : bands_) {
      if (!band.empty()) return band.pop();
    }
    return PacketPtr();
  };
  if (!requeued_.empty()) {
    (void)batch.push(requeued_.pop());
    return 1;
  }
  std::int64_t allowance = has_limit_ ? limit_.available() : 0;
  do {
    PacketPtr packet = pop();
    if (!packet) break;
    allowance -= static_cast<std::int64_t>(packet->length());
    (void)batch.push(std::move(packet));
  } while (allowance > 0 && device_.stack_.options().bulk_dequeue);
  const std::size_t taken = batch.size();
  if (taken > 1) ++figures_.bulk_dequeues;
  tell(core::Happening::queue_length, waiting());
  make_transmittable(batch);
  return taken;
}

void TxQueue::make_transmittable(core::PacketQueue& batch) {
  for (std::size_t left = batch.size(); left > 0; --left)
    device_.make_transmittable(batch.pop(), batch);
}

// sch_direct_xmit: why packets were put back; queue_empty if none were. Driver and limit may block
// the queue before any packet; what it costs to go to the driver and find that out is paid all the
// same.
RunEnd TxQueue::send(core::PacketQueue& batch) {
  sched::Cpu& cpu = device_.stack_.cpu();
  for (;;) {
    PacketPtr packet = batch.pop();
    if (!packet) return RunEnd::queue_empty;
    packet->more = !batch.empty();
    if (!device_.features_.lockless) cpu.charge(Work::driver_transmit);
    cpu.settle();
    const bool found_blocked = blocked();
    if (found_blocked || !offer(packet)) {
      const RunEnd end = found_blocked ? why_blocked() : RunEnd::busy;
      cpu.settle();
      batch.push_front(std::move(packet));
      requeue(batch);
      return end;
    }
    ++handed_;
    if (batch.empty()) return RunEnd::queue_empty;
    cpu.settle();
    if (blocked()) {
      requeue(batch);
      return why_blocked();
    }
  }
}

// To taps, unless they have seen it before a driver that was busy, and to the driver. Settled.
bool TxQueue::offer(PacketPtr& packet) {
  if (!requeued_was_shown_) device_.show(*packet, Direction::outgoing);
  requeued_was_shown_ = device_.hand_over(packet, *this) == Transmit::busy;
  return !requeued_was_shown_;
}

// Behind what waits there already can only be a single packet that was taken from there.
void TxQueue::requeue(core::PacketQueue& batch) {
  figures_.requeues += batch.size();
  if (requeued_.empty()) {
    // The segments of one packet may be more than the bands hold.
    requeued_.set_bound(std::max(requeued_.bound(), batch.size()));
    while (!batch.empty())
      (void)requeued_.push(batch.pop());
  } else {
    TAPESTRY_ASSERT(batch.size() == 1, "requeued packets go one by one");
    requeued_.push_front(batch.pop());
  }
  schedule();
}

// __netif_schedule: settled.
void TxQueue::schedule() {
  if (!scheduled_) device_.stack_.transmit_softirq_->schedule(*this);
}

void TxQueue::drop_all() {
  Allocator& allocator = device_.stack_.allocator();
  const auto drop = [&](core::PacketQueue& queue) {
    while (PacketPtr packet = queue.pop())
      allocator.drop(std::move(packet), DropReason::queue_purge);
  };
  drop(requeued_);
  for (core::PacketQueue& band : bands_)
    drop(band);
  requeued_was_shown_ = false;
}

}  // namespace tapestry::net
