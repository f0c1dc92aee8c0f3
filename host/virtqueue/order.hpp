// The buffers that are on their way, oldest first: what a side of a queue remembers when both have
// agreed that buffers come back in their order (VIRTIO_F_IN_ORDER).
//
// Then a device may write one used entry for several buffers, that of the last one. Those before it
// count as used completely: whatever there was room to write has been written (VIRTIO 1.2, 2.7.9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry::host::virtqueue {

class Order {
 public:
  explicit Order(std::size_t capacity) : ids_(capacity) {}

  std::size_t size() const { return size_; }
  std::uint16_t operator[](std::size_t from_oldest) const {
    return ids_[(first_ + from_oldest) % ids_.size()];
  }
  void push(std::uint16_t id) {
    ids_[(first_ + size_) % ids_.size()] = id;
    ++size_;
  }
  std::uint16_t pop_oldest() {
    const std::uint16_t id = ids_[first_];
    first_ = (first_ + 1) % ids_.size();
    --size_;
    return id;
  }
  void pop_newest() { --size_; }
  void clear() { size_ = 0; }

 private:
  std::vector<std::uint16_t> ids_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace tapestry::host::virtqueue
