// The packet memory that a socket has on its way down (sk_wmem_alloc against sk_sndbuf).
//
// A sender may begin while less than the limit is on its way, so that one packet goes beyond it.
// The memory comes back when a packet ends or is orphaned, perhaps long after the socket is closed:
// the buffer stays until the last packet is back.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/packet.hpp"
#include "host/sim/readiness.hpp"
#include "net/socket_memory.hpp"

namespace tapestry::host::sim {

class SendBuffer final : public core::PacketOwner {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::int32_t>::max();  // INT_MAX

  struct Close {
    void operator()(SendBuffer* buffer) const { buffer->close(); }
  };
  using Pointer = std::unique_ptr<SendBuffer, Close>;

  // `readiness` is told of room, until the buffer is closed.
  static Pointer make(std::uint64_t limit_bytes, Readiness& readiness) {
    return Pointer(new SendBuffer(limit_bytes, readiness));
  }

  bool has_room() const { return used_bytes_ < limit_bytes_; }
  // Writers are told once half of the buffer is free (sock_writeable): one packet at a time would
  // be a wake-up for each.
  bool is_writable() const { return used_bytes_ * 2 <= limit_bytes_; }

  void charge(core::Packet& packet) {
    const std::uint32_t bytes = net::socket_memory_bytes(packet.length());
    packet.set_owner(*this, bytes);
    used_bytes_ += bytes;
  }

  void packet_released(std::uint32_t bytes) override {
    used_bytes_ -= bytes;
    if (readiness_ == nullptr) {
      if (used_bytes_ == 0) delete this;
      return;
    }
    if (is_writable()) readiness_->became_writable();
  }

 private:
  SendBuffer(std::uint64_t limit_bytes, Readiness& readiness)
      : limit_bytes_(limit_bytes), readiness_(&readiness) {}
  ~SendBuffer() = default;

  void close() {
    readiness_ = nullptr;
    if (used_bytes_ == 0) delete this;
  }

  std::uint64_t limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  Readiness* readiness_;
};

}  // namespace tapestry::host::sim
