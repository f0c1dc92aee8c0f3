// The driver's side of a packed virtqueue (drivers/virtio/virtio_ring.c).
//
// A chain takes the next descriptors of the ring, in a row. Its id is a number from a list of free
// ones; the device gives buffers back by id, in any order, and always at the place where it is.
#pragma once

#include <vector>

#include "host/virtqueue/order.hpp"
#include "host/virtqueue/packed_ring.hpp"

namespace tapestry::host::virtqueue {

class PackedDriver final : public DriverSide {
 public:
  // `memory` has as many buffers as the ring has entries. All outlive it.
  PackedDriver(PackedRing& ring, GuestMemory& memory, QueueOptions options);

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
    std::uint16_t next = 0;     // in the list of free ids
    std::uint16_t entries = 0;  // of the ring that the buffer takes; 0: not outstanding
    std::uint32_t bytes = 0;    // room for the device to write
  };

  void write_chain(std::uint16_t id, std::span<const std::uint32_t> pieces, std::uint16_t flags);
  void write_indirect(std::uint16_t id, std::span<const std::uint32_t> pieces, std::uint16_t flags);
  core::PacketPtr release(std::uint16_t id);
  bool take_in_order(std::uint32_t& id, std::uint32_t& bytes, std::size_t waiting);
  void call_broken(Fault fault);
  void ask_from(PackedPosition position);

  PackedRing& ring_;
  GuestMemory& memory_;
  QueueOptions options_;
  std::vector<Extra> extras_;
  std::size_t unused_;
  std::size_t outstanding_ = 0;
  std::uint16_t free_id_ = 0;
  PackedPosition available_;  // the next chain begins here
  PackedPosition used_;       // the next used descriptor will be here
  std::size_t added_ = 0;     // entries since the last kick_prepare
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
