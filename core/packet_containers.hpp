// Two ways to hold packets: a batch for one call, and a queue between calls. Both are bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "core/assert.hpp"
#include "core/packet.hpp"
#include "core/packet_pool.hpp"

namespace tapestry::core {

// Up to `capacity` packets in order. Whoever takes packets takes them from the front, and what it
// does not take stays: a partial sendmmsg gives away a prefix and keeps the rest.
class PacketBatch {
 public:
  static constexpr std::size_t kCapacityMax = 1024;  // UIO_MAXIOV: what one sendmmsg takes

  explicit PacketBatch(std::size_t capacity);
  // A batch that was moved from holds nothing and has no room.
  PacketBatch(PacketBatch&& other) noexcept
      : slots_(std::move(other.slots_)),
        mask_(other.mask_),
        capacity_(std::exchange(other.capacity_, 0)),
        first_(other.first_),
        size_(std::exchange(other.size_, 0)) {}
  PacketBatch& operator=(PacketBatch&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(mask_, other.mask_);
    std::swap(capacity_, other.capacity_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == capacity_; }

  // There must be room.
  void push_back(PacketPtr packet) {
    TAPESTRY_ASSERT(!full(), "a batch stays within its capacity");
    slots_[(first_ + size_++) & mask_] = std::move(packet);
  }

  Packet& operator[](std::size_t index) {
    TAPESTRY_ASSERT(index < size_, "the packet is in the batch");
    return *slots_[(first_ + index) & mask_];
  }
  const Packet& operator[](std::size_t index) const {
    TAPESTRY_ASSERT(index < size_, "the packet is in the batch");
    return *slots_[(first_ + index) & mask_];
  }
  Packet& front() { return (*this)[0]; }

  // There must be one.
  PacketPtr take_front() {
    TAPESTRY_ASSERT(size_ != 0, "there is a packet to take");
    PacketPtr packet = std::move(slots_[first_ & mask_]);
    ++first_;
    --size_;
    return packet;
  }

  // Gives the first n to receive(PacketPtr), in order; n is at most size().
  template <class Receive>
  void take_prefix(std::size_t n, Receive receive) {
    for (std::size_t i = 0; i < n; ++i)
      receive(take_front());
  }

  // Moves the first n behind those of another batch; they must fit.
  void take_prefix(std::size_t n, PacketBatch& into) {
    for (std::size_t i = 0; i < n; ++i)
      into.push_back(take_front());
  }

  void drop_all(DropReason reason) {
    while (!empty())
      drop(take_front(), reason);
  }

  template <class Batch, class Value>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Packet;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;

    Iterator() = default;
    Iterator(Batch* batch, std::size_t index) : batch_(batch), index_(index) {}
    Value& operator*() const { return (*batch_)[index_]; }
    Value* operator->() const { return &(*batch_)[index_]; }
    Iterator& operator++() { return ++index_, *this; }
    Iterator operator++(int) { return Iterator(batch_, index_++); }
    bool operator==(const Iterator&) const = default;

   private:
    Batch* batch_ = nullptr;
    std::size_t index_ = 0;
  };
  Iterator<PacketBatch, Packet> begin() { return {this, 0}; }
  Iterator<PacketBatch, Packet> end() { return {this, size_}; }
  Iterator<const PacketBatch, const Packet> begin() const { return {this, 0}; }
  Iterator<const PacketBatch, const Packet> end() const { return {this, size_}; }

 private:
  std::unique_ptr<PacketPtr[]> slots_;
  std::size_t mask_;
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

// First in, first out, linked through the packets themselves: an empty queue of any bound costs
// nothing.
class PacketQueue {
 public:
  explicit PacketQueue(std::size_t bound) : bound_(bound) {}
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;
  ~PacketQueue() { drop_all(DropReason::not_specified); }

  std::size_t size() const { return size_; }
  std::size_t bound() const { return bound_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ >= bound_; }

  // Raising is free; lowering below the present size keeps what is there and takes no more.
  void set_bound(std::size_t bound) { bound_ = bound; }

  // False when full, and then the packet is still the caller's:
  //   if (!queue.push(std::move(packet))) drop(std::move(packet), reason);
  [[nodiscard]] bool push(PacketPtr&& packet) {
    if (full()) return false;
    Packet* added = packet.release();
    added->next_ = nullptr;
    (head_ == nullptr ? head_ : tail_->next_) = added;
    tail_ = added;
    ++size_;
    return true;
  }

  // Puts back what was popped; not subject to the bound.
  void push_front(PacketPtr packet) {
    Packet* added = packet.release();
    added->next_ = std::exchange(head_, added);
    if (tail_ == nullptr) tail_ = added;
    ++size_;
  }

  // Empty pointer when empty.
  PacketPtr pop() {
    Packet* taken = head_;
    if (taken == nullptr) return {};
    head_ = std::exchange(taken->next_, nullptr);
    if (head_ == nullptr) tail_ = nullptr;
    --size_;
    return PacketPtr::adopt(taken);
  }

  // nullptr when empty.
  Packet* front() const { return head_; }
  Packet* back() const { return tail_; }

  // Calls visit(Packet&) from first to last.
  template <class Visit>
  void for_each(Visit visit) const {
    for (Packet* packet = head_; packet != nullptr; packet = packet->next_)
      visit(*packet);
  }

  void drop_all(DropReason reason) {
    while (!empty())
      drop(pop(), reason);
  }

 private:
  Packet* head_ = nullptr;
  Packet* tail_ = nullptr;
  std::size_t size_ = 0;
  std::size_t bound_;
};

}  // namespace tapestry::core
