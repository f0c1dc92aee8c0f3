// The device's side of a packed virtqueue. Everything that a driver wrote is checked before it is
// used, as on a split one.
#pragma once

#include <vector>

#include "host/virtqueue/order.hpp"
#include "host/virtqueue/packed_ring.hpp"

namespace tapestry::host::virtqueue {

class PackedDevice final : public DeviceSide {
 public:
  PackedDevice(PackedRing& ring, GuestMemory& memory, QueueOptions options);

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
  bool read_chain(Chain& chain);
  bool walk_ring(Chain& chain);
  bool walk_table(Chain& chain, const PackedDescriptor& head);
  bool fault(Fault fault);
  bool goes_on_in_order(const Chain& chain, std::uint32_t written_bytes);

  PackedRing& ring_;
  GuestMemory& memory_;
  QueueOptions options_;
  std::vector<bool> taken_;      // by id: the device has it
  PackedPosition available_;     // the next chain begins here
  PackedPosition used_;          // the next used descriptor goes here
  std::size_t in_flight_ = 0;    // entries of the chains that the device has
  std::size_t unpublished_ = 0;  // entries used since the last publish
  std::size_t untold_ = 0;       // ... published since an interrupt was last judged
  PackedPosition entry_;         // of the last used descriptor written
  // The first unpublished one: its flags are written last, so that the driver sees none before.
  PackedPosition first_;
  std::uint16_t first_flags_ = 0;
  Order order_;            // with IN_ORDER
  bool may_skip_ = false;  // the last unpublished entry may stand for one more buffer
  bool broken_ = false;
  Faults faults_;
};

}  // namespace tapestry::host::virtqueue
