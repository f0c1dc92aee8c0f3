// UML's hybrid transport: many frames a call from a packet socket on the tap, one frame a call into
// the tap's own descriptor.
//
// Nobody reads that descriptor: the host's frames fill its queue and are then dropped there, which
// is harmless, since the socket has seen them before.
#pragma once

#include "host/packet_io.hpp"

namespace tapestry::host::sim {

class HybridPort final : public PacketIo {
 public:
  // Both outlive it and have no other listener.
  HybridPort(PacketIo& receiver, PacketIo& sender) : receiver_(receiver), sender_(sender) {}

  IoCapabilities capabilities() const override {
    IoCapabilities both = sender_.capabilities();
    both.multi_receive = receiver_.capabilities().multi_receive;
    return both;
  }
  IoResult send(const core::PacketBatch& batch, std::size_t count) override {
    return sender_.send(batch, count);
  }
  IoResult receive(std::span<ReceiveSlot> slots) override { return receiver_.receive(slots); }
  void listen(ReadinessListener* listener) override {
    reads_ = Half{listener, true};
    writes_ = Half{listener, false};
    receiver_.listen(listener != nullptr ? &reads_ : nullptr);
    sender_.listen(listener != nullptr ? &writes_ : nullptr);
  }
  void watch_writable(bool wanted) override { sender_.watch_writable(wanted); }

 private:
  // Passes on the edges of one direction.
  class Half final : public ReadinessListener {
   public:
    Half() = default;
    Half(ReadinessListener* listener, bool reads) : listener_(listener), reads_(reads) {}
    void readable() override {
      if (reads_) listener_->readable();
    }
    void writable() override {
      if (!reads_) listener_->writable();
    }

   private:
    ReadinessListener* listener_ = nullptr;
    bool reads_ = false;
  };

  PacketIo& receiver_;
  PacketIo& sender_;
  Half reads_;
  Half writes_;
};

}  // namespace tapestry::host::sim
