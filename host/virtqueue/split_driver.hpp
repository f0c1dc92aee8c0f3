// The driver's side of a split virtqueue (drivers/virtio/virtio_ring.c).
//
// What the driver must know of its descriptors it keeps to itself: the device may write anything
// into the table, and the driver never reads it back.
#pragma once

#include <vector>

#include "host/virtqueue/order.hpp"
#include "host/virtqueue/queue.hpp"
#include "host/virtqueue/split_ring.hpp"

namespace tapestry::host::virtqueue {

class SplitDriver final : public DriverSide {
 public:
  // `memory` has as many buffers as the ring has entries. All outlive it.
  SplitDriver(SplitRing& ring, GuestMemory& memory, SplitOptions options);

  std::size_t size() const override { return ring_.size(); }
  std::size_t unused() const override { return unused_; }
  bool add(core::PacketPtr& packet, std::span<const std::uint32_t> pieces, Access access) override;
  bool kick_prepare() override;
  bool has_used() const override;
  std::optional<Completed> take_used() override;
  void disable_callbacks() override;
  std::uint16_t enable_callbacks_prepare() override;
  bool used_since(std::uint16_t prepared) const override;
  bool enable_callbacks_delayed() override;
  core::PacketPtr take_back() override;
  bool broken() const override { return broken_; }
  const Faults& faults() const override { return faults_; }

  std::size_t outstanding() const { return outstanding_; }

 private:
  struct Extra {
    std::uint16_t next = 0;     // in the chain, or in the list of free ones
    std::uint16_t entries = 0;  // of a chain's head: descriptors that it takes; 0: not outstanding
    std::uint32_t bytes = 0;    // room for the device to write
  };

  std::uint16_t place(std::uint16_t index) const {
    return static_cast<std::uint16_t>(index & (ring_.size() - 1));
  }
  void write_chain(SplitMemory& shared, std::uint16_t head, std::span<const std::uint32_t> pieces,
                   std::uint16_t flags);
  void write_indirect(SplitMemory& shared, std::uint16_t head,
                      std::span<const std::uint32_t> pieces, std::uint16_t flags);
  core::PacketPtr release(std::uint16_t head);
  bool take_in_order(std::uint32_t& id, std::uint32_t& bytes, std::size_t waiting);
  void call_broken(Fault fault);
  void want_callbacks();

  SplitRing& ring_;
  GuestMemory& memory_;
  SplitOptions options_;
  std::vector<Extra> extras_;
  std::size_t unused_;
  std::size_t outstanding_ = 0;
  std::uint16_t free_head_ = 0;
  std::uint16_t available_index_ = 0;  // shadow: what the driver has written
  std::uint16_t added_ = 0;            // since the last kick_prepare
  std::uint16_t last_used_ = 0;
  // With IN_ORDER: what is outstanding, how many of it one used entry stands for and have not been
  // taken, and what that entry says of the last one.
  Order order_;
  std::size_t batch_ = 0;
  std::uint32_t batch_bytes_ = 0;
  bool callbacks_ = true;
  bool broken_ = false;
  Faults faults_;
};

}  // namespace tapestry::host::virtqueue
