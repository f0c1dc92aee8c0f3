// A ring of descriptors in memory that a driver and a NIC share: the driver fills and rings a
// doorbell, the NIC works on what the doorbell covers and marks descriptors done.
//
//     free -> filled (driver) -> posted (doorbell) -> done (device) -> free (driver)
//
// Indices run freely and are masked on use, so that full and empty differ. A done descriptor may
// carry an instant: it is done from then on, and looking earlier shows it as not done yet. That
// lets a device decide the future of a whole train of frames in one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/assert.hpp"
#include "core/packet.hpp"
#include "core/time.hpp"
#include "core/timeline.hpp"
#include "host/doorbell.hpp"

namespace tapestry::host {

class DescriptorRing {
 public:
  static constexpr std::size_t kSizeMin = 8;
  static constexpr std::size_t kSizeMax = 4096;

  struct Descriptor {
    core::PacketPtr packet;  // transmit: the frame; receive: an empty buffer, then the frame
    core::Instant done = core::kNever;  // when the device is or will be finished with it
  };

  // `size`: a power of two, 8 .. 4096 (ethtool -g).
  DescriptorRing(core::Timeline& timeline, std::size_t size);
  ~DescriptorRing() { drop_all(core::DropReason::run_end); }
  DescriptorRing(const DescriptorRing&) = delete;
  DescriptorRing& operator=(const DescriptorRing&) = delete;

  std::size_t size() const { return mask_ + 1; }

  // --- the driver's side: settled ---------------------------------------------------------------
  bool full() const { return used() > mask_; }
  std::size_t used() const {  // filled, posted or done
    require_settled();
    return head_ - tail_;
  }
  std::size_t unused() const { return size() - used(); }
  // The next free descriptor; there must be one.
  void fill(core::PacketPtr packet) {
    TAPESTRY_ASSERT(!full(), "a descriptor is free");
    Descriptor& descriptor = slots_[head_ & mask_];
    descriptor.packet = std::move(packet);
    descriptor.done = core::kNever;
    ++head_;
  }
  std::uint32_t head() const { return static_cast<std::uint32_t>(head_); }  // for the doorbell
  bool oldest_is_done() const {
    return used() != 0 && slots_[tail_ & mask_].done <= timeline_.now();
  }
  // How many of the oldest are done, up to `most`: one look.
  std::size_t done_now(std::size_t most) const {
    const std::size_t bound = used() < most ? used() : most;
    const core::Instant now = timeline_.now();
    std::size_t done = 0;
    while (done < bound && slots_[(tail_ + done) & mask_].done <= now)
      ++done;
    return done;
  }
  // The oldest, which is done.
  core::PacketPtr take_done() {
    TAPESTRY_ASSERT(oldest_is_done(), "the device is finished with the descriptor");
    return std::move(slots_[tail_++ & mask_].packet);
  }
  // The oldest, whatever the device still wanted with it: for a driver that closes, whose device
  // has been stopped.
  core::PacketPtr take_back() {
    TAPESTRY_ASSERT(used() != 0, "there is a descriptor to take back");
    return std::move(slots_[tail_++ & mask_].packet);
  }
  // All of them likewise, at once and without cost.
  void drop_all(core::DropReason reason);

  // --- the device's side ------------------------------------------------------------------------
  // Which descriptors are filled is what the doorbell says; one that the driver has emptied
  // meanwhile has no packet.
  Descriptor& at(std::uint32_t index) { return slots_[index & mask_]; }
  const Descriptor& at(std::uint32_t index) const { return slots_[index & mask_]; }
  std::uint32_t oldest() const { return static_cast<std::uint32_t>(tail_); }

 private:
  void require_settled() const { timeline_.require_settled("a ring of descriptors"); }

  core::Timeline& timeline_;
  std::unique_ptr<Descriptor[]> slots_;
  std::uint64_t mask_;
  std::uint64_t head_ = 0;  // next to fill
  std::uint64_t tail_ = 0;  // oldest that is used
};

// What a plain NIC offers its driver: one ring pair and their doorbells (host/sim/nic.hpp is the
// other side).
struct NicPort {
  DescriptorRing& transmit_ring;
  DescriptorRing& receive_ring;
  Doorbell& transmit_doorbell;
  Doorbell& receive_doorbell;
  // How long the card keeps quiet after an interrupt, in microseconds (EITR); null: it has no such
  // register.
  Doorbell* throttle = nullptr;
};

}  // namespace tapestry::host
