#include "host/virtqueue/split_driver.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/assert.hpp"
#include "host/virtqueue/event_index.hpp"

namespace tapestry::host::virtqueue {

SplitDriver::SplitDriver(SplitRing& ring, GuestMemory& memory, SplitOptions options)
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

bool SplitDriver::add(core::PacketPtr& packet, std::span<const std::uint32_t> pieces,
                      Access access) {
  TAPESTRY_ASSERT(!pieces.empty(), "a buffer has at least one piece");
  SplitMemory& shared = ring_.memory();
  const bool indirect = options_.indirect && pieces.size() > 1 && unused_ > 0 &&
                        pieces.size() <= GuestMemory::kTableEntries;
  const std::size_t entries = indirect ? 1 : pieces.size();
  if (broken_ || entries > unused_) return false;

  const std::uint16_t head = free_head_;
  std::uint32_t bytes = 0;
  for (const std::uint32_t piece : pieces)
    bytes += piece;
  const bool writes = access == Access::device_writes;
  const std::uint16_t flags = writes ? kFlagWrite : std::uint16_t{0};
  memory_.map(head, std::move(packet), bytes);
  if (indirect)
    write_indirect(shared, head, pieces, flags);
  else
    write_chain(shared, head, pieces, flags);
  extras_[head].entries = static_cast<std::uint16_t>(entries);
  extras_[head].bytes = writes ? bytes : 0;
  unused_ -= entries;
  ++outstanding_;
  if (options_.in_order) order_.push(head);

  shared.available[place(available_index_)] = head;
  shared.available_index = ++available_index_;
  ++added_;
  return true;
}

void SplitDriver::write_chain(SplitMemory& shared, std::uint16_t head,
                              std::span<const std::uint32_t> pieces, std::uint16_t flags) {
  std::uint64_t address = GuestMemory::address_of(head);
  std::uint16_t at = head;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    const std::uint16_t next = extras_[at].next;
    shared.descriptors[at] = {address, pieces[i],
                              static_cast<std::uint16_t>(flags | (last ? 0 : kFlagNext)),
                              last ? std::uint16_t{0} : next};
    address += pieces[i];
    if (last) free_head_ = next;
    at = next;
  }
}

void SplitDriver::write_indirect(SplitMemory& shared, std::uint16_t head,
                                 std::span<const std::uint32_t> pieces, std::uint16_t flags) {
  std::array<Descriptor, GuestMemory::kTableEntries> table;
  std::uint64_t address = GuestMemory::address_of(head);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool last = i + 1 == pieces.size();
    table[i] = {address, pieces[i], static_cast<std::uint16_t>(flags | (last ? 0 : kFlagNext)),
                static_cast<std::uint16_t>(last ? 0 : i + 1)};
    address += pieces[i];
  }
  const std::uint64_t written = memory_.write_table(head, {table.data(), pieces.size()});
  shared.descriptors[head] = {written, static_cast<std::uint32_t>(pieces.size()) * kDescriptorBytes,
                              kFlagIndirect, 0};
  free_head_ = extras_[head].next;
}

bool SplitDriver::kick_prepare() {
  const SplitMemory& shared = ring_.memory();
  const auto before = static_cast<std::uint16_t>(available_index_ - added_);
  added_ = 0;
  if (broken_) return false;
  if (options_.event_index) return passes_event(shared.available_event, available_index_, before);
  return (shared.used_flags & kNoNotify) == 0;
}

// --- what came back ----------------------------------------------------------------------------

bool SplitDriver::has_used() const { return !broken_ && ring_.memory().used_index != last_used_; }

std::optional<DriverSide::Completed> SplitDriver::take_used() {
  if (!has_used()) return std::nullopt;
  SplitMemory& shared = ring_.memory();
  const auto waiting = static_cast<std::uint16_t>(shared.used_index - last_used_);
  UsedElement element = shared.used[place(last_used_)];
  bool known = element.id < extras_.size() && extras_[element.id].entries != 0;
  if (waiting <= outstanding_ && options_.in_order)
    known = take_in_order(element.id, element.length, waiting);
  if (waiting > outstanding_ || !known) {
    call_broken(waiting > outstanding_ ? Fault::used_jump : Fault::bad_used_id);
    return std::nullopt;
  }
  const auto head = static_cast<std::uint16_t>(element.id);
  const std::uint32_t room = extras_[head].bytes;
  if (room != 0 && element.length > room) {
    call_broken(Fault::used_too_long);
    return std::nullopt;
  }
  const std::uint16_t num_buffers = memory_.buffer(head).num_buffers;
  Completed completed{release(head), element.length, num_buffers};
  ++last_used_;
  if (callbacks_ && options_.event_index) shared.used_event = last_used_;
  return completed;
}

// Which buffer comes next, and what was written into it. False if `id` is none of the next
// `waiting`.
bool SplitDriver::take_in_order(std::uint32_t& id, std::uint32_t& bytes, std::size_t waiting) {
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

// Its descriptors are free again, and the first to be taken.
core::PacketPtr SplitDriver::release(std::uint16_t head) {
  Extra& first = extras_[head];
  std::uint16_t last = head;
  for (std::uint16_t i = 1; i < first.entries; ++i)
    last = extras_[last].next;
  extras_[last].next = free_head_;
  free_head_ = head;
  unused_ += first.entries;
  first.entries = 0;
  --outstanding_;
  return memory_.unmap(head);
}

core::PacketPtr SplitDriver::take_back() {
  order_.clear();
  batch_ = 0;
  if (outstanding_ == 0) return {};
  for (std::size_t head = 0; head < extras_.size(); ++head) {
    if (extras_[head].entries == 0) continue;
    if (core::PacketPtr packet = release(static_cast<std::uint16_t>(head))) return packet;
  }
  return {};
}

void SplitDriver::call_broken(Fault fault) {
  faults_.count(fault);
  broken_ = true;
}

// --- callbacks ---------------------------------------------------------------------------------

// With event indices nothing is written: the index that was asked for stays behind and is not
// passed again soon.
void SplitDriver::disable_callbacks() {
  SplitMemory& shared = ring_.memory();
  callbacks_ = false;
  if (!options_.event_index) shared.available_flags |= kNoInterrupt;
}

void SplitDriver::want_callbacks() {
  callbacks_ = true;
  if (!options_.event_index)
    ring_.memory().available_flags &= static_cast<std::uint16_t>(~kNoInterrupt);
}

std::uint16_t SplitDriver::enable_callbacks_prepare() {
  want_callbacks();
  ring_.memory().used_event = last_used_;
  return last_used_;
}

bool SplitDriver::used_since(std::uint16_t prepared) const {
  return !broken_ && ring_.memory().used_index != prepared;
}

bool SplitDriver::enable_callbacks_delayed() {
  want_callbacks();
  SplitMemory& shared = ring_.memory();
  const auto waits_for = static_cast<std::uint16_t>(available_index_ - last_used_);
  const auto most = static_cast<std::uint16_t>(std::uint32_t{waits_for} * 3 / 4);
  shared.used_event = static_cast<std::uint16_t>(last_used_ + most);
  return broken_ || static_cast<std::uint16_t>(shared.used_index - last_used_) <= most;
}

}  // namespace tapestry::host::virtqueue
