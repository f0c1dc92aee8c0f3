// A plain NIC: one pair of descriptor rings, a doorbell each, one interrupt line, a wire.
//
// It looks into the future as far as it is decided. When the transmit doorbell rings, all frames up
// to the value written get their departures at once, and each transmit descriptor is done from its
// departure on. A frame on its way to this NIC is put into the receive buffer it will land in as
// soon as that is certain: buffers are used in order, so a buffer that is posted and free of
// earlier arrivals is it. The descriptor is done from the arrival on, and nobody can see it before.
// Frames for which no buffer is posted yet wait; one that has arrived by then is lost (overrun).
//
// A packet for segmentation leaves as the frames of its segments, back to back, each with its own
// departure and arrival; its descriptor is done when the last of them has left.
//
// So there is no event for a frame. There is one for an interrupt, at the first completion that the
// last interrupt didn't tell of, but no sooner after that than the interval says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet.hpp"
#include "core/timeline.hpp"
#include "host/descriptor_ring.hpp"
#include "host/doorbell.hpp"
#include "host/sim/link.hpp"
#include "irq/line.hpp"

namespace tapestry::host::sim {

struct NicOptions {
  std::size_t transmit_descriptors = 256;  // ethtool -g tx; a power of two, 8 .. 4096
  std::size_t receive_descriptors = 256;   // ethtool -g rx
  // ethtool -c rx-usecs, tx-usecs: the shortest time from an interrupt to the next one for a frame
  // received or sent, 0 .. 1 s.
  core::Nanos receive_interval{0};
  core::Nanos transmit_interval{0};
  bool transmit_checksum = false;  // fills in checksums that are left to it
  bool receive_checksum = false;   // verifies checksums, and marks the right ones
  bool segmentation = false;       // TSO: cuts packets with gso_size into frames
  bool receive_hash = false;       // gives each frame of a flow the same hash (RSS)
};

class Nic final : public Station {
 public:
  static constexpr core::Nanos kIntervalMax{1'000'000'000};

  enum Cause : std::uint32_t { kReceived = 1, kSent = 2 };

  Nic(core::Timeline& timeline, core::PacketPool& packets, NicOptions options);
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;
  ~Nic() override;

  void connect(Link& link, Link::End end);
  // An edge line is pulled once an interrupt. A level line stays up until the causes are taken.
  void set_line(irq::IrqLine& line) { line_ = &line; }
  NicPort port();

  // Which completions the interrupts since the last call told of; lowers a level line. From the
  // driver's handler, settled.
  std::uint32_t take_causes();

  // ethtool -C: from the next interrupt on.
  void set_intervals(core::Nanos receive, core::Nanos transmit);

  void frame_will_arrive(const core::Packet& frame, core::Instant arrival) override;

  // Up to now.
  struct Figures {
    std::uint64_t rx_packets = 0, rx_bytes = 0;  // into buffers
    std::uint64_t rx_hw_drop_overruns = 0;       // found no posted buffer
    std::uint64_t tx_packets = 0, tx_bytes = 0;  // frames for the wire, taken up by the doorbell
    std::uint64_t tx_doorbells = 0;              // written by the driver
    std::uint64_t tx_segmented = 0;              // descriptors that became several frames
    std::uint64_t interrupts = 0;
  };
  Figures figures();
  const NicOptions& options() const { return options_; }

 private:
  class Register final : public Doorbell {
   public:
    using Written = void (Nic::*)(std::uint32_t value);
    Register(Nic& nic, Written written) : nic_(nic), written_(written) {}
    void ring(std::uint32_t value) override { (nic_.*written_)(value); }

   private:
    Nic& nic_;
    Written written_;
  };

  // One ring and what of it the interrupts have told.
  struct Side {
    Side(core::Timeline& timeline, std::size_t size) : ring(timeline, size) {}
    void skip_emptied();
    // The first completion after the last interrupt; the driver's own progress needs none.
    core::Instant first_untold(core::Instant now);

    DescriptorRing ring;
    std::uint32_t decided =
        0;                   // descriptors before this one are done, or will be at a known instant
    std::uint32_t told = 0;  // those before this one were done when the last interrupt came
    core::Instant untold = core::kNever;  // when the first of the others is done
    core::Nanos interval{0};
  };

  void transmit_doorbell(std::uint32_t value);
  void receive_doorbell(std::uint32_t value);
  void throttle_register(std::uint32_t usecs);
  core::Instant send(core::Packet& packet, core::Instant now);
  core::Instant send_frame(core::Packet& frame, bool continues);
  core::Instant send_segments(core::Packet& packet, core::Instant now);
  void inspect(core::Packet& buffer, bool known_good) const;
  bool find_buffer();
  bool fill_buffer(const core::Packet& frame, core::Instant arrival);
  void drop_overruns();
  void watch_overruns();
  void schedule_interrupt();
  void interrupt();
  static void interrupt_due(void* nic, std::uint64_t) { static_cast<Nic*>(nic)->interrupt(); }
  static void overrun_due(void* nic, std::uint64_t);

  core::Timeline& timeline_;
  core::PacketPool& packets_;
  NicOptions options_;
  core::ActorId actor_;
  Side sent_;
  Side received_;
  std::uint32_t posted_ = 0;  // receive buffers before this one are the NIC's
  Register transmit_register_;
  Register receive_register_;
  Register throttle_register_;
  Link* link_ = nullptr;
  Link::End end_ = Link::End::a;
  irq::IrqLine* line_ = nullptr;
  // On their way without a buffer; PacketMarks::stamp is the arrival. As many as may live at all.
  core::PacketQueue unplaced_;
  core::EventId overrun_event_;
  core::EventId interrupt_event_;
  core::Instant interrupt_at_ = core::kNever;                   // of the event
  core::Instant last_interrupt_ = core::kStart - kIntervalMax;  // the first need not wait
  std::uint32_t causes_ = 0;
  Figures figures_;
};

}  // namespace tapestry::host::sim
