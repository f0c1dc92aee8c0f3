#include "net/reassembly.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/socket_memory.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

using core::DropReason;
using core::PacketPtr;

namespace {

std::size_t header_bytes(const core::Packet& packet) {
  return std::size_t{packet.data()[0] & 0xfu} * 4;
}

}  // namespace

Reassembly::Reassembly(Stack& stack)
    : stack_(stack), timer_(stack.environment().jiffies, &Reassembly::timer_expired, this) {}

// --- queues --------------------------------------------------------------------------------------

Reassembly::Queue* Reassembly::find_or_make(const Key& key) {
  Queue* unused = nullptr;
  for (Queue& queue : queues_) {
    if (queue.used && queue.key == key) return &queue;
    if (!queue.used && unused == nullptr) unused = &queue;
  }
  if (unused == nullptr || memory_ > kMemoryMax) return nullptr;
  const irq::JiffyTimers& jiffies = stack_.environment().jiffies;
  unused->used = true;
  unused->key = key;
  unused->deadline = jiffies.jiffies() + jiffies.to_jiffies(kPatience);
  ++queues_used_;
  return unused;
}

void Reassembly::release(Queue& queue) {
  queue.used = false;
  queue.pieces.clear();
  queue.total = queue.furthest = queue.present = 0;
  --queues_used_;
}

void Reassembly::drop_fragment(PacketPtr fragment, DropReason reason) {
  ++figures_.failed;
  stack_.allocator().drop(std::move(fragment), reason);
}

void Reassembly::give_up(Queue& queue, DropReason reason) {
  core::PacketQueue gone(queue.pieces.size());
  for (Piece& piece : queue.pieces) {
    memory_ -= socket_memory_bytes(piece.packet->length());
    (void)gone.push(std::move(piece.packet));
  }
  release(queue);
  while (PacketPtr packet = gone.pop())
    drop_fragment(std::move(packet), reason);
}

// --- adding --------------------------------------------------------------------------------------

PacketPtr Reassembly::add(PacketPtr fragment) {
  stack_.timeline().require_settled("fragments that wait for others");
  ++figures_.fragments;
  const std::uint8_t* header = fragment->data();
  const Key key{Ipv4Address{core::load_be32(header + ipv4::kSource)},
                Ipv4Address{core::load_be32(header + ipv4::kDestination)},
                core::load_be16(header + ipv4::kIdentification), header[ipv4::kProtocol]};
  const std::uint16_t field = core::load_be16(header + ipv4::kFragment);
  const bool last = (field & ipv4::kMoreFragments) == 0;
  const std::size_t begin = (field & ipv4::kOffsetMask) * std::size_t{8};
  std::size_t bytes = fragment->length() - header_bytes(*fragment);
  if (!last) bytes = bytes / 8 * 8;
  if (bytes == 0 || header_bytes(*fragment) + begin + bytes > ipv4::kPacketMax) {
    drop_fragment(std::move(fragment), DropReason::ip_inhdr);
    return {};
  }
  fragment->trim_to(header_bytes(*fragment) + bytes);
  Queue* queue = find_or_make(key);
  if (queue == nullptr) {
    drop_fragment(std::move(fragment), DropReason::nomem);
    return {};
  }
  if (!fits(*queue, begin + bytes, last)) {
    if (queue->pieces.empty()) release(*queue);
    drop_fragment(std::move(fragment), DropReason::ip_inhdr);
    return {};
  }
  PacketPtr whole = insert(*queue, Piece{begin, begin + bytes, std::move(fragment)});
  program();
  return whole;
}

// Does it agree with what is known of the length of the whole?
bool Reassembly::fits(const Queue& queue, std::size_t end, bool last) {
  if (queue.total != 0 && (end > queue.total || (last && end != queue.total))) return false;
  if (last && end < queue.furthest) return false;
  return true;
}

PacketPtr Reassembly::insert(Queue& queue, Piece piece) {
  const auto next =
      std::ranges::lower_bound(queue.pieces, piece.begin, std::ranges::less{}, &Piece::begin);
  const Piece* before = next != queue.pieces.begin() ? &*(next - 1) : nullptr;
  const Piece* after = next != queue.pieces.end() ? &*next : nullptr;
  const bool overlaps = (before != nullptr && before->end > piece.begin) ||
                        (after != nullptr && after->begin < piece.end);
  if (overlaps) {
    const bool known = (before != nullptr && before->end >= piece.end) ||
                       (after != nullptr && after->begin == piece.begin && after->end >= piece.end);
    if (!known) give_up(queue, DropReason::dup_frag);
    drop_fragment(std::move(piece.packet), DropReason::dup_frag);
    return {};
  }
  const bool last =
      (core::load_be16(piece.packet->data() + ipv4::kFragment) & ipv4::kMoreFragments) == 0;
  if (last) queue.total = piece.end;
  queue.furthest = std::max(queue.furthest, piece.end);
  queue.present += piece.end - piece.begin;
  memory_ += socket_memory_bytes(piece.packet->length());
  queue.pieces.insert(next, std::move(piece));
  if (queue.total == 0 || queue.present != queue.total) return {};
  return join(queue);
}

// --- joining -------------------------------------------------------------------------------------

// From here on the pieces are private: the queue is free for others.
PacketPtr Reassembly::join(Queue& queue) {
  const std::size_t total = queue.total;
  std::vector<Piece> pieces = std::move(queue.pieces);
  std::size_t ranges = 0;
  for (const Piece& piece : pieces) {
    memory_ -= socket_memory_bytes(piece.packet->length());
    ranges += piece.packet->fragments().size() + 1;
  }
  release(queue);
  PacketPtr whole = ranges <= core::Packet::kFragmentsMax ? share(pieces) : copy(pieces, total);
  for (Piece& piece : pieces) {
    if (piece.packet) drop_fragment(std::move(piece.packet), DropReason::nomem);
  }
  if (!whole) return whole;
  ++figures_.completed;
  std::uint8_t* header = whole->data();
  core::store_be16(header + ipv4::kTotalLength,
                   static_cast<std::uint16_t>(header_bytes(*whole) + total));
  core::store_be16(header + ipv4::kFragment, 0);
  core::store_be16(header + ipv4::kChecksum, 0);
  core::store_be16(header + ipv4::kChecksum,
                   core::internet_checksum({header, header_bytes(*whole)}));
  stack_.cpu().charge(sched::Work::packet_free, static_cast<std::int64_t>(pieces.size() - 1));
  return whole;
}

// The first piece, with the payload of the others behind its own.
PacketPtr Reassembly::share(std::vector<Piece>& pieces) {
  PacketPtr whole = std::move(pieces[0].packet);
  for (Piece& piece : pieces) {
    if (!piece.packet) continue;
    const std::size_t skip = header_bytes(*piece.packet);
    if (!whole->append_range(*piece.packet, skip, piece.packet->length() - skip)) {
      pieces[0].packet = std::move(whole);
      return {};
    }
    if (piece.packet->checksum != whole->checksum) whole->checksum = core::ChecksumState::none;
    whole->absorb_weight(std::move(piece.packet));
  }
  return whole;
}

// A new packet: the first piece's header, and all bytes in one block. Empty if there is none.
PacketPtr Reassembly::copy(std::vector<Piece>& pieces, std::size_t total) {
  core::PayloadRef block = stack_.packets().allocate_payload(total);
  if (!block) return {};
  const core::Packet& first = *pieces[0].packet;
  PacketPtr whole = stack_.allocator().allocate(core::Origin::merging);
  if (!whole) return whole;
  const std::uint64_t id = whole->id;
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): the marks alone are meant
  static_cast<core::PacketMarks&>(*whole) = first;
  whole->id = id;
  const std::size_t header = header_bytes(first);
  std::memcpy(whole->put(header).data(), first.data(), header);
  for (Piece& piece : pieces) {
    const std::size_t skip = header_bytes(*piece.packet);
    piece.packet->copy_out(skip, block.writable().subspan(piece.begin, piece.end - piece.begin));
    if (piece.packet->checksum != whole->checksum) whole->checksum = core::ChecksumState::none;
    whole->absorb_weight(std::move(piece.packet));
  }
  whole->append_payload(std::move(block));
  return whole;
}

// --- patience ------------------------------------------------------------------------------------

// For the queue that began first. As long as one waits the timer runs.
void Reassembly::program() {
  stack_.cpu().settle();
  if (queues_used_ == 0) {
    timer_.cancel();
    return;
  }
  if (timer_.pending()) return;
  std::uint64_t earliest = UINT64_MAX;
  for (const Queue& queue : queues_) {
    if (queue.used) earliest = std::min(earliest, queue.deadline);
  }
  timer_.modify(earliest);
}

void Reassembly::timer_expired(void* object) {
  Reassembly& reassembly = *static_cast<Reassembly*>(object);
  const std::uint64_t now = reassembly.stack_.environment().jiffies.jiffies();
  for (Queue& queue : reassembly.queues_) {
    reassembly.stack_.cpu().settle();
    if (!queue.used || queue.deadline > now) continue;
    ++reassembly.figures_.timed_out;
    reassembly.give_up(queue, DropReason::frag_reasm_timeout);
  }
  reassembly.program();
}

}  // namespace tapestry::net
