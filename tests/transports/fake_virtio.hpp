// A virtio device that is a test: it uses what the driver made available when the test says so, and
// interrupts by the rules. Between its driver and it are real split queues.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "host/charged/driver_queue.hpp"
#include "host/frame_copy.hpp"
#include "host/virtqueue/net_features.hpp"
#include "host/virtqueue/split_device.hpp"
#include "host/virtqueue/split_driver.hpp"
#include "tests/transports/driver_bench.hpp"
#include "transports/virtio/virtio_net.hpp"

namespace tapestry::tests {

class FakeVirtio {
 public:
  struct Register final : host::Doorbell {
    void ring(std::uint32_t) override {
      ++rings;
      if (on_ring) on_ring();
    }
    std::uint64_t rings = 0;
    std::function<void()> on_ring;
  };
  struct Queue {
    Queue(core::Timeline& timeline, std::size_t size, host::virtqueue::SplitOptions options)
        : memory(timeline, size),
          ring(timeline, size),
          driver(ring, memory, options),
          device(ring, memory, options) {}
    host::virtqueue::GuestMemory memory;
    host::virtqueue::SplitRing ring;
    host::virtqueue::SplitDriver driver;
    host::virtqueue::SplitDevice device;
    Register notify;
  };

  FakeVirtio(World& of_world, std::size_t size, host::virtqueue::NetFeatures negotiated)
      : world(of_world),
        features(negotiated),
        receive(of_world.timeline, size, {negotiated.event_idx, negotiated.indirect_desc}),
        transmit(of_world.timeline, size, {negotiated.event_idx, negotiated.indirect_desc}) {}

  transports::VirtioNetPort port(Bench& bench) {
    auto& from = world.make<host::charged::DriverQueue>(receive.driver, bench.machine.scheduler);
    auto& to = world.make<host::charged::DriverQueue>(transmit.driver, bench.machine.scheduler);
    return {from, to, receive.notify, transmit.notify};
  }
  transports::VirtioNet& driver(Bench& bench, transports::VirtioNetOptions options = {}) {
    options.features = features;
    auto& made = world.make<transports::VirtioNet>(
        bench.environment(), std::vector<transports::VirtioNetPort>{port(bench)}, options, nullptr);
    bench.device.set_driver(made);
    connect(made.pair(0));
    return made;
  }
  void connect(transports::VirtioQueuePair& pair) {
    receive_line = &pair.receive_line();
    transmit_line = &pair.transmit_line();
  }

  // Sends at most so many frames, then interrupts if it must; asks to be notified when there are no
  // more.
  void send(std::size_t most) {
    for (; most > 0; --most) {
      const auto chain = transmit.device.next();
      if (!chain) break;
      sent.push_back(number_of(*transmit.memory.buffer(chain->buffer).packet));
      transmit.device.use(*chain, 0);
    }
    transmit.device.publish();
    if (transmit.device.must_interrupt()) interrupt(*transmit_line);
  }
  void send_all() {
    do
      send(SIZE_MAX);
    while (!transmit.device.broken() && !transmit.device.enable_notifications());
  }

  // Frames arrive; those for which there is no buffer are lost. Then it interrupts if it must.
  void arrive(std::uint32_t first, std::uint32_t count, std::size_t length = 60) {
    for (std::uint32_t number = first; number < first + count; ++number) {
      core::PacketPtr frame = make_frame(world.packets, number, length);
      if (!store(*frame)) ++overruns;
      core::consume(std::move(frame));
    }
    receive.device.publish();
    (void)receive.device.enable_notifications();
    if (receive.device.must_interrupt()) interrupt(*receive_line);
  }

  World& world;
  host::virtqueue::NetFeatures features;
  Queue receive;
  Queue transmit;
  irq::IrqLine* receive_line = nullptr;
  irq::IrqLine* transmit_line = nullptr;
  Numbers sent;
  std::uint64_t overruns = 0;
  std::uint64_t interrupts = 0;

 private:
  void interrupt(irq::IrqLine& line) {
    ++interrupts;
    line.raise();
  }
  bool store(const core::Packet& frame) {
    std::vector<host::virtqueue::DeviceSide::Chain> chains;
    std::vector<std::uint32_t> lengths;
    std::size_t stored = 0;
    const std::size_t most = features.mrg_rxbuf ? 19 : 1;
    while (stored < frame.length() && chains.size() < most) {
      const auto chain = receive.device.next();
      if (!chain) break;
      const std::size_t header = chains.empty() ? host::virtqueue::kNetHeaderBytes : 0;
      const std::size_t part = std::min(frame.length() - stored, chain->writable_bytes - header);
      core::Packet& packet = *receive.memory.buffer(chain->buffer).packet;
      CHECK(packet.append_range(frame, stored, part));
      if (chains.empty()) packet.account(frame.weight());
      chains.push_back(*chain);
      lengths.push_back(static_cast<std::uint32_t>(part + header));
      stored += part;
    }
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (i == 0)
        receive.device.set_num_buffers(chains[0], static_cast<std::uint16_t>(chains.size()));
      receive.device.use(chains[i], lengths[i]);
    }
    return stored == frame.length();
  }
};

}  // namespace tapestry::tests
