#include "host/virtqueue/packed_device.hpp"

#include <utility>

#include "core/assert.hpp"
#include "host/virtqueue/chain_check.hpp"

namespace tapestry::host::virtqueue {

PackedDevice::PackedDevice(PackedRing& ring, GuestMemory& memory, QueueOptions options)
    : ring_(ring), memory_(memory), options_(options), taken_(ring.size()), order_(ring.size()) {
  TAPESTRY_ASSERT(memory.buffers() == ring.size(), "there is a buffer for each descriptor");
}

bool PackedDevice::fault(Fault fault) {
  faults_.count(fault);
  broken_ = true;
  return false;
}

// --- what is available -------------------------------------------------------------------------

bool PackedDevice::drained() const {
  return broken_ || !available_.is_available(ring_.memory().descriptors[available_.index].flags);
}

std::optional<DeviceSide::Chain> PackedDevice::next() {
  if (drained()) return std::nullopt;
  Chain chain;
  if (!read_chain(chain)) return std::nullopt;
  available_.advance(chain.entries, ring_.size());
  in_flight_ += chain.entries;
  taken_[chain.head] = true;
  if (options_.in_order) order_.push(chain.head);
  return chain;
}

bool PackedDevice::read_chain(Chain& chain) {
  const PackedDescriptor head = ring_.memory().descriptors[available_.index];
  const bool indirect = (head.flags & kFlagIndirect) != 0;
  if (!(indirect ? walk_table(chain, head) : walk_ring(chain))) return false;
  // What the device has not given back cannot have been made available again.
  if (in_flight_ + chain.entries > ring_.size()) return fault(Fault::index_jump);
  if (chain.head >= ring_.size()) return fault(Fault::bad_head);
  if (taken_[chain.head]) return fault(Fault::head_in_use);
  const auto found = check_whole(memory_, chain);
  return !found || fault(*found);
}

// The id is that of the last descriptor.
bool PackedDevice::walk_ring(Chain& chain) {
  const PackedMemory& shared = ring_.memory();
  PackedPosition at = available_;
  for (std::size_t count = 0;; ++count) {
    if (count == ring_.size()) return fault(Fault::endless_chain);
    const PackedDescriptor piece = shared.descriptors[at.index];
    if ((piece.flags & kFlagIndirect) != 0) return fault(Fault::bad_table);
    const Descriptor plain{piece.address, piece.length, piece.flags, 0};
    if (const auto found = add_piece(memory_, chain, plain, count == 0)) return fault(*found);
    chain.head = piece.id;
    chain.entries = static_cast<std::uint16_t>(count + 1);
    if ((piece.flags & kFlagNext) == 0) return true;
    at.advance(1, ring_.size());
  }
}

// The entries of a table follow one another; neither their ids nor NEXT mean anything (2.8.7).
bool PackedDevice::walk_table(Chain& chain, const PackedDescriptor& head) {
  const auto table = memory_.table(head.address, head.length);
  const bool may_be = options_.indirect && (head.flags & kFlagNext) == 0;
  if (!may_be || table.empty()) return fault(Fault::bad_table);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if ((table[i].flags & kFlagIndirect) != 0) return fault(Fault::bad_table);
    if (const auto found = add_piece(memory_, chain, table[i], i == 0)) return fault(*found);
  }
  chain.head = head.id;
  chain.entries = 1;
  return true;
}

void PackedDevice::put_back(const Chain& chain) {
  TAPESTRY_ASSERT(taken_[chain.head], "a chain is put back by whoever has it");
  if (options_.in_order) order_.pop_newest();
  taken_[chain.head] = false;
  in_flight_ -= chain.entries;
  available_.go_back(chain.entries, ring_.size());
}

core::PacketPtr PackedDevice::take_packet(const Chain& chain) {
  return std::move(memory_.buffer(chain.buffer).packet);
}

void PackedDevice::give_packet(const Chain& chain, core::PacketPtr packet) {
  memory_.buffer(chain.buffer).packet = std::move(packet);
}

void PackedDevice::set_num_buffers(const Chain& chain, std::uint16_t buffers) {
  memory_.buffer(chain.buffer).num_buffers = buffers;
}

// --- what is used ------------------------------------------------------------------------------

// With IN_ORDER: may the used entry before this one be overwritten, and stand for both?
bool PackedDevice::goes_on_in_order(const Chain& chain, std::uint32_t written_bytes) {
  if (!options_.in_order) return false;
  const std::uint16_t oldest = order_.pop_oldest();
  TAPESTRY_ASSERT(oldest == chain.head, "buffers are given back in their order");
  return std::exchange(may_skip_, written_bytes == chain.writable_bytes);
}

// One descriptor for the chain, and as many skipped as it had.
void PackedDevice::use(const Chain& chain, std::uint32_t written_bytes) {
  TAPESTRY_ASSERT(taken_[chain.head], "a chain is used by whoever has it");
  if (!goes_on_in_order(chain, written_bytes)) entry_ = used_;
  taken_[chain.head] = false;
  in_flight_ -= chain.entries;
  PackedDescriptor& at = ring_.memory().descriptors[entry_.index];
  at.id = chain.head;
  at.length = written_bytes;
  const auto flags =
      static_cast<std::uint16_t>(entry_.used_flags() | (written_bytes != 0 ? kFlagWrite : 0));
  if (unpublished_ == 0) first_ = entry_;
  if (entry_ == first_)
    first_flags_ = flags;
  else
    at.flags = flags;
  unpublished_ += chain.entries;
  used_.advance(chain.entries, ring_.size());
}

void PackedDevice::publish() {
  if (unpublished_ == 0) return;
  may_skip_ = false;
  ring_.memory().descriptors[first_.index].flags = first_flags_;
  untold_ += std::exchange(unpublished_, 0);
}

bool PackedDevice::must_interrupt() {
  PackedPosition published = used_;
  published.go_back(unpublished_, ring_.size());
  return wants_to_be_told(ring_.memory().driver, options_.event_index, published,
                          std::exchange(untold_, 0), ring_.size());
}

// --- notifications -----------------------------------------------------------------------------

void PackedDevice::disable_notifications() { ring_.memory().device.flags = kEventDisable; }

bool PackedDevice::enable_notifications() {
  EventSuppression& wish = ring_.memory().device;
  wish.offset_wrap = available_.offset_wrap();
  wish.flags = options_.event_index ? kEventDescriptor : kEventEnable;
  return drained();
}

}  // namespace tapestry::host::virtqueue
