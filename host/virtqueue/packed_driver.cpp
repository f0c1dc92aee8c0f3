#include "host/virtqueue/packed_driver.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/assert.hpp"

namespace tapestry::host::virtqueue {

PackedDriver::PackedDriver(PackedRing& ring, GuestMemory& memory, QueueOptions options)
    : ring_(ring),
      memory_(memory),
      options_(options),
      extras_(ring.size()),
      unused_(ring.size()),
      order_(ring.size()) {
  TAPESTRY_ASSERT(memory.buffers() == ring.size(), "there is a buffer for each descriptor");
  for (std::size_t i = 0; i < extras_.size(); ++i)
    extras_[i].next = static_cast<std::uint16_t>(i + 1);
}

// --- adding ------------------------------------------------------------------------------------

bool PackedDriver::add(core::PacketPtr& packet, std::span<const std::uint32_t> pieces,
                       Access access) {
  TAPESTRY_ASSERT(!pieces.empty(), "a buffer has at least one piece");
  const bool indirect = options_.indirect && pieces.size() > 1 && unused_ > 0 &&
                        pieces.size() <= GuestMemory::kTableEntries;
  const std::size_t entries = indirect ? 1 : pieces.size();
  if (broken_ || entries > unused_) return false;

  const std::uint16_t id = free_id_;
  std::uint32_t bytes = 0;
  for (const std::uint32_t piece : pieces)
    bytes += piece;
  const bool writes = access == Access::device_writes;
  const std::uint16_t flags = writes ? kFlagWrite : std::uint16_t{0};
  memory_.map(id, std::move(packet), bytes);
  if (indirect)
    write_indirect(id, pieces, flags);
  else
    write_chain(id, pieces, flags);
  free_id_ = extras_[id].next;
  extras_[id].entries = static_cast<std::uint16_t>(entries);
  extras_[id].bytes = writes ? bytes : 0;
  available_.advance(entries, ring_.size());
  unused_ -= entries;
  added_ += entries;
  ++outstanding_;
  if (options_.in_order) order_.push(id);
  return true;
}

// The head's flags are written last: they make the whole chain available.
void PackedDriver::write_chain(std::uint16_t id, std::span<const std::uint32_t> pieces,
                               std::uint16_t flags) {
  PackedMemory& shared = ring_.memory();
  std::uint64_t address = GuestMemory::address_of(id);
  PackedPosition at = available_;
  std::uint16_t head_flags = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    PackedDescriptor& piece = shared.descriptors[at.index];
    piece.address = address;
    piece.length = pieces[i];
    piece.id = id;
    const auto written =
        static_cast<std::uint16_t>(flags | at.available_flags() | (last ? 0 : kFlagNext));
    (i == 0 ? head_flags : piece.flags) = written;
    address += pieces[i];
    at.advance(1, ring_.size());
  }
  shared.descriptors[available_.index].flags = head_flags;
}

void PackedDriver::write_indirect(std::uint16_t id, std::span<const std::uint32_t> pieces,
                                  std::uint16_t flags) {
  std::array<Descriptor, GuestMemory::kTableEntries> table;
  std::uint64_t address = GuestMemory::address_of(id);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    table[i] = {address, pieces[i], flags, 0};
    address += pieces[i];
  }
  const std::uint64_t written = memory_.write_table(id, {table.data(), pieces.size()});
  ring_.memory().descriptors[available_.index] = {
      written, static_cast<std::uint32_t>(pieces.size()) * kDescriptorBytes, id,
      static_cast<std::uint16_t>(kFlagIndirect | available_.available_flags())};
}

bool PackedDriver::kick_prepare() {
  const std::size_t added = std::exchange(added_, 0);
  if (broken_) return false;
  return wants_to_be_told(ring_.memory().device, options_.event_index, available_, added,
                          ring_.size());
}

// --- what came back ----------------------------------------------------------------------------

bool PackedDriver::has_used() const {
  if (broken_) return false;
  return batch_ != 0 || used_.is_used(ring_.memory().descriptors[used_.index].flags);
}

std::optional<DriverSide::Completed> PackedDriver::take_used() {
  if (!has_used()) return std::nullopt;
  const PackedDescriptor& element = ring_.memory().descriptors[used_.index];
  std::uint32_t id = element.id;
  std::uint32_t bytes = element.length;
  const bool known = options_.in_order ? take_in_order(id, bytes, outstanding_)
                                       : id < extras_.size() && extras_[id].entries != 0;
  if (!known) {
    call_broken(Fault::bad_used_id);
    return std::nullopt;
  }
  const std::uint32_t room = extras_[id].bytes;
  if (room != 0 && bytes > room) {
    call_broken(Fault::used_too_long);
    return std::nullopt;
  }
  used_.advance(extras_[id].entries, ring_.size());
  const std::uint16_t num_buffers = memory_.buffer(id).num_buffers;
  Completed completed{release(static_cast<std::uint16_t>(id)), bytes, num_buffers};
  if (callbacks_ && options_.event_index) ask_from(used_);
  return completed;
}

// Which buffer comes next, and what was written into it. False if `id` is none of the next
// `waiting`.
bool PackedDriver::take_in_order(std::uint32_t& id, std::uint32_t& bytes, std::size_t waiting) {
  if (batch_ == 0) {
    const std::size_t most = std::min(waiting, order_.size());
    std::size_t before = 0;
    while (before < most && order_[before] != id)
      ++before;
    if (before == most) return false;
    batch_ = before + 1;
    batch_bytes_ = bytes;
  }
  id = order_.pop_oldest();
  bytes = --batch_ == 0 ? batch_bytes_ : extras_[id].bytes;
  return true;
}

core::PacketPtr PackedDriver::release(std::uint16_t id) {
  Extra& extra = extras_[id];
  unused_ += extra.entries;
  extra.entries = 0;
  extra.next = std::exchange(free_id_, id);
  --outstanding_;
  return memory_.unmap(id);
}

core::PacketPtr PackedDriver::take_back() {
  order_.clear();
  batch_ = 0;
  if (outstanding_ == 0) return {};
  for (std::size_t id = 0; id < extras_.size(); ++id) {
    if (extras_[id].entries == 0) continue;
    if (core::PacketPtr packet = release(static_cast<std::uint16_t>(id))) return packet;
  }
  return {};
}

void PackedDriver::call_broken(Fault fault) {
  faults_.count(fault);
  broken_ = true;
}

// --- callbacks ---------------------------------------------------------------------------------

void PackedDriver::disable_callbacks() {
  callbacks_ = false;
  ring_.memory().driver.flags = kEventDisable;
}

void PackedDriver::ask_from(PackedPosition position) {
  callbacks_ = true;
  ring_.memory().driver = {position.offset_wrap(),
                           options_.event_index ? kEventDescriptor : kEventEnable};
}

std::uint16_t PackedDriver::enable_callbacks_prepare() {
  ask_from(used_);
  return used_.offset_wrap();
}

bool PackedDriver::used_since(std::uint16_t prepared) const {
  const PackedPosition then = PackedPosition::of(prepared);
  if (broken_) return false;
  return batch_ != 0 || then.is_used(ring_.memory().descriptors[then.index].flags);
}

// Three quarters of the descriptors that are outstanding. Unlike on a split ring nothing tells how
// far the device has come, so whatever has been used already is a reason to look.
bool PackedDriver::enable_callbacks_delayed() {
  PackedPosition late = used_;
  late.advance((ring_.size() - unused_) * 3 / 4, ring_.size());
  ask_from(late);
  return !has_used();
}

}  // namespace tapestry::host::virtqueue
