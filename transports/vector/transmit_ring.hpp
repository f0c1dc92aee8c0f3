// The vector of messages that waits to be sent.
//
// An array of `depth` messages: one sendmmsg reaches from the head to the end of the array at most,
// so a batch that wraps takes two calls. When the ring runs empty it starts over at the array's
// front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/packet.hpp"

namespace tapestry::transports {

class TransmitRing {
 public:
  explicit TransmitRing(std::size_t depth) : messages_(depth) {}
  TransmitRing(const TransmitRing&) = delete;
  TransmitRing& operator=(const TransmitRing&) = delete;
  ~TransmitRing() { messages_.drop_all(core::DropReason::run_end); }

  std::size_t depth() const { return messages_.capacity(); }
  std::size_t waiting() const { return messages_.size(); }
  bool full() const { return messages_.full(); }
  bool empty() const { return messages_.empty(); }

  void add(core::PacketPtr packet) { messages_.push_back(std::move(packet)); }

  // From the head: as many of them as one call can reach.
  const core::PacketBatch& messages() const { return messages_; }
  std::size_t reach() const { return std::min(waiting(), depth() - head_); }

  // Moves the first `count` of them behind those of another batch. Returns their bytes.
  std::uint64_t take(std::size_t count, core::PacketBatch& into) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i)
      bytes += messages_[i].length();
    messages_.take_prefix(count, into);
    head_ = messages_.empty() ? 0 : (head_ + count) % depth();
    return bytes;
  }

 private:
  core::PacketBatch messages_;
  std::size_t head_ = 0;  // place of the first message in the array
};

}  // namespace tapestry::transports
