#include "host/sim/lkl_virtio.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "kernel/world.hpp"
#include "sched/cpu.hpp"

namespace tapestry::host::sim {

using virtqueue::kNetHeaderBytes;

namespace {

kernel::Lkl& lkl_of(kernel::Machine& guest) {
  TAPESTRY_ASSERT(guest.lkl() != nullptr, "the guest is on platform lkl");
  return *guest.lkl();
}

virtqueue::SplitOptions split_options(virtqueue::NetFeatures features) {
  return {.event_index = features.event_idx, .indirect = features.indirect_desc};
}

}  // namespace

LklVirtio::Queue::Queue(LklVirtio& owner, core::Timeline& timeline, std::size_t depth,
                        virtqueue::SplitOptions options, void (LklVirtio::*process)())
    : memory(timeline, depth),
      ring(timeline, depth),
      driver(ring, memory, options),
      device(ring, memory, options),
      notify(owner, process) {}

LklVirtio::LklVirtio(kernel::Machine& guest, PacketIo& from_guest, PacketIo& from_thread,
                     virtqueue::NetFeatures offered, std::size_t depth)
    : guest_(guest),
      lkl_(lkl_of(guest)),
      from_guest_(from_guest),
      from_thread_(from_thread),
      offered_(offered),
      receive_(*this, guest.world().timeline(), depth, split_options(offered),
               &LklVirtio::process_receive),
      transmit_(*this, guest.world().timeline(), depth, split_options(offered),
                &LklVirtio::process_transmit),
      one_(1) {
  from_thread_.listen(this);
}

LklVirtio::~LklVirtio() {
  from_thread_.listen(nullptr);
  one_.drop_all(core::DropReason::run_end);
}

bool LklVirtio::accepts(virtqueue::NetFeatures features) const {
  return features == offered_ && features.version_1 && features.event_idx &&
         !features.ring_packed && !features.in_order && features.consistent();
}

// --- who runs it -------------------------------------------------------------------------------

void LklVirtio::readable() { lkl_.ready(*this, false); }

void LklVirtio::writable() { lkl_.ready(*this, true); }

void LklVirtio::poll_ready(bool readable, bool writable) {
  if (writable) process_transmit();
  if (readable) process_receive();
}

// QUEUE_NOTIFY: a store that the guest's own library catches, and so a call.
void LklVirtio::notified(void (LklVirtio::*process)()) {
  ++figures_.notifications;
  (this->*process)();
}

PacketIo& LklVirtio::port() { return lkl_.guest_runs_here() ? from_guest_ : from_thread_; }

sched::Cpu& LklVirtio::running_cpu() {
  return lkl_.guest_runs_here() ? guest_.cpu() : guest_.host()->cpu();
}

void LklVirtio::lock(Queue& queue) {
  running_cpu().charge(sched::Work::lock);
  running_cpu().settle();
  const sched::Thread* const self = lkl_.running_thread();
  if (queue.held > 0 && queue.holder != self)
    lkl_.wait_in_host(queue.waits, [&queue] { return queue.held == 0; });
  queue.holder = self;
  ++queue.held;
}

void LklVirtio::unlock(Queue& queue) {
  running_cpu().settle();
  if (--queue.held == 0) lkl_.wake_in_host(queue.waits);
}

// Tells the guest of what was used. With nothing left available it is always told.
void LklVirtio::used(Queue& queue) {
  queue.device.publish();
  const bool asked = queue.device.must_interrupt();
  if (!asked && !queue.device.drained()) return;
  ++figures_.interrupts;
  line_->raise();
  running_cpu().settle();
}

// --- out ---------------------------------------------------------------------------------------

void LklVirtio::process_transmit() {
  lock(transmit_);
  while (transmit_one())
    if (transmit_.device.drained()) (void)transmit_.device.enable_notifications();
  unlock(transmit_);
}

bool LklVirtio::transmit_one() {
  const auto chain = transmit_.device.next();
  if (!chain) return false;
  if (chain->readable_bytes <= kNetHeaderBytes) {  // no frame behind the header
    ++figures_.transmit_lost;
    transmit_.device.use(*chain, 0);
    used(transmit_);
    return true;
  }
  one_.push_back(transmit_.device.take_packet(*chain));
  const IoResult result = port().send(one_, 1);
  transmit_.device.give_packet(*chain, one_.take_front());
  if (result.status == IoStatus::would_block || result.status == IoStatus::no_buffers) {
    ++figures_.transmit_waits;
    transmit_.device.put_back(*chain);
    port().watch_writable(true);
    return false;
  }
  if (result.count == 0) ++figures_.transmit_lost;
  transmit_.device.use(*chain, 0);
  used(transmit_);
  return true;
}

// --- in ----------------------------------------------------------------------------------------

void LklVirtio::process_receive() {
  lock(receive_);
  while (receive_one())
    if (receive_.device.drained()) (void)receive_.device.enable_notifications();
  unlock(receive_);
}

// The heads that one frame may need; the bytes of frame that they can hold.
std::uint32_t LklVirtio::gather(Chains& chains) {
  const std::size_t most = offered_.mrg_rxbuf ? kBuffersMax : 1;
  std::uint32_t bytes = 0;
  while (chains.size() < most && bytes < kFrameMax + kNetHeaderBytes) {
    const auto chain = receive_.device.next();
    if (!chain) break;
    chains.push_back(*chain);
    bytes += chain->writable_bytes;
  }
  return bytes > kNetHeaderBytes ? bytes - kNetHeaderBytes : 0;
}

// The latest first, as they were taken.
void LklVirtio::put_back(const Chains& chains) {
  for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain)
    receive_.device.put_back(*chain);
}

bool LklVirtio::receive_one() {
  Chains chains;
  ReceiveSlot slot;
  slot.capacity = gather(chains);
  if (chains.empty()) {
    ++figures_.receive_starved;
    return false;
  }
  if (chains.front().writable_bytes <= kNetHeaderBytes) {  // no room for a frame
    put_back(Chains(chains.begin() + 1, chains.end()));
    receive_.device.use(chains.front(), 0);
    used(receive_);
    return true;
  }
  slot.packet = receive_.device.take_packet(chains.front());
  const IoResult result = port().receive({&slot, 1});
  if (result.count == 0) {
    receive_.device.give_packet(chains.front(), std::move(slot.packet));
    put_back(chains);
    return false;
  }
  store(chains, std::move(slot.packet));
  used(receive_);
  return true;
}

// The frame has been read into the first buffer's packet; what is beyond that buffer moves into the
// next ones, and those that are not needed go back.
void LklVirtio::store(const Chains& chains, core::PacketPtr frame) {
  const auto total = static_cast<std::uint32_t>(frame->length());
  std::uint32_t stored = std::min(total, chains.front().writable_bytes - kNetHeaderBytes);
  std::size_t count = 1;
  std::vector<std::uint32_t> lengths{stored + kNetHeaderBytes};
  for (; stored < total; ++count) {
    const std::uint32_t part = std::min(total - stored, chains[count].writable_bytes);
    core::PacketPtr piece = receive_.device.take_packet(chains[count]);
    const bool fits = piece && piece->append_range(*frame, stored, part);
    TAPESTRY_ASSERT(fits, "a part of a frame has no more ranges than the frame");
    receive_.device.give_packet(chains[count], std::move(piece));
    lengths.push_back(part);
    stored += part;
  }
  frame->trim_to(lengths[0] - kNetHeaderBytes);
  receive_.device.give_packet(chains.front(), std::move(frame));
  receive_.device.set_num_buffers(chains.front(), static_cast<std::uint16_t>(count));
  put_back(Chains(chains.begin() + static_cast<std::ptrdiff_t>(count), chains.end()));
  for (std::size_t i = 0; i < count; ++i)
    receive_.device.use(chains[i], lengths[i]);
}

}  // namespace tapestry::host::sim
