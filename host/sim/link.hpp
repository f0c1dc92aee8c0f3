// A full-duplex wire between two stations: rate, propagation delay, a bounded queue in front of
// each direction, seeded loss.
//
// Times are exact. A frame takes its slot of the wire: its bytes (padded to 60), 4 of frame check
// sequence, 20 of preamble and gap, so 1,538 for a full frame of 1,514. What a slot takes beyond
// whole nanoseconds is carried to the next, so that a back-to-back train of any length ends when it
// should. When a frame is handed over, its departure and its arrival are decided at once: nothing
// that happens later can change them, and no event is needed on the way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/packet.hpp"
#include "core/random.hpp"
#include "core/timeline.hpp"

namespace tapestry::host::sim {

// What stands at an end of a link.
class Station {
 public:
  virtual ~Station() = default;
  // The last bit of `frame` will be here at `arrival`, later than now. The frame stays the
  // sender's; the station makes its own copy of what it keeps.
  virtual void frame_will_arrive(const core::Packet& frame, core::Instant arrival) = 0;
};

struct LinkOptions {
  std::uint64_t rate_bps = 10'000'000'000;  // each way; 1,000 .. 1,000,000,000,000
  core::Nanos delay{1'000};                 // propagation, 0 .. 10 s
  // Frames handed over and not yet departed, each way. The default takes the largest transmit ring,
  // so that a NIC alone never overruns its own wire.
  std::size_t queue_packets = 4096;
  std::uint64_t loss_per_billion = 0;  // 0 .. 1,000,000,000
  std::uint64_t seed = 1;
};

class Link {
 public:
  enum class End : std::uint8_t { a, b };

  static constexpr std::size_t kFrameBytesMin = 60;   // shorter ones are padded
  static constexpr std::size_t kSlotExtraBytes = 24;  // check sequence 4, preamble 8, gap 12

  // `name` names the streams of random losses.
  Link(core::Timeline& timeline, core::PacketPool& packets, std::string_view name,
       LinkOptions options);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void attach(End end, Station& station) { direction_to(end).receiver = &station; }

  // Hands a frame over, from a settled CPU or a device. Returns when its last bit has left, which
  // is now if the queue was full and the frame is gone.
  // `continues`: it comes right behind the one before, cut from the same packet by hardware, and
  // has its place in the queue already.
  core::Instant send(End from, const core::Packet& frame, bool continues = false);
  // Would the next frame find room in the queue? Settled.
  bool has_room(End from);

  static std::uint64_t slot_bits(std::size_t frame_bytes) {
    const std::size_t padded = frame_bytes < kFrameBytesMin ? kFrameBytesMin : frame_bytes;
    return (padded + kSlotExtraBytes) * 8;
  }

  // Of the direction that begins at `from`.
  struct Figures {
    std::uint64_t frames = 0;         // that took a slot
    std::uint64_t bytes = 0;          // theirs, without padding, check sequence, preamble and gap
    std::uint64_t lost = 0;           // of these, by chance
    std::uint64_t queue_dropped = 0;  // took no slot: the queue was full
    std::uint64_t unheard = 0;        // nobody at the other end
  };
  const Figures& figures(End from) const { return direction_from(from).figures; }
  const LinkOptions& options() const { return options_; }

 private:
  struct Direction {
    Direction(std::uint64_t seed, std::string_view name, std::size_t queue_packets);

    core::RandomStream losses;
    Station* receiver = nullptr;
    // The wire is taken until free_at and `remainder / rate` nanoseconds more.
    core::Instant free_at = core::kStart;
    std::uint64_t remainder = 0;
    // Departures still to come, oldest first.
    std::unique_ptr<core::Instant[]> departures;
    std::uint64_t mask;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    Figures figures;
  };

  Direction& direction_from(End end) { return directions_[static_cast<std::size_t>(end)]; }
  const Direction& direction_from(End end) const {
    return directions_[static_cast<std::size_t>(end)];
  }
  Direction& direction_to(End end) { return directions_[1 - static_cast<std::size_t>(end)]; }
  void forget_departed(Direction& wire) const;
  core::Instant take_slot(Direction& wire, std::size_t frame_bytes) const;
  void lose(const core::Packet& frame, core::DropReason reason);

  core::Timeline& timeline_;
  core::PacketPool& packets_;
  LinkOptions options_;
  std::array<Direction, 2> directions_;
};

}  // namespace tapestry::host::sim
