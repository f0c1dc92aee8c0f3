// Generic receive offload: segments of one TCP stream become one packet before the protocols see
// them (net/core/gro.c, net/ipv4/tcp_offload.c).
//
// Each NAPI instance holds packets in hash lists of at most 8. A segment that continues a held
// packet exactly (next in sequence, all other fields equal) is added to it, without copying;
// anything else of its stream sends the held packet up first. All of them go up when the instance
// completes its poll, so that nothing waits for packets that may not come. What goes up is a packet
// for segmentation, as a sender would have made it: gso_size, gso_segments, an unfinished checksum.
// It can be forwarded as it is, and cutting it gives back the segments, byte for byte.
//
// A held packet refers to at most 18 ranges of payload. The kernel then chains packets
// (frag_list); here the ranges are gathered into one block, which costs nothing, as chaining does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/packet.hpp"
#include "irq/napi.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

class Gro final : public irq::NapiReceiveState {
 public:
  static constexpr std::size_t kBuckets = 8;  // GRO_HASH_BUCKETS
  static constexpr std::size_t kHeldMax = 8;  // MAX_GRO_SKBS, in each
  static constexpr std::size_t kPacketMax =
      65'535;  // below GRO_LEGACY_MAX_SIZE, from the IP header

  explicit Gro(Stack& stack);
  ~Gro() override;

  // That of an instance, made when first asked for.
  static Gro& of(Stack& stack, irq::Napi& napi);

  // napi_gro_receive: a frame from its mac header on, with its interface set, in the instance's
  // poll. Charges `gro`, and `checksum` if nobody has verified it yet. Settles.
  void receive(core::PacketPtr packet);

  // napi_gro_flush and gro_normal_list; `only_old`: packets held since this very tick stay.
  void flush(bool only_old);
  static void flush_hook(void* stack, irq::Napi& napi, bool completes);

  struct Figures {
    std::uint64_t merged = 0;     // went into another one (GRO_MERGED)
    std::uint64_t held = 0;       // began a packet (GRO_HELD)
    std::uint64_t normal = 0;     // were none of GRO's business, or had to go at once (GRO_NORMAL)
    std::uint64_t completed = 0;  // packets of more than one segment that went up
  };
  const Figures& figures() const { return figures_; }
  std::size_t held() const;

 private:
  // What a frame is to GRO.
  struct Segment {
    bool is_tcp = false;      // TCP over IPv4 without options, with its headers linear
    bool must_go = false;     // flush: cannot be merged nor held
    std::size_t headers = 0;  // bytes in front of the payload, with Ethernet's
    std::size_t payload = 0;  // bytes
    std::size_t count = 1;    // segments in it
  };
  struct Held {
    core::PacketPtr packet;
    Segment segment;
    std::uint64_t age = 0;  // the tick it came in
    bool fixed_id = false;  // is_atomic: may not be fragmented, and so far one identification
  };
  struct Bucket {
    std::array<Held, kHeldMax> held;  // oldest first
    std::size_t size = 0;
  };

  Segment look_at(core::Packet& packet) const;
  bool verify(core::Packet& packet, const Segment& segment);
  void sort(core::PacketPtr packet, Segment segment);
  Held* find(Bucket& bucket, const core::Packet& packet) const;
  bool merge(Held& held, core::PacketPtr& packet, const Segment& segment);
  static bool continues(Held& held, const core::Packet& packet, const Segment& segment);
  static bool identification_fits(Held& held, const std::uint8_t* ip);
  void take_out(Bucket& bucket, Held& held);
  void complete(Held held);
  void give_normal(core::PacketPtr packet, std::size_t segments);
  void pass_up();
  Bucket& bucket_of(const core::Packet& packet) {
    return buckets_[packet.hash % stack_.options().gro_buckets];
  }

  Stack& stack_;
  std::array<Bucket, kBuckets> buckets_;
  core::PacketQueue ready_;  // gro_normal: on their way up
  std::size_t ready_segments_ = 0;
  Figures figures_;
};

}  // namespace tapestry::net
