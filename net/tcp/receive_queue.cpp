#include "net/tcp/receive_queue.hpp"

#include <algorithm>
#include <utility>

#include "net/socket_memory.hpp"

namespace tapestry::net::tcp {

using core::DropReason;
using core::PacketPtr;

namespace {

// What a packet counts stays the same while it is read: its stamp of size is kept in `hash`, which
// belongs to the layer that has the packet.
void set_memory(core::Packet& packet) { packet.hash = socket_memory_bytes(packet.length()); }

}  // namespace

void ReceiveQueue::push(PacketPtr packet) {
  set_memory(*packet);
  memory_ += packet->hash;
  packet->reach(core::Milestone::socket_queued);
  const bool pushed = queue_.push(std::move(packet));
  TAPESTRY_ASSERT(pushed, "a receive buffer bounds its packets");
}

PacketPtr ReceiveQueue::pop() {
  PacketPtr packet = queue_.pop();
  if (packet) memory_ -= packet->hash;
  return packet;
}

void ReceiveQueue::drop(PacketPtr packet, DropReason reason) {
  allocator_.drop(std::move(packet), reason);
}

bool ReceiveQueue::insert(PacketPtr packet, Range range, bool fin) {
  auto next = early_.upper_bound(range.first);
  if (next != early_.begin()) {
    const Early& before = std::prev(next)->second;
    if (range.end <= before.end) {
      note_duplicate(range);
      drop(std::move(packet), DropReason::tcp_old_data);
      return false;
    }
    if (range.first < before.end) {
      note_duplicate({range.first, before.end});
      packet->lose_front(before.end - range.first);
      range.first = before.end;
    }
  }
  while (next != early_.end() && next->first < range.end) {
    if (range.end < next->second.end) {
      note_duplicate({next->first, range.end});
      packet->truncate_to(next->first - range.first);
      range.end = next->first;
      fin = false;
      break;
    }
    note_duplicate({next->first, next->second.end});
    memory_ -= next->second.packet->hash;
    drop(std::move(next->second.packet), DropReason::tcp_ofomerge);
    next = early_.erase(next);
  }
  set_memory(*packet);
  memory_ += packet->hash;
  early_.emplace_hint(next, range.first, Early{range.end, fin, std::move(packet)});
  note_block(range);
  return true;
}

ReceiveQueue::Joined ReceiveQueue::join(Sequence next) {
  Joined joined{next, false};
  while (!early_.empty() && early_.begin()->first <= joined.next) {
    auto first = early_.begin();
    Early early = std::move(first->second);
    const Sequence begin = first->first;
    early_.erase(first);
    memory_ -= early.packet->hash;
    if (early.end <= joined.next) {
      note_duplicate({begin, early.end});
      drop(std::move(early.packet), DropReason::tcp_old_data);
      continue;
    }
    if (begin < joined.next) {
      note_duplicate({begin, joined.next});
      early.packet->lose_front(std::min<std::size_t>(joined.next - begin, early.packet->length()));
    }
    joined.next = early.end;
    joined.fin = early.fin;
    if (early.packet->length() != 0)
      push(std::move(early.packet));
    else
      allocator_.free(std::move(early.packet));
    if (joined.fin) break;
  }
  forget_blocks_before(joined.next);
  return joined;
}

std::size_t ReceiveQueue::prune_early() {
  const std::size_t packets = early_.size();
  for (auto& [first, early] : early_) {
    memory_ -= early.packet->hash;
    drop(std::move(early.packet), DropReason::tcp_ofo_queue_prune);
  }
  early_.clear();
  block_count_ = 0;
  return packets;
}

void ReceiveQueue::drop_all() {
  while (PacketPtr packet = queue_.pop())
    core::drop(std::move(packet), DropReason::queue_purge);
  for (auto& [first, early] : early_)
    core::drop(std::move(early.packet), DropReason::queue_purge);
  early_.clear();
  block_count_ = 0;
  has_duplicate_ = false;
  memory_ = 0;
}

// --- selective acknowledgements ------------------------------------------------------------------

// The latest block stands first; those that it touches become part of it.
void ReceiveQueue::note_block(Range range) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < block_count_; ++i) {
    const Range block = blocks_[i];
    if (range.first <= block.end && block.first <= range.end) {
      range = {earlier(range.first, block.first), later(range.end, block.end)};
    } else {
      blocks_[kept++] = block;
    }
  }
  kept = std::min(kept, kSacksMax - 1);
  std::move_backward(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(kept),
                     blocks_.begin() + static_cast<std::ptrdiff_t>(kept) + 1);
  blocks_[0] = range;
  block_count_ = kept + 1;
}

void ReceiveQueue::forget_blocks_before(Sequence next) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < block_count_; ++i) {
    if (next < blocks_[i].first) blocks_[kept++] = blocks_[i];
  }
  block_count_ = kept;
}

std::uint8_t ReceiveQueue::report(std::array<Range, kSacksMax>& blocks, std::size_t room) {
  std::size_t count = 0;
  if (has_duplicate_ && room != 0) blocks[count++] = duplicate_;
  has_duplicate_ = false;
  for (std::size_t i = 0; i < block_count_ && count < std::min(room, kSacksMax); ++i)
    blocks[count++] = blocks_[i];
  return static_cast<std::uint8_t>(count);
}

}  // namespace tapestry::net::tcp
