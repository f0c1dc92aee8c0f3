// A card whose hardware is a test: frames are in its ring when the test says so, and what the
// driver posted has left when the test says so. Between its driver and it are real rings and
// doorbells that count.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/charged/doorbell.hpp"
#include "host/descriptor_ring.hpp"
#include "host/frame_copy.hpp"
#include "tests/support/frames.hpp"
#include "tests/transports/driver_bench.hpp"
#include "transports/nic/nic.hpp"

namespace tapestry::tests {

class FakeCard {
 public:
  struct Register final : host::Doorbell {
    void ring(std::uint32_t value) override {
      ++rings;
      posted = value;
      if (on_ring) on_ring();
    }
    std::uint64_t rings = 0;
    std::uint32_t posted = 0;
    std::function<void()> on_ring;
  };

  FakeCard(World& world, std::size_t transmit, std::size_t receive)
      : transmit_ring(world.timeline, transmit),
        receive_ring(world.timeline, receive),
        world_(world) {}

  // --- the hardware: device events ---------------------------------------------------------------
  // Frames arrive at once; then one interrupt.
  void frames_arrive(std::uint32_t first, std::uint32_t count) {
    const core::Instant now = world_.timeline.now();
    for (std::uint32_t number = first; number < first + count; ++number) {
      core::PacketPtr frame = make_frame(world_.packets, number);
      if (filled_ == receive_register.posted) {
        ++overruns;
        core::drop(std::move(frame), core::DropReason::no_buffer);
        continue;
      }
      host::DescriptorRing::Descriptor& descriptor = receive_ring.at(filled_++);
      CHECK(host::copy_frame(*frame, *descriptor.packet, host::VnetHeader::none));
      descriptor.done = now;
      core::consume(std::move(frame));
    }
    line->raise();
  }
  // The next frames that were posted have left; then one interrupt.
  void frames_leave(std::uint32_t count) {
    frames_leave_silently(count);
    line->raise();
  }
  // ... and the interrupt is put off.
  void frames_leave_silently(std::uint32_t count) {
    for (; count > 0 && left_ != transmit_register.posted; --count) {
      host::DescriptorRing::Descriptor& descriptor = transmit_ring.at(left_++);
      sent.push_back(number_of(*descriptor.packet));
      descriptor.done = world_.timeline.now();
    }
  }
  std::uint32_t posted_buffers() const { return receive_register.posted - filled_; }

  host::DescriptorRing transmit_ring;
  host::DescriptorRing receive_ring;
  Register transmit_register;
  Register receive_register;
  irq::IrqLine* line = nullptr;
  Numbers sent;
  std::uint64_t overruns = 0;

 private:
  World& world_;
  std::uint32_t filled_ = 0;
  std::uint32_t left_ = 0;
};

struct CardOptions {
  std::size_t transmit = 256, receive = 256;
  bool byte_queue_limits = false;
  bool napi = true;
};

// The bench of the other drivers, with a card in place of the port.
class CardBench : public Bench {
 public:
  explicit CardBench(sched::SettleMode mode, CardOptions options = {})
      : Bench(mode, {.can_mask = true, .byte_queue_limits = options.byte_queue_limits}),
        card(world.make<FakeCard>(world, options.transmit, options.receive)),
        transmit_doorbell(
            world.make<host::charged::Doorbell>(card.transmit_register, machine.scheduler)),
        receive_doorbell(
            world.make<host::charged::Doorbell>(card.receive_register, machine.scheduler)),
        driver(world.make<transports::Nic>(environment(),
                                           host::NicPort{card.transmit_ring, card.receive_ring,
                                                         transmit_doorbell, receive_doorbell},
                                           transports::NicOptions{.napi = options.napi})) {
    device.set_driver(driver);
    card.line = &driver.line();
  }

  FakeCard& card;
  host::charged::Doorbell& transmit_doorbell;
  host::charged::Doorbell& receive_doorbell;
  transports::Nic& driver;
};

}  // namespace tapestry::tests
