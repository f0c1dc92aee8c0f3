// The driver's side of a virtqueue, seen by a driver: nothing is owed when the ring is touched.
//
// The accesses themselves cost nothing beside what the framework charges for each packet
// (driver-transmit, driver-clean, driver-receive, receive-refill).
#pragma once

#include "host/virtqueue/queue.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::host::charged {

class DriverQueue final : public virtqueue::DriverSide {
 public:
  // `machine` is the driver's. Both outlive it.
  DriverQueue(virtqueue::DriverSide& inner, sched::Scheduler& machine)
      : inner_(inner), machine_(machine) {}

  std::size_t size() const override { return inner_.size(); }
  std::size_t unused() const override { return inner_.unused(); }
  bool add(core::PacketPtr& packet, std::span<const std::uint32_t> pieces,
           virtqueue::Access access) override {
    return settled().add(packet, pieces, access);
  }
  bool kick_prepare() override { return settled().kick_prepare(); }
  bool has_used() const override { return settled().has_used(); }
  std::optional<Completed> take_used() override { return settled().take_used(); }
  void disable_callbacks() override { settled().disable_callbacks(); }
  std::uint16_t enable_callbacks_prepare() override { return settled().enable_callbacks_prepare(); }
  bool used_since(std::uint16_t prepared) const override { return settled().used_since(prepared); }
  bool enable_callbacks_delayed() override { return settled().enable_callbacks_delayed(); }
  core::PacketPtr take_back() override { return settled().take_back(); }
  bool broken() const override { return inner_.broken(); }
  const virtqueue::Faults& faults() const override { return inner_.faults(); }

 private:
  virtqueue::DriverSide& settled() const {
    machine_.cpu().settle();
    return inner_;
  }

  virtqueue::DriverSide& inner_;
  sched::Scheduler& machine_;
};

}  // namespace tapestry::host::charged
