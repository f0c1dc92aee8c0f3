// Where every packet and every payload byte came from, and where it went.
//
// A packet is created once, by one origin, and ends once, with one outcome. The bytes it is
// accountable for (its weight) enter with `Packet::account` when its payload is attached, and leave
// with its end: what counts as payload is for its creator to say (a stack: what the application
// sent, a replay: whole frames), but it says so once. In between only three things move weight:
//   truncation    a reader's buffer was too short: what it cut off has left the world
//   segmentation  one packet ends as `segmented`, its segments are created with its bytes
//   merging       one packet ends as `merged`, the one it went into takes on its bytes
// so that at any moment, for packets and for bytes,
//   created = delivered + consumed + merged + segmented + dropped + truncated + in flight,
// where "in flight" is counted by looking at the living packets, not by subtraction.
//
// Always on: results need it, and a leak is a bug. Counting costs a few additions a packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/drop_reason.hpp"
#include "core/milestone.hpp"
#include "core/probe.hpp"

namespace tapestry::core {

class Packet;

// Who made a packet.
enum class Origin : std::uint8_t {
  stack,         // a protocol or application of a simulated machine
  replay,        // a capture file
  segmentation,  // cut out of a larger packet, by GSO or IP fragmentation
  merging,       // bytes taken over from merged packets; a packet that reassembly built
  duplication,   // a clone: a tee, a retransmission, a second receiver
  host_copy,     // a frame that passed a copying descriptor and stands in for the one it copies
  live,          // read from a real descriptor
};
inline constexpr std::size_t kOrigins = 7;

// How a packet ended.
enum class Outcome : std::uint8_t {
  delivered,  // to an application, or out to the real world
  consumed,   // handled by a stack itself: ARP, ICMP, an acknowledgement; or copied across a
              // descriptor
  merged,     // its bytes live on in another packet
  segmented,  // its bytes live on in its segments
  dropped,    // with a reason
};
inline constexpr std::size_t kOutcomes = 5;

std::string_view name_of(Origin origin);
std::string_view name_of(Outcome outcome);

struct Tally {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Tally&, const Tally&) = default;
  Tally& operator+=(const Tally& other) {
    packets += other.packets;
    bytes += other.bytes;
    return *this;
  }
};

// The closed account. `text` is a table for people; of an account that does not balance it says by
// how much.
struct Balance {
  std::array<Tally, kOrigins> created{};
  std::array<Tally, kOutcomes> ended{};
  std::array<Tally, kDropReasons> dropped{};  // `ended[dropped]`, by reason
  Tally truncated{};  // packets cut short (they end otherwise), bytes cut off
  Tally in_flight{};

  Tally created_total() const;
  Tally ended_total() const;
  const Tally& ended_as(Outcome outcome) const { return ended[static_cast<std::size_t>(outcome)]; }
  const Tally& dropped_for(DropReason reason) const {
    return dropped[static_cast<std::size_t>(reason)];
  }
  const Tally& created_by(Origin origin) const { return created[static_cast<std::size_t>(origin)]; }

  bool balanced = false;
  std::string text;
};

class Ledger {
 public:
  const Tally& created(Origin origin) const { return created_[static_cast<std::size_t>(origin)]; }
  const Tally& ended(Outcome outcome) const { return ended_[static_cast<std::size_t>(outcome)]; }
  const Tally& dropped(DropReason reason) const {
    return dropped_[static_cast<std::size_t>(reason)];
  }
  const Tally& truncated() const { return truncated_; }

  // The account as it stands, given what is still alive. Whoever has the packets counts those:
  // PacketPool::close.
  Balance close(Tally in_flight) const;

  // Told of each drop before the packet goes, as the kernel's trace point skb:kfree_skb.
  Probe<const Packet&, DropReason> on_drop;

  // Told of each step of each packet's life; the argument is the milestone's.
  Probe<const Packet&, Milestone, std::uint64_t> on_milestone;

 private:
  friend class Packet;
  friend class PacketPool;

  void count_created(Origin origin) { ++created_[static_cast<std::size_t>(origin)].packets; }
  void count_accounted(Origin origin, std::uint64_t bytes) {
    created_[static_cast<std::size_t>(origin)].bytes += bytes;
  }
  void count_ended(Outcome outcome, std::uint64_t bytes) {
    Tally& tally = ended_[static_cast<std::size_t>(outcome)];
    ++tally.packets;
    tally.bytes += bytes;
  }
  void count_dropped(DropReason reason, std::uint64_t bytes) {
    Tally& tally = dropped_[static_cast<std::size_t>(reason)];
    ++tally.packets;
    tally.bytes += bytes;
    count_ended(Outcome::dropped, bytes);
  }
  void count_truncated(std::uint64_t bytes) {
    ++truncated_.packets;
    truncated_.bytes += bytes;
  }

  std::array<Tally, kOrigins> created_{};
  std::array<Tally, kOutcomes> ended_{};
  std::array<Tally, kDropReasons> dropped_{};
  Tally truncated_{};
};

}  // namespace tapestry::core
