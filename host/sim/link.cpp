#include "host/sim/link.hpp"

#include <bit>
#include <string>
#include <utility>

#include "core/assert.hpp"
#include "host/frame_copy.hpp"

namespace tapestry::host::sim {

namespace {

constexpr std::uint64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

Link::Direction::Direction(std::uint64_t seed, std::string_view name, std::size_t queue_packets)
    : losses(seed, name),
      departures(new core::Instant[std::bit_ceil(queue_packets)]),
      mask(std::bit_ceil(queue_packets) - 1) {}

Link::Link(core::Timeline& timeline, core::PacketPool& packets, std::string_view name,
           LinkOptions options)
    : timeline_(timeline),
      packets_(packets),
      options_(options),
      directions_{Direction(options.seed, std::string(name) + ".loss.a", options.queue_packets),
                  Direction(options.seed, std::string(name) + ".loss.b", options.queue_packets)} {
  TAPESTRY_ASSERT(options.rate_bps >= 1'000 && options.rate_bps <= 1'000 * kNanosPerSecond,
                  "a link's rate is 1 kbit/s to 1 Tbit/s");
  TAPESTRY_ASSERT(options.delay.count() >= 0, "light takes its time");
  TAPESTRY_ASSERT(options.queue_packets >= 1, "a frame waits somewhere while it departs");
  TAPESTRY_ASSERT(options.loss_per_billion <= kNanosPerSecond, "no more is lost than all");
}

void Link::forget_departed(Direction& wire) const {
  const core::Instant now = timeline_.now();
  while (wire.first != wire.last && wire.departures[wire.first & wire.mask] <= now)
    ++wire.first;
}

bool Link::has_room(End from) {
  timeline_.require_settled("a link");
  Direction& wire = direction_from(from);
  forget_departed(wire);
  return wire.last - wire.first < options_.queue_packets;
}

core::Instant Link::send(End from, const core::Packet& frame, bool continues) {
  Direction& wire = direction_from(from);
  if (!continues && !has_room(from)) {
    ++wire.figures.queue_dropped;
    lose(frame, core::DropReason::link_queue);
    return timeline_.now();
  }
  const core::Instant departure = take_slot(wire, frame.length());
  if (!continues) ++wire.last;
  wire.departures[(wire.last - 1) & wire.mask] = departure;
  ++wire.figures.frames;
  wire.figures.bytes += frame.length();
  if (wire.losses.chance(options_.loss_per_billion)) {
    ++wire.figures.lost;
    lose(frame, core::DropReason::link_loss);
  } else if (wire.receiver == nullptr) {
    ++wire.figures.unheard;
    lose(frame, core::DropReason::link_down);
  } else {
    frame.reach(core::Milestone::wire_out,
                static_cast<std::uint64_t>(core::nanos_since_start(departure)));
    wire.receiver->frame_will_arrive(frame, departure + options_.delay);
  }
  return departure;
}

// An instant that is not a whole nanosecond shows as the next one.
core::Instant Link::take_slot(Direction& wire, std::size_t frame_bytes) const {
  const core::Instant now = timeline_.now();
  if (wire.free_at < now) {
    wire.free_at = now;
    wire.remainder = 0;
  }
  // The largest packet's bits times a billion are below 2^50: all of this fits 64 bits.
  const std::uint64_t scaled = slot_bits(frame_bytes) * kNanosPerSecond + wire.remainder;
  wire.free_at += core::Nanos{static_cast<std::int64_t>(scaled / options_.rate_bps)};
  wire.remainder = scaled % options_.rate_bps;
  return wire.free_at + core::Nanos{wire.remainder != 0 ? 1 : 0};
}

// The sender frees its own packet as sent; what is lost is a packet of the wire's.
void Link::lose(const core::Packet& frame, core::DropReason reason) {
  core::PacketPtr lost = packets_.allocate(core::Origin::host_copy);
  if (!lost) return;
  copy_frame(frame, *lost, VnetHeader::none);
  core::drop(std::move(lost), reason);
}

}  // namespace tapestry::host::sim
