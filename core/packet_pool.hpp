// Where packets come from and return to: one pool for each world, with its payload blocks and
// ledger.
//
// The pool outlives whatever may hold a packet, fibers above all: destroy it last. Packets are
// recycled last in, first out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/ledger.hpp"
#include "core/packet.hpp"
#include "core/payload.hpp"

namespace tapestry::core {

class PacketPool {
 public:
  // Packets that may live at once, by default. The largest worlds hold: four devices with rings of
  // 4,096 each way (32,768), and the same again in socket buffers, qdiscs and backlogs.
  static constexpr std::size_t kPacketsDefault = std::size_t{1} << 16;

  explicit PacketPool(std::size_t packets = kPacketsDefault,
                      PayloadPool::Bounds payload = PayloadPool::kBoundsDefault);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;
  ~PacketPool();

  // An empty packet with default marks and a fresh id. Empty pointer when the bound is reached.
  PacketPtr allocate(Origin origin) {
    if (free_ == nullptr && !grow()) [[unlikely]]
      return {};
    Packet* packet = std::exchange(free_, free_->next_);
    ++in_use_;
    reset(*packet, origin);
    ledger_.count_created(origin);
    return PacketPtr::adopt(packet);
  }

  // Payload to append to packets; see PayloadPool::allocate.
  PayloadRef allocate_payload(std::size_t length) { return payload_.allocate(length); }

  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  PayloadPool& payload() { return payload_; }

  // Closes the account: looks at every living packet and compares. May be called at any time.
  Balance close() const;

  // Calls visit(const Packet&) for each living packet, in no meaningful order.
  template <class Visit>
  void for_each_live(Visit visit) const {
    for (const auto& slab : slabs_) {
      for (std::size_t i = 0; i < kSlabPackets; ++i) {
        if (slab[i].live_) visit(slab[i]);
      }
    }
  }

  std::size_t in_use() const { return in_use_; }
  std::size_t bound() const { return bound_; }

 private:
  friend class Packet;
  friend class PacketPtr;
  friend void deliver(PacketPtr packet);
  friend void drop(PacketPtr packet, DropReason reason);
  friend void consume(PacketPtr packet, Outcome outcome);

  static constexpr std::size_t kSlabPackets = 64;

  struct FreeSlab {
    void operator()(Packet* slab) const;
  };

  void reset(Packet& packet, Origin origin) {
    static_cast<PacketMarks&>(packet) = PacketMarks{};
    packet.id = ++last_id_;
    packet.front_ = packet.back_ = Packet::kHeadroomBytes;
    packet.mac_header_ = packet.network_header_ = Packet::kNoMark;
    packet.transport_header_ = packet.checksum_start_ = Packet::kNoMark;
    packet.origin_ = origin;
    packet.live_ = true;
    packet.weight_ = 0;
    packet.next_ = nullptr;
  }

  void end(Packet* packet, Outcome outcome) {
    if (ledger_.on_milestone.watched()) [[unlikely]]
      tell_end(*packet, outcome);
    ledger_.count_ended(outcome, packet->weight_);
    recycle(packet);
  }
  void end_dropped(Packet* packet, DropReason reason) {
    ledger_.on_drop(*packet, reason);
    packet->reach(Milestone::dropped, static_cast<std::uint64_t>(reason));
    ledger_.count_dropped(reason, packet->weight_);
    recycle(packet);
  }
  void recycle(Packet* packet) {
    TAPESTRY_ASSERT(packet->live_, "a packet ends once");
    packet->orphan();
    packet->release_payload();
    packet->live_ = false;
    packet->next_ = std::exchange(free_, packet);
    --in_use_;
  }
  void tell_end(const Packet& packet, Outcome outcome) const;
  bool grow();

  Packet* free_ = nullptr;
  std::size_t in_use_ = 0;
  std::uint64_t last_id_ = 0;
  std::size_t bound_;
  Ledger ledger_;
  PayloadPool payload_;
  std::vector<std::unique_ptr<Packet[], FreeSlab>> slabs_;
};

inline void deliver(PacketPtr packet) {
  Packet* ended = packet.release();
  TAPESTRY_ASSERT(ended != nullptr, "there is a packet to end");
  ended->pool().end(ended, Outcome::delivered);
}

inline void drop(PacketPtr packet, DropReason reason) {
  Packet* ended = packet.release();
  TAPESTRY_ASSERT(ended != nullptr, "there is a packet to end");
  ended->pool().end_dropped(ended, reason);
}

inline void consume(PacketPtr packet, Outcome outcome) {
  TAPESTRY_ASSERT(outcome != Outcome::dropped, "a drop has a reason");
  Packet* ended = packet.release();
  TAPESTRY_ASSERT(ended != nullptr, "there is a packet to end");
  ended->pool().end(ended, outcome);
}

inline void Packet::reach(Milestone milestone, std::uint64_t argument) const {
  if (pool_->ledger_.on_milestone.watched()) [[unlikely]]
    pool_->ledger_.on_milestone(*this, milestone, argument);
}

inline void Packet::account(std::uint64_t bytes) {
  weight_ += bytes;
  pool_->ledger_.count_accounted(origin_, bytes);
}

}  // namespace tapestry::core
