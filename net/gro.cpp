#include "net/gro.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/checksum_offload.hpp"
#include "net/device.hpp"
#include "net/headers.hpp"
#include "net/tcp_fields.hpp"

namespace tapestry::net {

using core::ChecksumState;
using core::PacketPtr;
using sched::Work;

namespace {

constexpr std::size_t kIp = ethernet::kBytes;
constexpr std::size_t kTcp = kIp + ipv4::kBytes;
constexpr core::Nanos kShortTick{1'000'000};  // HZ >= 1000

// data offset, flags and window, without the flags in which segments of one packet may differ.
constexpr std::uint32_t kMayDiffer =
    std::uint32_t{tcp_fields::kCwr | tcp_fields::kFin | tcp_fields::kPsh} << 16;
constexpr std::uint8_t kEndsPacket =
    tcp_fields::kUrg | tcp_fields::kPsh | tcp_fields::kRst | tcp_fields::kSyn | tcp_fields::kFin;

const std::uint8_t* tcp_of(const core::Packet& packet) { return packet.data() + kTcp; }
const std::uint8_t* ip_of(const core::Packet& packet) { return packet.data() + kIp; }

}  // namespace

Gro::Gro(Stack& stack) : stack_(stack), ready_(stack.packets().bound()) {}

// A world may end while packets are held.
Gro::~Gro() {
  for (Bucket& bucket : buckets_) {
    for (std::size_t i = 0; i < bucket.size; ++i)
      core::drop(std::move(bucket.held[i].packet), core::DropReason::run_end);
  }
  ready_.drop_all(core::DropReason::run_end);
}

Gro& Gro::of(Stack& stack, irq::Napi& napi) {
  auto& state = napi.receive_state();
  if (!state) [[unlikely]]
    state = std::make_unique<Gro>(stack);
  return static_cast<Gro&>(*state);
}

std::size_t Gro::held() const {
  std::size_t sum = 0;
  for (const Bucket& bucket : buckets_)
    sum += bucket.size;
  return sum;
}

// --- looking at a frame --------------------------------------------------------------------------

// The packet is still private. dev_gro_receive, inet_gro_receive and tcp_gro_receive, as far as
// they look at the new frame alone.
Gro::Segment Gro::look_at(core::Packet& packet) const {
  Segment segment;
  if (!packet.make_linear(kTcp + tcp_fields::kBytes)) return segment;
  const std::uint8_t* ip = ip_of(packet);
  if (core::load_be16(packet.data() + ethernet::kType) != ethernet::kIpv4 || ip[0] != 0x45 ||
      ip[ipv4::kProtocol] != tcp_fields::kProtocol ||
      core::internet_checksum({ip, ipv4::kBytes}) != 0)
    return segment;
  const std::size_t own = std::size_t{tcp_of(packet)[tcp_fields::kWord]} >> 4 << 2;
  if (own < tcp_fields::kBytes || !packet.make_linear(kTcp + own)) return segment;
  segment.is_tcp = true;
  segment.headers = kTcp + own;
  segment.payload = packet.length() - segment.headers;
  // What is large already comes through a virtual header, whose word is not taken for good
  // (SKB_GSO_DODGY), or from hardware, which does not tell how many segments it is.
  if (packet.gso_size != 0) segment.must_go = true;
  const std::uint16_t fragment = core::load_be16(ip_of(packet) + ipv4::kFragment);
  const std::size_t total = core::load_be16(ip_of(packet) + ipv4::kTotalLength);
  // A frame that is longer than its packet was padded.
  if ((fragment & ~ipv4::kDontFragment) != 0 || total != packet.length() - kIp)
    segment.must_go = true;
  return segment;
}

// A frame that cannot be merged anyway is not summed up here.
bool Gro::verify(core::Packet& packet, const Segment& segment) {
  if (packet.checksum != ChecksumState::none || segment.must_go) return true;
  const std::size_t covered = packet.length() - kTcp;
  stack_.cpu().charge(Work::checksum, 1, static_cast<std::int64_t>(covered));
  stack_.cpu().charge_cold_read(packet.payload_owner, static_cast<std::int64_t>(covered));
  packet.payload_owner = stack_.cpu().cache_owner();
  core::InternetChecksum sum;
  core::add_ipv4_pseudo_header(sum, core::load_be32(ip_of(packet) + ipv4::kSource),
                               core::load_be32(ip_of(packet) + ipv4::kDestination),
                               tcp_fields::kProtocol, static_cast<std::uint16_t>(covered));
  core::add_packet_range(sum, packet, kTcp, covered);
  if (sum.finish() != 0) return false;
  packet.checksum = ChecksumState::unnecessary;
  return true;
}

void Gro::receive(PacketPtr packet) {
  sched::Cpu& cpu = stack_.cpu();
  cpu.charge(Work::gro);
  const Segment segment = look_at(*packet);
  const bool good = segment.is_tcp && verify(*packet, segment);
  cpu.settle();
  if (good) {
    sort(std::move(packet), segment);
  } else {
    ++figures_.normal;
    give_normal(std::move(packet), 1);
  }
  if (ready_segments_ >= stack_.options().gro_normal_batch) pass_up();
}

// --- merging -------------------------------------------------------------------------------------

// Settled; nobody else can look until the packets go up. A held packet of this stream goes first,
// unless it has taken the segment and may take more.
void Gro::sort(PacketPtr packet, Segment segment) {
  Bucket& bucket = bucket_of(*packet);
  Held* held = find(bucket, *packet);
  const std::uint8_t flags = tcp_of(*packet)[tcp_fields::kFlags];
  const bool whole = (core::load_be16(ip_of(*packet) + ipv4::kFragment) & ipv4::kDontFragment) != 0;
  const bool merged = held != nullptr && merge(*held, packet, segment);
  const std::size_t full = merged ? held->packet->gso_size : 1;
  const bool ends = segment.payload < full || (flags & kEndsPacket) != 0;
  if (held != nullptr && (!merged || ends)) take_out(bucket, *held);
  if (merged) {
    ++figures_.merged;
    stack_.cpu().charge(Work::packet_free);
    return;
  }
  if (ends || segment.must_go) {
    ++figures_.normal;
    give_normal(std::move(packet), 1);
    return;
  }
  if (bucket.size == kHeldMax) take_out(bucket, bucket.held[0]);
  ++figures_.held;
  packet->gso_size = static_cast<std::uint16_t>(segment.payload);
  bucket.held[bucket.size++] = {std::move(packet), segment, stack_.environment().jiffies.jiffies(),
                                whole};
}

// gro_list_prepare and the look-ups of IP and TCP: same interface, same Ethernet header, same
// addresses, same ports. The youngest first.
Gro::Held* Gro::find(Bucket& bucket, const core::Packet& packet) const {
  for (std::size_t i = bucket.size; i-- > 0;) {
    const core::Packet& other = *bucket.held[i].packet;
    const std::uint8_t* ip = ip_of(packet);
    const bool same = other.hash == packet.hash && other.interface == packet.interface &&
                      std::memcmp(other.data(), packet.data(), ethernet::kBytes) == 0 &&
                      std::memcmp(ip_of(other) + ipv4::kSource, ip + ipv4::kSource, 8) == 0 &&
                      std::memcmp(tcp_of(other), tcp_of(packet), 4) == 0;
    if (same) return &bucket.held[i];
  }
  return nullptr;
}

// Segments with equal identification may be merged if they may not be fragmented; the second one
// decides which of the two it is.
bool Gro::identification_fits(Held& held, const std::uint8_t* ip) {
  const std::uint8_t* first = ip_of(*held.packet);
  const auto step = static_cast<std::uint16_t>(core::load_be16(ip + ipv4::kIdentification) -
                                               core::load_be16(first + ipv4::kIdentification));
  const bool atomic = (core::load_be16(ip + ipv4::kFragment) & ipv4::kDontFragment) != 0;
  if (!held.fixed_id || !atomic) return step == static_cast<std::uint16_t>(held.segment.count);
  if (step == 1 && held.segment.count == 1) {
    held.fixed_id = false;
    return true;
  }
  return step == 0;
}

bool Gro::continues(Held& held, const core::Packet& packet, const Segment& segment) {
  const core::Packet& first = *held.packet;
  const std::uint8_t* ip = ip_of(packet);
  const std::uint8_t* tcp = tcp_of(packet);
  const std::uint8_t* first_ip = ip_of(first);
  const std::uint8_t* first_tcp = tcp_of(first);
  if (segment.must_go || (tcp[tcp_fields::kFlags] & tcp_fields::kCwr) != 0) return false;
  const std::uint32_t differs =
      core::load_be32(tcp + tcp_fields::kWord) ^ core::load_be32(first_tcp + tcp_fields::kWord);
  if ((differs & ~kMayDiffer) != 0) return false;
  if (std::memcmp(tcp + tcp_fields::kAcknowledgment, first_tcp + tcp_fields::kAcknowledgment, 4) !=
      0)
    return false;
  // The data offset is equal, and with it the length of the options.
  const std::size_t options = segment.headers - kTcp - tcp_fields::kBytes;
  if (std::memcmp(tcp + tcp_fields::kBytes, first_tcp + tcp_fields::kBytes, options) != 0)
    return false;
  const std::uint16_t fragment =
      core::load_be16(ip + ipv4::kFragment) ^ core::load_be16(first_ip + ipv4::kFragment);
  if (ip[ipv4::kTimeToLive] != first_ip[ipv4::kTimeToLive] ||
      ip[ipv4::kTypeOfService] != first_ip[ipv4::kTypeOfService] ||
      (fragment & ipv4::kDontFragment) != 0)
    return false;
  const bool fits = segment.payload != 0 && segment.payload <= first.gso_size;
  const std::uint32_t next = core::load_be32(first_tcp + tcp_fields::kSequence) +
                             static_cast<std::uint32_t>(held.segment.payload);
  if (!fits || next != core::load_be32(tcp + tcp_fields::kSequence)) return false;
  return identification_fits(held, ip);
}

// skb_gro_receive. The merged packet ends in the ledger; its bytes live on.
bool Gro::merge(Held& held, PacketPtr& packet, const Segment& segment) {
  if (!continues(held, *packet, segment)) return false;
  core::Packet& whole = *held.packet;
  if (whole.length() - kIp + segment.payload > kPacketMax) return false;
  if (whole.fragments_left() < packet->fragments().size() + 1 && !whole.gather_payload())
    return false;
  if (!whole.append_range(*packet, segment.headers, segment.payload)) return false;
  std::uint8_t& flags = whole.data()[kTcp + tcp_fields::kFlags];
  flags = static_cast<std::uint8_t>(
      flags | (tcp_of(*packet)[tcp_fields::kFlags] & (tcp_fields::kFin | tcp_fields::kPsh)));
  ++held.segment.count;
  held.segment.payload += segment.payload;
  whole.absorb_weight(std::move(packet));
  return true;
}

// --- going up ------------------------------------------------------------------------------------

void Gro::take_out(Bucket& bucket, Held& held) {
  Held taken = std::exchange(held, {});
  Held* const end = bucket.held.data() + bucket.size;
  for (Held* hole = &held; hole + 1 != end; ++hole)
    *hole = std::exchange(hole[1], {});
  --bucket.size;
  complete(std::move(taken));
}

// napi_gro_complete, tcp4_gro_complete
void Gro::complete(Held held) {
  core::Packet& packet = *held.packet;
  if (held.segment.count == 1) {
    packet.gso_size = 0;
    give_normal(std::move(held.packet), 1);
    return;
  }
  ++figures_.completed;
  std::uint8_t* ip = packet.data() + kIp;
  const std::size_t length = packet.length() - kIp;
  core::store_be16(ip + ipv4::kTotalLength, static_cast<std::uint16_t>(length));
  core::store_be16(ip + ipv4::kChecksum, 0);
  core::store_be16(ip + ipv4::kChecksum, core::internet_checksum({ip, ipv4::kBytes}));
  core::InternetChecksum pseudo;
  core::add_ipv4_pseudo_header(pseudo, core::load_be32(ip + ipv4::kSource),
                               core::load_be32(ip + ipv4::kDestination), tcp_fields::kProtocol,
                               static_cast<std::uint16_t>(length - ipv4::kBytes));
  core::store_be16(packet.data() + kTcp + tcp_fields::kChecksum, pseudo.sum());
  mark_unfinished_checksum(packet, kTcp, tcp_fields::kChecksum);
  packet.gso_type = core::GsoType::tcpv4;
  packet.gso_segments = static_cast<std::uint16_t>(held.segment.count);
  packet.gso_fixed_id = held.fixed_id;
  give_normal(std::move(held.packet), held.segment.count);
}

void Gro::give_normal(PacketPtr packet, std::size_t segments) {
  (void)ready_.push(std::move(packet));
  ready_segments_ += segments;
}

// gro_normal_list. Going up takes time, and what comes meanwhile comes later.
void Gro::pass_up() {
  core::PacketQueue going(ready_.size());
  while (PacketPtr packet = ready_.pop())
    (void)going.push(std::move(packet));
  ready_segments_ = 0;
  while (PacketPtr packet = going.pop()) {
    Device& device = *stack_.devices_[packet->interface - 1];
    device.accept(std::move(packet));
    stack_.cpu().settle();
  }
}

void Gro::flush(bool only_old) {
  stack_.cpu().settle();
  const std::uint64_t now = stack_.environment().jiffies.jiffies();
  for (Bucket& bucket : buckets_) {
    while (bucket.size != 0 && !(only_old && bucket.held[0].age == now))
      take_out(bucket, bucket.held[0]);
  }
  if (!ready_.empty()) pass_up();
}

void Gro::flush_hook(void* stack, irq::Napi& napi, bool completes) {
  if (!napi.receive_state()) return;
  Stack& own = *static_cast<Stack*>(stack);
  const bool only_old = !completes && own.environment().jiffies.tick() <= kShortTick;
  static_cast<Gro&>(*napi.receive_state()).flush(only_old);
}

}  // namespace tapestry::net
