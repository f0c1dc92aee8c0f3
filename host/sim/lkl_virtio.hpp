// The virtio network device of an LKL process, on a tap (tools/lkl/lib/virtio.c, virtio_net.c,
// virtio_net_fd.c).
//
// A notification is a function call: the device runs in the context of whoever notifies, the
// guest's kernel, and writes one packet a call to the tap. What the tap cannot take now stays in
// the ring until the descriptor is writable; the poll thread goes on then, in its own context. The
// poll thread also receives: one readv a packet, straight into the guest's buffers, until the tap
// or the ring is empty. A ring without buffers is filled by the guest, which notifies, and so
// receives in its own context what waits.
//
// Each queue has a mutex, which the thread that has it may take again: an interrupt that the poll
// thread raises runs on this very thread, and the driver behind it gives buffers back.
//
// Interrupts: when the driver asked for that entry, and whenever nothing is left available. The
// event index of notifications moves only when the ring is drained, and the ring is looked at
// again behind it.
//
// A write that fails (the tap is down) loses its packet. The real device leaves it in the ring,
// where nothing ever asks for it again.
#pragma once

#include <cstdint>
#include <vector>

#include "host/doorbell.hpp"
#include "host/packet_io.hpp"
#include "host/virtqueue/net_features.hpp"
#include "host/virtqueue/split_device.hpp"
#include "host/virtqueue/split_driver.hpp"
#include "irq/line.hpp"
#include "kernel/lkl.hpp"
#include "kernel/machine.hpp"

namespace tapestry::host::sim {

class LklVirtio final : public ReadinessListener, public kernel::LklPollClient {
 public:
  static constexpr std::size_t kQueueDepth = 128;  // 32 before it had offloads
  // Buffers of one readv (VIRTIO_REQ_MAX_BUFS: MAX_SKB_FRAGS + 2), and what is enough of them.
  static constexpr std::size_t kBuffersMax = 19;
  static constexpr std::uint32_t kFrameMax = 65536;

  struct Figures {
    std::uint64_t notifications = 0;    // function calls of the guest
    std::uint64_t interrupts = 0;       // raised
    std::uint64_t transmit_waits = 0;   // EAGAIN: the rest waited in the ring
    std::uint64_t transmit_lost = 0;    // writes that failed
    std::uint64_t receive_starved = 0;  // the ring was empty, and frames may have waited
  };

  // The same tap twice: called by the guest, and by a thread of its process. `depth`: descriptors
  // of each queue, a power of two, 1 .. 32,768. The guest is on platform lkl.
  LklVirtio(kernel::Machine& guest, PacketIo& from_guest, PacketIo& from_thread,
            virtqueue::NetFeatures offered, std::size_t depth);
  ~LklVirtio() override;
  LklVirtio(const LklVirtio&) = delete;
  LklVirtio& operator=(const LklVirtio&) = delete;

  // FEATURES_OK: refused unless the driver takes exactly what is offered, VERSION_1 and EVENT_IDX
  // among it, and neither packed rings nor an order, which the library does not know.
  bool accepts(virtqueue::NetFeatures features) const;
  void set_line(irq::IrqLine& line) { line_ = &line; }

  virtqueue::DriverSide& receive_queue() { return receive_.driver; }
  virtqueue::DriverSide& transmit_queue() { return transmit_.driver; }
  Doorbell& receive_notify() { return receive_.notify; }
  Doorbell& transmit_notify() { return transmit_.notify; }
  const Figures& figures() const { return figures_; }
  bool broken() const { return receive_.device.broken() || transmit_.device.broken(); }

  // host::ReadinessListener, of the tap
  void readable() override;
  void writable() override;
  // kernel::LklPollClient
  void poll_ready(bool readable, bool writable) override;

 private:
  struct Notify final : Doorbell {
    Notify(LklVirtio& of, void (LklVirtio::*processes)()) : device(of), process(processes) {}
    void ring(std::uint32_t) override { device.notified(process); }
    LklVirtio& device;
    void (LklVirtio::*process)();
  };
  struct Queue {
    Queue(LklVirtio& owner, core::Timeline& timeline, std::size_t depth,
          virtqueue::SplitOptions options, void (LklVirtio::*process)());
    virtqueue::GuestMemory memory;
    virtqueue::SplitRing ring;
    virtqueue::SplitDriver driver;
    virtqueue::SplitDevice device;
    Notify notify;
    const sched::Thread* holder = nullptr;  // of its mutex
    int held = 0;                           // times
    sched::WaitQueue waits{"a virtqueue"};
  };
  using Chains = std::vector<virtqueue::DeviceSide::Chain>;

  void notified(void (LklVirtio::*process)());
  void lock(Queue& queue);
  void unlock(Queue& queue);
  void process_transmit();
  bool transmit_one();
  void process_receive();
  bool receive_one();
  std::uint32_t gather(Chains& chains);
  void put_back(const Chains& chains);
  void store(const Chains& chains, core::PacketPtr frame);
  void used(Queue& queue);
  PacketIo& port();
  sched::Cpu& running_cpu();

  kernel::Machine& guest_;
  kernel::Lkl& lkl_;
  PacketIo& from_guest_;
  PacketIo& from_thread_;
  virtqueue::NetFeatures offered_;
  irq::IrqLine* line_ = nullptr;
  Queue receive_;
  Queue transmit_;
  core::PacketBatch one_;  // the frame being written
  Figures figures_;
};

}  // namespace tapestry::host::sim
