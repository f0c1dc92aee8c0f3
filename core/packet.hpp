// A packet: one header area with one owner, over counted payload.
//
//        headroom        linear part            payload
//   |<-- 128 bytes -->|<-- 192 bytes at first -->|<-- up to 18 ranges of counted blocks -->|
//   ^ area            ^ front                    ^ back
//
// The bytes of the packet run from the front through the linear part and on through the payload
// ranges. Layers put their headers in front with `push` and strip them with `pull`, which moves
// marks and copies nothing; what was pulled out of the linear part is still there and `push` brings
// it back, as skb_pull and skb_push do. Pulling goes on into the payload when the linear part is
// used up.
//
// Header marks (mac, network, transport, checksum start) are fixed to bytes, not to the front:
// pushing and pulling does not disturb them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/assert.hpp"
#include "core/ledger.hpp"
#include "core/payload.hpp"
#include "core/time.hpp"

namespace tapestry::core {

class PacketPool;
class PacketPtr;

// What is known of the transport checksum: nothing; that it is to be filled in by whoever sends
// last; that it need not be looked at. (CHECKSUM_NONE, CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY)
enum class ChecksumState : std::uint8_t { none, partial, unnecessary };

enum class GsoType : std::uint8_t { none, tcpv4, tcpv6, udp_l4 };

// Which way a frame crosses the point that looks at it.
enum class Direction : std::uint8_t { unknown, incoming, outgoing };

// skb->pkt_type: whom a received frame addresses.
enum class PacketType : std::uint8_t { host, broadcast, multicast, otherhost, outgoing };

// Whose cache holds the bytes of a packet: a physical CPU, from 1; 0: nobody's, they are in memory,
// where a device has put them.
using CacheOwner = std::uint16_t;

// What travels with the bytes, as in struct sk_buff and struct virtio_net_hdr. Plain data: each
// field belongs to the layer that the packet is with.
struct PacketMarks {
  Instant born{};               // when its payload entered the world
  Instant stamp{};              // receive or transmit timestamp of the layer that has it
  std::uint64_t id = 0;         // serial in its world, from 1: joins the records of capture points
  std::uint32_t flow = 0;       // the workload's flow, 0: none
  std::uint32_t hash = 0;       // flow hash, 0: not computed
  std::uint32_t interface = 0;  // number of the device that it came in by (skb_iif)
  std::uint16_t protocol = 0;   // ethertype, host order
  std::uint16_t queue = 0;      // transmit or receive queue
  std::uint16_t gso_size = 0;   // payload bytes of each segment to be cut; 0: none
  std::uint16_t gso_segments = 0;     // how many that gives, 0: not a segmentation packet
  std::uint16_t checksum_offset = 0;  // of the field, from the checksum start
  ChecksumState checksum = ChecksumState::none;
  GsoType gso_type = GsoType::none;
  bool gso_fixed_id = false;  // all segments have one IP identification (SKB_GSO_TCP_FIXEDID)
  PacketType packet_type = PacketType::host;
  Direction direction = Direction::unknown;
  bool more = false;             // another packet for this queue follows at once (xmit_more)
  CacheOwner payload_owner = 0;  // who wrote the payload last, or read all of it
  // One more reference to a buffer that its sender keeps (skb_shared): who is done with it only
  // counts down, and nothing is freed.
  bool shared = false;
};

// Who is told when a packet ends: a socket that bounds what it has on its way (skb->destructor).
class PacketOwner {
 public:
  virtual void packet_released(std::uint32_t bytes) = 0;
  // A packet is cut into segments that hold `more_bytes` beyond what it was charged with. True:
  // they are charged here too, and each segment is released on its own (tcp_wfree, which TCP's
  // small queues live on; UDP's sock_wfree). False: nothing changes, and the last segment takes the
  // whole charge along (skb_segment).
  virtual bool packet_segmented(std::uint32_t more_bytes) {
    static_cast<void>(more_bytes);
    return false;
  }

 protected:
  ~PacketOwner() = default;
};

class Packet : public PacketMarks {
 public:
  static constexpr std::size_t kHeadroomBytes = 128;
  static constexpr std::size_t kAreaBytes = kHeadroomBytes + 192;
  // 64 KiB in 4 KiB pages and two more for bad alignment: MAX_SKB_FRAGS is 17, plus the head's
  // rest.
  static constexpr std::size_t kFragmentsMax = 18;

  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  std::size_t length() const { return linear_length() + payload_length_; }
  std::size_t linear_length() const { return back_ - front_; }
  std::size_t payload_length() const { return payload_length_; }
  std::size_t headroom() const { return front_; }

  // The linear part. The front of it moves with push and pull.
  std::uint8_t* data() { return area_.data() + front_; }
  const std::uint8_t* data() const { return area_.data() + front_; }
  std::span<std::uint8_t> linear() { return {data(), linear_length()}; }
  std::span<const std::uint8_t> linear() const { return {data(), linear_length()}; }
  std::span<const PayloadRef> fragments() const {
    return {fragments_.data() + first_fragment_, fragment_count_};
  }

  // Puts n bytes in front and returns them. They are what was pulled from there before, or
  // undefined. Headers that don't fit the area are a bug.
  std::span<std::uint8_t> push(std::size_t n) {
    if (n > front_) [[unlikely]]
      make_headroom(n);
    front_ = static_cast<std::uint16_t>(front_ - n);
    return {data(), n};
  }

  // Strips n bytes, at most length().
  void pull(std::size_t n) {
    if (n > linear_length()) [[unlikely]] {
      pull_payload(n);
      return;
    }
    front_ = static_cast<std::uint16_t>(front_ + n);
  }

  // Appends n undefined bytes to the linear part of a packet that has no payload yet, and returns
  // them (skb_put). They must fit; `tailroom` says how many do.
  std::span<std::uint8_t> put(std::size_t n);
  std::size_t tailroom() const { return fragment_count_ == 0 ? kAreaBytes - back_ : 0; }

  // Appends a range. There must be room for another: ask `fragments_left`. A range that continues
  // the last one in the same block joins it.
  void append_payload(PayloadRef payload);
  std::size_t fragments_left() const { return kFragmentsMax - fragment_count_; }

  // Appends `length` bytes of another packet from `offset` of its front: payload is shared, linear
  // bytes are copied, into the linear part or, behind payload, into a new block. False, with
  // nothing appended, if there are not enough fragments, room or blocks.
  bool append_range(const Packet& from, std::size_t offset, std::size_t length);

  // Keeps the first n bytes; n is at most length(). Moves no weight: for padding and trailers.
  void trim_to(std::size_t n);

  // Keeps the first n bytes because a reader's buffer ended there. As much weight as bytes are cut
  // off (not more than there is) leaves the world as truncated.
  void truncate_to(std::size_t n);

  // Strips the first n bytes (at most length()) because the reader has had them before. As much
  // weight as bytes (not more than there is) leaves the world as truncated.
  void lose_front(std::size_t n);

  // Pulls bytes of the payload into the linear part until the first n are contiguous at data(), as
  // pskb_may_pull. False if the packet is shorter or n exceeds the area.
  bool make_linear(std::size_t n) { return n <= linear_length() || make_linear_slowly(n); }

  // Copies the payload into one block, so that the packet has at most one range behind its linear
  // part (skb_linearize). False, with nothing changed, if there is no block.
  bool gather_payload();

  // Copies target.size() bytes from `offset`; they must exist.
  void copy_out(std::size_t offset, std::span<std::uint8_t> target) const;

  // Calls visit(span of const bytes) for each contiguous piece of [offset, offset + length).
  template <class Visit>
  void for_each_piece(std::size_t offset, std::size_t length, Visit visit) const;

  // Marks at bytes. `at` counts from the present front.
  void set_mac_header(std::size_t at = 0) { mac_header_ = mark(at); }
  void set_network_header(std::size_t at = 0) { network_header_ = mark(at); }
  void set_transport_header(std::size_t at = 0) { transport_header_ = mark(at); }
  void set_checksum_start(std::size_t at) { checksum_start_ = mark(at); }

  bool has_mac_header() const { return mac_header_ != kNoMark; }
  bool has_network_header() const { return network_header_ != kNoMark; }
  bool has_transport_header() const { return transport_header_ != kNoMark; }

  // In the area; the header must have been marked and be linear.
  std::uint8_t* mac_header() { return at_mark(mac_header_); }
  std::uint8_t* network_header() { return at_mark(network_header_); }
  std::uint8_t* transport_header() { return at_mark(transport_header_); }
  const std::uint8_t* mac_header() const { return at_mark(mac_header_); }
  const std::uint8_t* network_header() const { return at_mark(network_header_); }
  const std::uint8_t* transport_header() const { return at_mark(transport_header_); }

  // From the present front; it must not have been pulled.
  std::size_t mac_offset() const { return from_front(mac_header_); }
  std::size_t network_offset() const { return from_front(network_header_); }
  std::size_t transport_offset() const { return from_front(transport_header_); }
  std::size_t checksum_start() const { return from_front(checksum_start_); }

  // Tells whoever watches how far it has come.
  void reach(Milestone milestone, std::uint64_t argument = 0) const;

  // Makes the packet accountable for so many more bytes, on behalf of its origin.
  void account(std::uint64_t bytes);
  std::uint64_t weight() const { return weight_; }
  Origin origin() const { return origin_; }

  // Ends `other` as merged; its weight passes to this packet. Its bytes are the caller's business
  // (append_range before).
  void absorb_weight(PacketPtr other);

  // The same bytes again: shares payload, copies linear part and marks, gets an id of its own, and
  // the same weight, created by duplication. Empty if the pool is exhausted.
  PacketPtr clone() const;

  // Memory held: the packet and the blocks under its payload.
  std::size_t memory_bytes() const;

  // `owner` is told of `bytes` when the packet ends or is orphaned, whichever comes first. A clone
  // has none.
  void set_owner(PacketOwner& owner, std::uint32_t bytes) {
    TAPESTRY_ASSERT(owner_ == nullptr, "a packet has one owner at a time");
    owner_ = &owner;
    owner_bytes_ = bytes;
  }
  const PacketOwner* owner() const { return owner_; }  // skb->sk; null: none, or orphaned
  std::uint32_t owner_bytes() const { return owner_bytes_; }
  // Takes the owner away without telling it: the charge goes on to other packets. Null: none.
  PacketOwner* take_owner() { return std::exchange(owner_, nullptr); }
  bool has_owner() const { return owner_ != nullptr; }
  // skb_orphan: the owner is told now. On a CPU that owes nothing, since the owner may wake a
  // thread.
  void orphan() {
    if (owner_ != nullptr) std::exchange(owner_, nullptr)->packet_released(owner_bytes_);
  }

  PacketPool& pool() const { return *pool_; }

 private:
  friend class PacketPool;
  friend class PacketQueue;

  static constexpr std::uint16_t kNoMark = 0xffff;

  Packet() = default;  // by the pool only

  std::uint16_t mark(std::size_t at) const {
    TAPESTRY_ASSERT(at < kNoMark - kAreaBytes, "a mark lies near the front");
    return static_cast<std::uint16_t>(front_ + at);
  }
  std::uint8_t* at_mark(std::uint16_t mark) {
    TAPESTRY_ASSERT(mark < kAreaBytes, "the header was marked and is linear");
    return area_.data() + mark;
  }
  const std::uint8_t* at_mark(std::uint16_t mark) const {
    TAPESTRY_ASSERT(mark < kAreaBytes, "the header was marked and is linear");
    return area_.data() + mark;
  }
  std::size_t from_front(std::uint16_t mark) const {
    TAPESTRY_ASSERT(mark != kNoMark && mark >= front_, "the header was marked and not pulled");
    return static_cast<std::size_t>(mark - front_);
  }

  void make_headroom(std::size_t n);
  void pull_payload(std::size_t n);
  void strip_payload_front(std::size_t n);
  void shift_area_right(std::size_t by);
  void shift_area_left(std::size_t by);
  bool make_linear_slowly(std::size_t n);
  std::array<std::uint16_t*, 4> marks() {
    return {&mac_header_, &network_header_, &transport_header_, &checksum_start_};
  }
  void release_payload() {
    for (std::size_t i = 0; i < fragment_count_; ++i)
      fragments_[first_fragment_ + i].reset();
    fragment_count_ = 0;
    first_fragment_ = 0;
    payload_length_ = 0;
  }

  std::uint16_t front_ = kHeadroomBytes;
  std::uint16_t back_ = kHeadroomBytes;
  std::uint16_t mac_header_ = kNoMark;
  std::uint16_t network_header_ = kNoMark;
  std::uint16_t transport_header_ = kNoMark;
  std::uint16_t checksum_start_ = kNoMark;
  std::uint8_t first_fragment_ = 0;
  std::uint8_t fragment_count_ = 0;
  Origin origin_ = Origin::stack;
  bool live_ = false;
  std::uint32_t payload_length_ = 0;
  std::uint64_t weight_ = 0;
  PacketOwner* owner_ = nullptr;
  std::uint32_t owner_bytes_ = 0;
  Packet* next_ = nullptr;  // in a queue, or among the free
  PacketPool* pool_ = nullptr;
  std::array<PayloadRef, kFragmentsMax> fragments_{};
  alignas(64) std::array<std::uint8_t, kAreaBytes> area_;
};

// The one owner of a packet. Every packet ends with a verdict: deliver, drop or consume. Destroying
// an owner that still has one is legal but sloppy, and shows in the ledger as dropped for no
// specified reason; tests demand that there are none.
class [[nodiscard]] PacketPtr {
 public:
  PacketPtr() = default;
  PacketPtr(PacketPtr&& other) noexcept : packet_(std::exchange(other.packet_, nullptr)) {}
  PacketPtr& operator=(PacketPtr&& other) noexcept {
    Packet* mine = std::exchange(packet_, std::exchange(other.packet_, nullptr));
    if (mine != nullptr) release_without_verdict(mine);
    return *this;
  }
  ~PacketPtr() {
    if (packet_ != nullptr) release_without_verdict(packet_);
  }

  explicit operator bool() const { return packet_ != nullptr; }
  Packet* get() const { return packet_; }
  Packet& operator*() const { return *packet_; }
  Packet* operator->() const { return packet_; }

  // For containers that link packets themselves: gives up ownership, takes it back.
  Packet* release() { return std::exchange(packet_, nullptr); }
  static PacketPtr adopt(Packet* packet) { return PacketPtr(packet); }

 private:
  explicit PacketPtr(Packet* packet) : packet_(packet) {}
  static void release_without_verdict(Packet* packet);

  Packet* packet_ = nullptr;
};

// The verdicts. The packet must be there.
void deliver(PacketPtr packet);
void drop(PacketPtr packet, DropReason reason);
void consume(PacketPtr packet,
             Outcome outcome = Outcome::consumed);  // not `dropped`: that has a reason

template <class Visit>
void Packet::for_each_piece(std::size_t offset, std::size_t length, Visit visit) const {
  TAPESTRY_ASSERT(offset <= this->length() && length <= this->length() - offset,
                  "the range lies inside the packet");
  const auto piece = [&](const std::uint8_t* bytes, std::size_t bytes_length) {
    if (offset >= bytes_length) {
      offset -= bytes_length;
      return;
    }
    const std::size_t part = bytes_length - offset < length ? bytes_length - offset : length;
    visit(std::span<const std::uint8_t>(bytes + offset, part));
    offset = 0;
    length -= part;
  };
  if (length != 0) piece(data(), linear_length());
  for (const PayloadRef& fragment : fragments()) {
    if (length == 0) break;
    piece(fragment.data(), fragment.length());
  }
}

}  // namespace tapestry::core

// The rest of the family, so that this header alone is enough to use packets.
#include "core/packet_containers.hpp"
#include "core/packet_pool.hpp"
