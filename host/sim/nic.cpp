#include "host/sim/nic.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "host/frame_copy.hpp"
#include "net/checksum_offload.hpp"
#include "net/flow_hash.hpp"
#include "net/gso.hpp"

namespace tapestry::host::sim {

namespace {

bool comes_before(std::uint32_t left, std::uint32_t right) {
  return static_cast<std::int32_t>(left - right) < 0;
}

}  // namespace

Nic::Nic(core::Timeline& timeline, core::PacketPool& packets, NicOptions options)
    : timeline_(timeline),
      packets_(packets),
      options_(options),
      actor_(timeline.add_actor("nic", core::Phase::device)),
      sent_(timeline, options.transmit_descriptors),
      received_(timeline, options.receive_descriptors),
      transmit_register_(*this, &Nic::transmit_doorbell),
      receive_register_(*this, &Nic::receive_doorbell),
      throttle_register_(*this, &Nic::throttle_register),
      unplaced_(packets.bound()) {
  set_intervals(options.receive_interval, options.transmit_interval);
}

Nic::~Nic() {
  timeline_.events().cancel(overrun_event_);
  timeline_.events().cancel(interrupt_event_);
  unplaced_.drop_all(core::DropReason::run_end);
}

void Nic::connect(Link& link, Link::End end) {
  link_ = &link;
  end_ = end;
  link.attach(end, *this);
}

NicPort Nic::port() {
  return {sent_.ring, received_.ring, transmit_register_, receive_register_, &throttle_register_};
}

void Nic::set_intervals(core::Nanos receive, core::Nanos transmit) {
  const auto sensible = [](core::Nanos span) { return span.count() >= 0 && span <= kIntervalMax; };
  TAPESTRY_ASSERT(sensible(receive) && sensible(transmit), "interrupts wait 0 to 1 s");
  received_.interval = receive;
  sent_.interval = transmit;
}

void Nic::throttle_register(std::uint32_t usecs) {
  timeline_.require_settled("a NIC's interrupt throttle");
  const core::Nanos interval = std::chrono::microseconds(usecs);
  set_intervals(interval, interval);
}

// --- transmitting ------------------------------------------------------------------------------

void Nic::transmit_doorbell(std::uint32_t value) {
  timeline_.require_settled("a NIC's transmit doorbell");
  sent_.skip_emptied();
  TAPESTRY_ASSERT(value - sent_.decided <= sent_.ring.size(), "the doorbell moves forward");
  const core::Instant now = timeline_.now();
  core::Instant done = now;
  ++figures_.tx_doorbells;
  for (; sent_.decided != value; ++sent_.decided) {
    DescriptorRing::Descriptor& descriptor = sent_.ring.at(sent_.decided);
    const core::Instant departed = send(*descriptor.packet, now);
    done = std::max(done, departed);  // descriptors are written back in order
    descriptor.done = done;
    if (sent_.untold == core::kNever) sent_.untold = done;
  }
  schedule_interrupt();
}

// Returns when the last bit of the last frame has left.
core::Instant Nic::send(core::Packet& packet, core::Instant now) {
  if (packet.gso_size != 0 && options_.segmentation) return send_segments(packet, now);
  return send_frame(packet, false);
}

// Whether a checksum is known to be right goes along as a mark, so that the other card need not add
// it up again; what it tells its driver is up to its own options.
core::Instant Nic::send_frame(core::Packet& frame, bool continues) {
  ++figures_.tx_packets;
  figures_.tx_bytes += frame.length();
  if (frame.checksum == core::ChecksumState::partial && options_.transmit_checksum) {
    net::finish_checksum(frame);
    frame.checksum = core::ChecksumState::unnecessary;
  }
  return link_ != nullptr ? link_->send(end_, frame, continues) : timeline_.now();
}

// A packet that the link's queue has no place for is lost as a whole.
core::Instant Nic::send_segments(core::Packet& packet, core::Instant now) {
  const std::size_t headers = net::gso_header_bytes(packet);
  const std::size_t count = net::segment_count(packet);
  const bool linear = packet.make_linear(headers);
  TAPESTRY_ASSERT(count != 0 && linear, "a driver offers frames of the type that they say");
  ++figures_.tx_segmented;
  const bool room = link_ == nullptr || link_->has_room(end_);
  core::Instant departed = now;
  for (std::size_t i = 0; i < count; ++i) {
    core::PacketPtr frame = net::cut_segment(packet, headers, i, core::Origin::host_copy);
    if (!frame) break;
    frame->account(net::segment_weight(packet, headers, i));
    departed = send_frame(*frame, room && i != 0);
    core::consume(std::move(frame));
  }
  return departed;
}

// --- receiving ---------------------------------------------------------------------------------

void Nic::frame_will_arrive(const core::Packet& frame, core::Instant arrival) {
  if (!unplaced_.empty()) drop_overruns();
  if (unplaced_.empty() && find_buffer()) {
    fill_buffer(frame, arrival);
    schedule_interrupt();
    return;
  }
  core::PacketPtr waiting = packets_.allocate(core::Origin::host_copy);
  if (!waiting || !copy_frame(frame, *waiting, VnetHeader::read)) {
    ++figures_.rx_hw_drop_overruns;
    if (waiting) core::drop(std::move(waiting), core::DropReason::no_buffer);
    return;
  }
  waiting->stamp = arrival;
  const bool taken = unplaced_.push(std::move(waiting));
  TAPESTRY_ASSERT(taken, "the queue holds as many packets as may live");
  watch_overruns();
}

void Nic::receive_doorbell(std::uint32_t value) {
  timeline_.require_settled("a NIC's receive doorbell");
  received_.skip_emptied();
  TAPESTRY_ASSERT(value - received_.decided <= received_.ring.size(), "the doorbell moves forward");
  posted_ = value;
  drop_overruns();
  while (!unplaced_.empty() && find_buffer()) {
    core::PacketPtr frame = unplaced_.pop();
    if (fill_buffer(*frame, frame->stamp))
      core::consume(std::move(frame));
    else
      core::drop(std::move(frame), core::DropReason::no_buffer);
  }
  schedule_interrupt();
}

// Is there a buffer for the next frame?
bool Nic::find_buffer() {
  received_.skip_emptied();
  return comes_before(received_.decided, posted_);
}

// What the card's parser finds out about a frame: is its checksum right, and which flow is it of?
void Nic::inspect(core::Packet& buffer, bool known_good) const {
  if (options_.receive_checksum && (known_good || net::has_good_checksum(buffer)))
    buffer.checksum = core::ChecksumState::unnecessary;
  if (options_.receive_hash) buffer.hash = net::flow_hash(buffer);
}

// Puts the frame into the next buffer. False if there is no memory for its bytes.
bool Nic::fill_buffer(const core::Packet& frame, core::Instant arrival) {
  DescriptorRing::Descriptor& descriptor = received_.ring.at(received_.decided);
  core::Packet& buffer = *descriptor.packet;
  if (!copy_frame(frame, buffer, VnetHeader::none)) {
    ++figures_.rx_hw_drop_overruns;
    return false;
  }
  buffer.reach(core::Milestone::ring_filled,
               static_cast<std::uint64_t>(core::nanos_since_start(arrival)));
  inspect(buffer, frame.checksum == core::ChecksumState::unnecessary);
  ++received_.decided;
  descriptor.done = arrival;
  if (received_.untold == core::kNever) received_.untold = arrival;
  ++figures_.rx_packets;
  figures_.rx_bytes += buffer.length();
  return true;
}

// A frame that has arrived by now, devices first, and has no buffer never gets one.
void Nic::drop_overruns() {
  const core::Instant now = timeline_.now();
  while (!unplaced_.empty() && unplaced_.front()->stamp <= now) {
    ++figures_.rx_hw_drop_overruns;
    core::drop(unplaced_.pop(), core::DropReason::no_buffer);
  }
}

// So that what is lost is known as lost though nobody asks: one event for all that wait.
void Nic::watch_overruns() {
  if (unplaced_.empty() || timeline_.events().pending(overrun_event_)) return;
  overrun_event_ =
      timeline_.events().push(unplaced_.back()->stamp, actor_, &Nic::overrun_due, this);
}

void Nic::overrun_due(void* nic, std::uint64_t) {
  auto& self = *static_cast<Nic*>(nic);
  self.drop_overruns();
  self.watch_overruns();
}

// --- interrupts --------------------------------------------------------------------------------

// A driver that closes takes back what it has posted, and goes on from there.
void Nic::Side::skip_emptied() {
  if (comes_before(decided, ring.oldest())) decided = ring.oldest();
}

core::Instant Nic::Side::first_untold(core::Instant now) {
  skip_emptied();
  if (comes_before(told, ring.oldest())) told = ring.oldest();  // the driver has it already
  while (told != decided && ring.at(told).done <= now)
    ++told;
  return told != decided ? ring.at(told).done : core::kNever;
}

void Nic::schedule_interrupt() {
  if (line_ == nullptr) return;
  const auto due = [this](const Side& side) {
    if (side.untold == core::kNever) return core::kNever;
    return std::max(side.untold, last_interrupt_ + side.interval);
  };
  // An interval that has been shortened may make one overdue.
  const core::Instant at = std::max(std::min(due(sent_), due(received_)), timeline_.now());
  if (at >= interrupt_at_) return;  // one at that time or earlier is on its way
  timeline_.events().cancel(interrupt_event_);
  interrupt_at_ = at;
  interrupt_event_ = timeline_.events().push(at, actor_, &Nic::interrupt_due, this);
}

void Nic::interrupt() {
  const core::Instant now = timeline_.now();
  interrupt_at_ = core::kNever;
  last_interrupt_ = now;
  if (received_.untold <= now) causes_ |= kReceived;
  if (sent_.untold <= now) causes_ |= kSent;
  received_.untold = received_.first_untold(now);
  sent_.untold = sent_.first_untold(now);
  ++figures_.interrupts;
  schedule_interrupt();
  line_->raise();
}

std::uint32_t Nic::take_causes() {
  timeline_.require_settled("a NIC's interrupt causes");
  if (line_ != nullptr) line_->lower();
  return std::exchange(causes_, 0);
}

Nic::Figures Nic::figures() {
  timeline_.require_settled("a NIC's figures");
  drop_overruns();
  Figures now_seen = figures_;
  // What lies in buffers but arrives later.
  for (std::uint32_t i = received_.decided; comes_before(received_.ring.oldest(), i);) {
    const DescriptorRing::Descriptor& descriptor = received_.ring.at(--i);
    if (descriptor.done <= timeline_.now()) break;
    --now_seen.rx_packets;
    now_seen.rx_bytes -= descriptor.packet->length();
  }
  return now_seen;
}

}  // namespace tapestry::host::sim
