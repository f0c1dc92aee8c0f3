#include "net/device.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/bytes.hpp"
#include "net/backlog.hpp"
#include "net/checksum_offload.hpp"
#include "net/gro.hpp"
#include "net/gso.hpp"
#include "net/headers.hpp"
#include "net/stack.hpp"
#include "net/tx_queue.hpp"
#include "sched/guards.hpp"

namespace tapestry::net {

using core::Direction;
using core::DropReason;
using core::PacketPtr;
using sched::Work;

Device::Device(Stack& stack, DeviceOptions options, std::uint32_t number)
    : stack_(stack),
      options_(std::move(options)),
      number_(number),
      watchdog_(stack.environment().jiffies, &Device::watchdog_expired, this) {
  TAPESTRY_ASSERT(options_.tx_queues >= 1, "a device has a transmit queue");
  TAPESTRY_ASSERT(options_.mtu_bytes >= kMtuMinBytes && options_.mtu_bytes <= kMtuMaxBytes,
                  "an MTU of Ethernet");
  for (std::size_t index = 0; index < options_.tx_queues; ++index)
    queues_.push_back(std::make_unique<TxQueue>(*this, index, options_.txqueuelen));
}

Device::~Device() = default;

// --- open and close ------------------------------------------------------------------------------

void Device::open() {
  stack_.cpu().settle();
  if (running_) return;
  running_ = true;
  features_ = driver_->features();
  driver_->open();
  stack_.cpu().settle();
  features_ = driver_->features();  // what the port turned out to be able to do
  transmitting_ = true;
}

// A runner looks at `transmitting_` between batches, so whoever is in the middle of one is out of
// it soon, whatever is queued (dev_deactivate).
void Device::close() {
  stack_.cpu().settle();
  if (!running_) return;
  transmitting_ = false;
  const auto busy = [](const std::unique_ptr<TxQueue>& queue) { return queue->running_; };
  while (std::ranges::any_of(queues_, busy)) {
    const core::Nanos tick = stack_.environment().jiffies.tick();
    stack_.scheduler().sleep_until(stack_.timeline().now() + tick);
    stack_.cpu().settle();
  }
  if (!running_) return;  // somebody else closed it meanwhile
  running_ = false;
  driver_->close();
  for (const auto& queue : queues_) {
    queue->drop_all();
    stack_.cpu().settle();
    queue->stopped_ = false;
    queue->reset_limit();
  }
}

// --- down ----------------------------------------------------------------------------------------

bool Device::transmit(PacketPtr packet) {
  const sched::BottomHalvesOff exclude(stack_.cpu());
  if (!transmitting_) {
    ++figures_.tx_dropped;
    stack_.allocator().drop(std::move(packet), DropReason::dev_ready);
    return false;
  }
  if (features_.queueless) return transmit_directly(std::move(packet), *queues_[0], true);
  TxQueue& queue = choose_queue(*packet);
  return queue.enqueue(std::move(packet));
}

// Where the kernel would spin for the queue, because somebody else is at the driver, the packet
// waits its turn behind the discipline's.
bool Device::transmit_past_qdisc(PacketPtr packet) {
  const sched::BottomHalvesOff exclude(stack_.cpu());
  TxQueue& queue = features_.lockless ? *queues_[0] : choose_queue(*packet);
  if (!transmitting_) {
    ++figures_.tx_dropped;
    stack_.allocator().drop(std::move(packet), DropReason::dev_ready);
    return false;
  }
  if (features_.lockless) return transmit_directly(std::move(packet), queue, false);
  if (queue.running_) return queue.enqueue(std::move(packet));
  queue.running_ = true;
  stack_.cpu().charge(Work::driver_transmit);
  const bool sent = transmit_directly(std::move(packet), queue, false);
  stack_.cpu().settle();
  if (queue.waiting() != 0) queue.run_owned();
  queue.let_go();
  return sent;
}

Device::Burst Device::transmit_burst(core::PacketQueue& burst) {
  const sched::BottomHalvesOff exclude(stack_.cpu());
  Burst done;
  if (burst.empty()) return done;
  if (!transmitting_) {
    done.dropped = burst.size();
    figures_.tx_dropped += done.dropped;
    while (PacketPtr packet = burst.pop())
      stack_.allocator().drop(std::move(packet), DropReason::dev_ready);
    return done;
  }
  TxQueue& queue = choose_queue(*burst.front());
  stack_.cpu().charge(Work::lock);
  stack_.cpu().settle();
  if (queue.running_ || queue.stopped_) return done;
  queue.running_ = true;
  while (!queue.stopped_ && !burst.empty()) {
    PacketPtr packet = burst.pop();
    packet->more = !burst.empty();
    stack_.cpu().charge(Work::driver_transmit);
    stack_.cpu().settle();
    const Transmit answer = hand_over(packet, queue);
    if (answer == Transmit::busy) {
      burst.push_front(std::move(packet));
      break;
    }
    ++(answer == Transmit::ok ? done.sent : done.dropped);
    stack_.cpu().settle();
  }
  if (queue.waiting() != 0) queue.run_owned();
  queue.let_go();
  return done;
}

// netdev_core_pick_tx: by flow, so that a flow stays in order, unless the driver knows better.
TxQueue& Device::choose_queue(core::Packet& packet) {
  if (queues_.size() == 1) [[likely]]
    return *queues_[0];
  const std::uint32_t flow = packet.hash != 0 ? packet.hash : packet.flow;
  const std::size_t queue = driver_->select_queue(packet, flow % queues_.size());
  TAPESTRY_ASSERT(queue < queues_.size(), "a driver chooses one of its queues");
  packet.queue = static_cast<std::uint16_t>(queue);
  return *queues_[packet.queue];
}

void Device::update_features() {
  features_ = driver_->features();
  if (features_listener_) features_listener_();
}

// validate_xmit_skb: what the device cannot do is done here, in software: one packet becomes
// itself, several, or, if nobody can make it fit, none.
void Device::make_transmittable(PacketPtr packet, core::PacketQueue& into) {
  if (takes_whole(features_, options_, *packet)) [[likely]] {
    finish(std::move(packet), false, into);
    return;
  }
  core::PacketQueue segments(0);
  if (!segment(stack_, packet, segments)) {
    ++figures_.tx_dropped;
    stack_.allocator().drop(std::move(packet), DropReason::skb_gso_seg);
    return;
  }
  into.set_bound(std::max(into.bound(), into.size() + segments.size()));
  while (PacketPtr piece = segments.pop())
    finish(std::move(piece), true, into);
}

// Checksum and linearising. A packet with at most one payload range stands for a linear one;
// segments for a device without scatter-gather are copied as they are cut (skb_segment).
void Device::finish(PacketPtr packet, bool is_segment, core::PacketQueue& into) {
  sched::Cpu& cpu = stack_.cpu();
  if (packet->checksum == core::ChecksumState::partial && !features_.transmit_checksum) {
    const std::size_t covered = packet->length() - packet->checksum_start();
    cpu.charge(Work::checksum, 1, static_cast<std::int64_t>(covered));
    finish_checksum(*packet);
  }
  if (!features_.scatter_gather && (packet->fragments().size() > 1 || is_segment)) {
    cpu.charge(Work::copy, 1, static_cast<std::int64_t>(packet->length()));
    if (!packet->gather_payload()) {
      ++figures_.tx_dropped;
      stack_.allocator().drop(std::move(packet), DropReason::nomem);
      return;
    }
  }
  (void)into.push(std::move(packet));
}

bool Device::show(core::Packet& packet, Direction direction) {
  packet.direction = direction;
  packet.stamp = stack_.timeline().now();
  on_frame(packet, direction);
  return !taps_.empty() && show_to_taps(packet, direction);
}

// A tap may settle, and others may come and go meanwhile.
bool Device::show_to_taps(const core::Packet& packet, Direction direction) {
  bool kept = false;
  ++taps_in_use_;
  for (std::size_t i = 0; i < taps_.size(); ++i) {
    if (taps_[i] != nullptr && taps_[i]->frame(packet, direction)) kept = true;
    stack_.cpu().settle();
  }
  if (--taps_in_use_ == 0) std::erase(taps_, nullptr);
  return kept;
}

// dev_hard_start_xmit, one packet: settled.
Transmit Device::hand_over(PacketPtr& packet, TxQueue& queue) {
  const std::size_t length = packet->length();
  packet->reach(core::Milestone::driver_transmit);
  const Transmit answer = driver_->transmit(packet, queue);
  if (answer == Transmit::busy) return answer;
  TAPESTRY_ASSERT(!packet, "a driver takes the packets that it accepts");
  if (answer == Transmit::dropped) {
    ++figures_.tx_dropped;
  } else {
    ++figures_.tx_packets;
    figures_.tx_bytes += length;
  }
  return answer;
}

// True if the driver took all of it.
bool Device::transmit_directly(PacketPtr packet, TxQueue& queue, bool shown) {
  core::PacketQueue ready(1);
  make_transmittable(std::move(packet), ready);
  bool taken = !ready.empty();
  stack_.cpu().settle();
  while (PacketPtr piece = ready.pop()) {
    piece->more = false;
    if (!transmit_one_directly(std::move(piece), queue, shown)) taken = false;
    if (!ready.empty()) stack_.cpu().settle();
  }
  return taken;
}

bool Device::transmit_one_directly(PacketPtr packet, TxQueue& queue, bool shown) {
  if (shown) show(*packet, Direction::outgoing);
  const Transmit answer = queue.stopped_ ? Transmit::busy : hand_over(packet, queue);
  if (answer != Transmit::busy) return answer == Transmit::ok;
  ++figures_.tx_dropped;  // there is no queue to put it back to
  stack_.allocator().drop(std::move(packet), DropReason::qdisc_drop);
  return false;
}

// --- up ------------------------------------------------------------------------------------------

void Device::receive(PacketPtr packet, irq::Napi* napi) {
  sched::Cpu& cpu = stack_.cpu();
  TAPESTRY_ASSERT(!cpu.bottom_halves_enabled() && !cpu.in_interrupt(),
                  "packets go up in softirq context or with bottom halves off");
  if (!features_.lockless) cpu.charge(Work::driver_receive);
  count_received(*packet);
  packet->reach(core::Milestone::napi_received);
  const bool merges = features_.gro && receive_offload_ && stack_.options().receive_offload;
  if (napi == nullptr || !merges) {
    accept(std::move(packet));
    return;
  }
  packet->interface = number_;
  Gro::of(stack_, *napi).receive(std::move(packet));
}

void Device::receive_later(PacketPtr packet) {
  if (!features_.lockless) stack_.cpu().charge(Work::driver_receive);
  count_received(*packet);
  packet->reach(core::Milestone::backlog_queued);
  packet->interface = number_;
  stack_.backlog_->enqueue(std::move(packet));
}

// __netif_receive_skb_core.
void Device::accept(PacketPtr packet) {
  sched::Cpu& cpu = stack_.cpu();
  cpu.charge(Work::netif_receive);
  cpu.settle();
  ++stack_.environment().napi.figures(cpu.index()).processed;
  if (!classify(*packet)) [[unlikely]] {
    ++figures_.rx_errors;
    stack_.allocator().drop(std::move(packet), DropReason::pkt_too_small);
    return;
  }
  packet->reach(core::Milestone::stack_received);
  const bool kept = show(*packet, Direction::incoming);
  if (receive_handler_) {
    packet = receive_handler_(std::move(packet));
    if (!packet) return;
    stack_.cpu().settle();
  }
  stack_.receive(*this, std::move(packet), kept);
}

// eth_type_trans, without stripping the header.
bool Device::classify(core::Packet& packet) {
  if (!packet.make_linear(std::min(packet.length(), kHeadersBytes))) return false;
  if (packet.length() < ethernet::kBytes) return false;
  packet.set_mac_header();
  packet.set_network_header(ethernet::kBytes);
  packet.interface = number_;
  const std::uint8_t* header = packet.data();
  packet.protocol = core::load_be16(header + ethernet::kType);
  const std::uint8_t* to = header + ethernet::kDestination;
  if (std::memcmp(to, options_.mac.bytes.data(), options_.mac.bytes.size()) == 0) [[likely]]
    packet.packet_type = core::PacketType::host;
  else if ((to[0] & 1) == 0)
    packet.packet_type = core::PacketType::otherhost;
  else if (std::memcmp(to, MacAddress::broadcast().bytes.data(), options_.mac.bytes.size()) == 0)
    packet.packet_type = core::PacketType::broadcast;
  else
    packet.packet_type = core::PacketType::multicast;
  return true;
}

// --- taps ----------------------------------------------------------------------------------------

void Device::add_tap(Tap& tap) {
  stack_.timeline().require_settled("a device's taps");
  taps_.push_back(&tap);
}

void Device::remove_tap(Tap& tap) {
  stack_.timeline().require_settled("a device's taps");
  std::ranges::replace(taps_, &tap, static_cast<Tap*>(nullptr));
  while (taps_in_use_ > 0 && !stack_.scheduler().hub().cancelling()) {
    const core::Nanos tick = stack_.environment().jiffies.tick();
    stack_.scheduler().sleep_until(stack_.timeline().now() + tick);
    stack_.cpu().settle();
  }
  if (taps_in_use_ == 0) std::erase(taps_, nullptr);
}

// --- the watchdog --------------------------------------------------------------------------------

// Armed when a runner leaves a stopped queue behind; looks again by itself while one is stopped.
// Not cancelled by every wake: at most once in its time it finds nothing to do.
void Device::watch_stopped_queue() {
  if (watchdog_.pending()) return;
  const irq::JiffyTimers& jiffies = stack_.environment().jiffies;
  watchdog_.modify(jiffies.jiffies() + jiffies.to_jiffies(driver_->watchdog_time()));
}

void Device::watchdog_expired(void* object) {
  Device& device = *static_cast<Device*>(object);
  if (!device.transmitting_) return;
  const core::Instant now = device.stack_.timeline().now();
  const core::Nanos patience = device.driver_->watchdog_time();
  core::Instant oldest = core::kNever;
  bool timed_out = false;
  for (const auto& queue : device.queues_) {
    if (!queue->stopped_) continue;
    if (now - queue->stopped_since_ >= patience) {
      timed_out = true;
      queue->stopped_since_ = now;
    }
    oldest = std::min(oldest, queue->stopped_since_);
  }
  if (timed_out) device.driver_->transmit_timed_out();
  if (oldest == core::kNever) return;
  const irq::JiffyTimers& jiffies = device.stack_.environment().jiffies;
  const core::Nanos due = oldest + patience - core::kStart;
  device.stack_.cpu().settle();
  device.watchdog_.modify(jiffies.to_jiffies(due));
}

}  // namespace tapestry::net
