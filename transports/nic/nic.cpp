#include "transports/nic/nic.hpp"

#include <algorithm>
#include <utility>

#include "net/gso.hpp"

namespace tapestry::transports {

Nic::Nic(DriverEnvironment environment, host::NicPort port, NicOptions options)
    : environment_(environment),
      port_(port),
      options_(options),
      line_(environment.interrupts.add_line(environment.device.name(), irq::Trigger::edge, *this)),
      napi_(environment.napi, environment.device.name(), *this),
      memory_timer_(
          environment.jiffies, [](void* driver) { static_cast<Nic*>(driver)->begin_receiving(); },
          this),
      receive_write_(std::min(kReceiveWrite, port.receive_ring.size() / 2)),
      sent_(core::PacketBatch::kCapacityMax),
      received_(irq::Napi::kWeightDefault),
      buffers_(core::PacketBatch::kCapacityMax) {
  if (options_.napi) napi_.set_irq(line_);
}

net::Features Nic::features() const {
  return {.scatter_gather = true,
          .transmit_checksum = options_.transmit_checksum,
          .segmentation = options_.segmentation && options_.transmit_checksum,
          .receive_checksum = options_.receive_checksum,
          .gro = options_.gro && options_.napi};
}

void Nic::for_each_statistic(
    const std::function<void(std::string_view, std::uint64_t)>& visit) const {
  for (const auto& [name, value] : statistics_.named())
    visit(name, value);
}

void Nic::open() {
  moderation_.reset();
  throttle();
  napi_.enable();
  missing_ = port_.receive_ring.size();
  give_buffers(missing_);
  line_.unmask();
  look_again();
}

void Nic::close() {
  line_.mask();
  napi_.disable();
  memory_timer_.cancel();
  empty(port_.transmit_ring);
  empty(port_.receive_ring);
}

void Nic::empty(host::DescriptorRing& ring) {
  while (ring.used() != 0) {
    const std::size_t some = std::min(ring.used(), sent_.capacity());
    for (std::size_t i = 0; i < some; ++i)
      sent_.push_back(ring.take_back());
    environment_.allocator.drop_all(sent_, core::DropReason::queue_purge);
  }
}

net::Transmit Nic::transmit(core::PacketPtr& packet, net::TxQueue& queue) {
  host::DescriptorRing& ring = port_.transmit_ring;
  if (ring.full()) {
    ++statistics_.tx_busy;
    queue.stop();
    return net::Transmit::busy;
  }
  const bool more = packet->more;
  queue.sent(on_wire(*packet).bytes);
  ring.fill(std::move(packet));
  if (ring.full()) queue.stop();
  if (queue.must_ring(more)) port_.transmit_doorbell.ring(ring.head());
  return net::Transmit::ok;
}

Nic::OnWire Nic::on_wire(const core::Packet& packet) const {
  if (packet.gso_size == 0) return {1, packet.length()};
  const std::uint64_t frames = net::segment_count(packet);
  return {frames, packet.length() + (frames - 1) * net::gso_header_bytes(packet)};
}

void Nic::throttle() {
  // The register counts in steps of 2 us.
  if (options_.adaptive_moderation && port_.throttle != nullptr)
    port_.throttle->ring(moderation_.usecs() & ~std::uint32_t{1});
}

void Nic::interrupt() {
  if (!options_.napi) return interrupt_without_napi();
  line_.mask();
  napi_.schedule();
}

// What comes after the last look has raised the line once more.
void Nic::interrupt_without_napi() {
  for (int look = 0; look < kLooksMax; ++look) {
    bool found = clean_transmitted() > 0;
    while (receive(irq::Napi::kWeightDefault) > 0)
      found = true;
    if (!found) break;
  }
  if (options_.adaptive_moderation && moderation_.update(environment_.jiffies.jiffies()))
    throttle();
}

// Not because of an interrupt: what is there would not bring one.
void Nic::begin_receiving() {
  if (options_.napi)
    napi_.schedule();
  else
    line_.raise();
}

int Nic::poll(int budget) {
  const bool cleaned = clean_transmitted() < kTransmitWork;
  const int work = receive(budget);
  if (work == budget || !cleaned) return budget;
  if (napi_.complete_done(work)) {
    if (options_.adaptive_moderation && moderation_.update(environment_.jiffies.jiffies()))
      throttle();
    line_.unmask();
    look_again();
  }
  return work;
}

// An interrupt that came with the unmasking has seen to it already. Only frames received are worth
// it: what has been sent meanwhile has an interrupt of its own to come, after the interval that
// moderates it, and a poll for every completion is what moderation is there to avoid.
void Nic::look_again() {
  if (!port_.receive_ring.oldest_is_done() || napi_.scheduled()) return;
  line_.mask();
  napi_.schedule();
}

std::size_t Nic::clean_transmitted() {
  host::DescriptorRing& ring = port_.transmit_ring;
  const std::size_t done = ring.done_now(kTransmitWork);
  if (done == 0) return 0;
  OnWire sum{0, 0};
  for (std::size_t i = 0; i < done; ++i) {
    core::PacketPtr packet = ring.take_done();
    const OnWire one = on_wire(*packet);
    sum.frames += one.frames;
    sum.bytes += one.bytes;
    sent_.push_back(std::move(packet));
  }
  statistics_.tx_queue_0_packets += sum.frames;
  statistics_.tx_queue_0_bytes += sum.bytes;
  moderation_.sent(sum.frames, sum.bytes);
  environment_.allocator.free_transmitted(sent_);
  net::TxQueue& queue = environment_.device.queue();
  queue.completed(done, sum.bytes);
  if (queue.stopped() && ring.unused() >= ring.size() / 4) queue.wake();
  return done;
}

int Nic::receive(int budget) {
  host::DescriptorRing& ring = port_.receive_ring;
  const auto most = std::min(static_cast<std::size_t>(budget), received_.capacity());
  const std::size_t done = ring.done_now(most);  // one look at the shared ring per poll
  for (std::size_t i = 0; i < done; ++i)
    received_.push_back(ring.take_done());
  missing_ += done;
  std::uint64_t bytes = 0;
  for (const core::Packet& packet : received_)
    bytes += packet.length();
  statistics_.rx_queue_0_packets += done;
  statistics_.rx_queue_0_bytes += bytes;
  moderation_.received(done, bytes);
  while (!received_.empty()) {
    if (options_.napi)
      environment_.device.receive(received_.take_front(), &napi_);
    else
      environment_.device.receive_later(received_.take_front());
    if (missing_ >= receive_write_) give_buffers(receive_write_);
  }
  if (budget > 0 && missing_ >= receive_write_)
    give_buffers(missing_);  // there was no memory before
  return static_cast<int>(done);
}

// A card without any buffer never interrupts again: then somebody has to come back when there may
// be memory.
void Nic::give_buffers(std::size_t count) {
  host::DescriptorRing& ring = port_.receive_ring;
  while (count > 0) {
    const std::size_t wanted = std::min(count, buffers_.capacity());
    const std::size_t given = environment_.allocator.allocate_receive_buffers(buffers_, wanted);
    while (!buffers_.empty())
      ring.fill(buffers_.take_front());
    missing_ -= given;
    count -= given;
    statistics_.alloc_rx_buff_failed += wanted - given;
    if (given < wanted) break;
  }
  if (missing_ < ring.size()) port_.receive_doorbell.ring(ring.head());
  if (missing_ == ring.size()) memory_timer_.modify(environment_.jiffies.jiffies() + 1);
}

}  // namespace tapestry::transports
