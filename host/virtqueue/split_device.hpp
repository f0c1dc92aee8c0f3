// The device's side of a split virtqueue. Everything that a driver wrote is checked before it is
// used: a chain is walked to its end, and each of its pieces looked up, before the device sees it.
#pragma once

#include <vector>

#include "host/virtqueue/order.hpp"
#include "host/virtqueue/queue.hpp"
#include "host/virtqueue/split_ring.hpp"

namespace tapestry::host::virtqueue {

class SplitDevice final : public DeviceSide {
 public:
  SplitDevice(SplitRing& ring, GuestMemory& memory, SplitOptions options);

  std::size_t size() const override { return ring_.size(); }
  bool drained() const override;
  std::optional<Chain> next() override;
  void put_back(const Chain& chain) override;
  core::PacketPtr take_packet(const Chain& chain) override;
  void give_packet(const Chain& chain, core::PacketPtr packet) override;
  void set_num_buffers(const Chain& chain, std::uint16_t buffers) override;
  void use(const Chain& chain, std::uint32_t written_bytes) override;
  void publish() override;
  bool must_interrupt() override;
  void disable_notifications() override;
  bool enable_notifications() override;
  bool broken() const override { return broken_; }
  const Faults& faults() const override { return faults_; }

 private:
  std::uint16_t place(std::uint16_t index) const {
    return static_cast<std::uint16_t>(index & (ring_.size() - 1));
  }
  bool walk(Chain& chain, std::span<const Descriptor> table, std::uint16_t at, std::size_t most);
  bool read_chain(Chain& chain);
  bool fault(Fault fault);
  bool goes_on_in_order(const Chain& chain, std::uint32_t written_bytes);

  SplitRing& ring_;
  GuestMemory& memory_;
  SplitOptions options_;
  std::vector<bool> taken_;  // by head: the device has it
  std::uint16_t last_available_ = 0;
  std::uint16_t used_index_ = 0;  // entries written, those not yet published included
  std::uint16_t signalled_ = 0;   // used index when an interrupt was last judged
  std::uint16_t entry_ = 0;       // index of the last used entry written
  bool signalled_valid_ = false;  // ... or never yet: then the first one is always told
  Order order_;                   // with IN_ORDER
  bool may_skip_ = false;         // the last unpublished entry may stand for one more buffer
  bool broken_ = false;
  Faults faults_;
};

}  // namespace tapestry::host::virtqueue
