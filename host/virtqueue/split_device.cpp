#include "host/virtqueue/split_device.hpp"

#include <utility>

#include "core/assert.hpp"
#include "host/virtqueue/chain_check.hpp"
#include "host/virtqueue/event_index.hpp"

namespace tapestry::host::virtqueue {

SplitDevice::SplitDevice(SplitRing& ring, GuestMemory& memory, SplitOptions options)
    : ring_(ring), memory_(memory), options_(options), taken_(ring.size()), order_(ring.size()) {
  TAPESTRY_ASSERT(memory.buffers() == ring.size(), "there is a buffer for each descriptor");
}

bool SplitDevice::fault(Fault fault) {
  faults_.count(fault);
  broken_ = true;
  return false;
}

// --- what is available -------------------------------------------------------------------------

bool SplitDevice::drained() const {
  return broken_ || ring_.memory().available_index == last_available_;
}

std::optional<DeviceSide::Chain> SplitDevice::next() {
  if (drained()) return std::nullopt;
  const SplitMemory& shared = ring_.memory();
  if (static_cast<std::uint16_t>(shared.available_index - last_available_) > ring_.size()) {
    fault(Fault::index_jump);
    return std::nullopt;
  }
  Chain chain;
  chain.head = shared.available[place(last_available_)];
  if (chain.head >= ring_.size() || taken_[chain.head]) {
    fault(chain.head >= ring_.size() ? Fault::bad_head : Fault::head_in_use);
    return std::nullopt;
  }
  if (!read_chain(chain)) return std::nullopt;
  ++last_available_;
  taken_[chain.head] = true;
  if (options_.in_order) order_.push(chain.head);
  return chain;
}

bool SplitDevice::read_chain(Chain& chain) {
  const SplitMemory& shared = ring_.memory();
  const Descriptor& head = shared.descriptors[chain.head];
  if ((head.flags & kFlagIndirect) == 0) {
    if (!walk(chain, shared.descriptors, chain.head, ring_.size())) return false;
  } else {
    const auto table = memory_.table(head.address, head.length);
    const bool may_be = options_.indirect && (head.flags & kFlagNext) == 0;
    if (!may_be || table.empty()) return fault(Fault::bad_table);
    if (!walk(chain, table, 0, table.size())) return false;
  }
  const auto found = check_whole(memory_, chain);
  return !found || fault(*found);
}

bool SplitDevice::walk(Chain& chain, std::span<const Descriptor> table, std::uint16_t at,
                       std::size_t most) {
  for (std::size_t count = 0;; ++count) {
    if (count == most) return fault(Fault::endless_chain);
    const Descriptor piece = table[at];
    if ((piece.flags & kFlagIndirect) != 0) return fault(Fault::bad_table);
    if (const auto found = add_piece(memory_, chain, piece, count == 0)) return fault(*found);
    if ((piece.flags & kFlagNext) == 0) return true;
    if (piece.next >= table.size()) return fault(Fault::bad_next);
    at = piece.next;
  }
}

void SplitDevice::put_back(const Chain& chain) {
  TAPESTRY_ASSERT(taken_[chain.head], "a chain is put back by whoever has it");
  if (options_.in_order) order_.pop_newest();
  taken_[chain.head] = false;
  --last_available_;
}

core::PacketPtr SplitDevice::take_packet(const Chain& chain) {
  return std::move(memory_.buffer(chain.buffer).packet);
}

void SplitDevice::give_packet(const Chain& chain, core::PacketPtr packet) {
  memory_.buffer(chain.buffer).packet = std::move(packet);
}

void SplitDevice::set_num_buffers(const Chain& chain, std::uint16_t buffers) {
  memory_.buffer(chain.buffer).num_buffers = buffers;
}

// --- what is used ------------------------------------------------------------------------------

// With IN_ORDER: may the used entry before this one be overwritten, and stand for both?
bool SplitDevice::goes_on_in_order(const Chain& chain, std::uint32_t written_bytes) {
  if (!options_.in_order) return false;
  const std::uint16_t oldest = order_.pop_oldest();
  TAPESTRY_ASSERT(oldest == chain.head, "buffers are given back in their order");
  return std::exchange(may_skip_, written_bytes == chain.writable_bytes);
}

void SplitDevice::use(const Chain& chain, std::uint32_t written_bytes) {
  TAPESTRY_ASSERT(taken_[chain.head], "a chain is used by whoever has it");
  if (!goes_on_in_order(chain, written_bytes)) entry_ = used_index_;
  taken_[chain.head] = false;
  ring_.memory().used[place(entry_)] = {chain.head, written_bytes};
  ++used_index_;
}

void SplitDevice::publish() {
  may_skip_ = false;
  ring_.memory().used_index = used_index_;
}

bool SplitDevice::must_interrupt() {
  const SplitMemory& shared = ring_.memory();
  const std::uint16_t before = std::exchange(signalled_, shared.used_index);
  const bool valid = std::exchange(signalled_valid_, true);
  if (!options_.event_index) return (shared.available_flags & kNoInterrupt) == 0;
  if (!valid) return true;
  return passes_event(shared.used_event, shared.used_index, before);
}

// --- notifications -----------------------------------------------------------------------------

// With event indices nothing is written: the driver goes beyond the index that was asked for, and
// falls silent.
void SplitDevice::disable_notifications() {
  if (!options_.event_index) ring_.memory().used_flags |= kNoNotify;
}

bool SplitDevice::enable_notifications() {
  SplitMemory& shared = ring_.memory();
  if (options_.event_index)
    shared.available_event = last_available_;
  else
    shared.used_flags &= static_cast<std::uint16_t>(~kNoNotify);
  return broken_ || shared.available_index == last_available_;
}

}  // namespace tapestry::host::virtqueue
