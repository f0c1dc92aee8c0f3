#include "transports/nic/nic.hpp"

#include <algorithm>
#include <utility>

namespace tapestry::transports {

Nic::Nic(DriverEnvironment environment, host::NicPort port, NicOptions options)
    : environment_(environment),
      port_(port),
      options_(options),
      line_(environment.interrupts.add_line(environment.device.name(), irq::Trigger::edge, *this)),
      napi_(environment.napi, environment.device.name(), *this),
      memory_timer_(
          environment.jiffies, [](void* driver) { static_cast<Nic*>(driver)->napi_.schedule(); },
          this),
      receive_write_(std::min(kReceiveWrite, port.receive_ring.size() / 2)),
      sent_(core::PacketBatch::kCapacityMax),
      received_(irq::Napi::kWeightDefault),
      buffers_(core::PacketBatch::kCapacityMax) {}

net::Features Nic::features() const {
  return {.scatter_gather = true,
          .transmit_checksum = options_.transmit_checksum,
          .receive_checksum = options_.receive_checksum,
          .gro = true};
}

void Nic::open() {
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
    queue.stop();
    return net::Transmit::busy;
  }
  const bool more = packet->more;
  queue.sent(packet->length());
  ring.fill(std::move(packet));
  if (ring.full()) queue.stop();
  if (queue.must_ring(more)) port_.transmit_doorbell.ring(ring.head());
  return net::Transmit::ok;
}

void Nic::interrupt() {
  line_.mask();
  napi_.schedule();
}

int Nic::poll(int budget) {
  clean_transmitted();
  const int work = receive(budget);
  if (work == budget) return work;
  if (napi_.complete_done(work)) {
    line_.unmask();
    look_again();
  }
  return work;
}

// An interrupt that came with the unmasking has seen to it already.
void Nic::look_again() {
  const bool work = port_.receive_ring.oldest_is_done() || port_.transmit_ring.oldest_is_done();
  if (!work || napi_.scheduled()) return;
  line_.mask();
  napi_.schedule();
}

void Nic::clean_transmitted() {
  host::DescriptorRing& ring = port_.transmit_ring;
  const std::size_t done = ring.done_now(sent_.capacity());
  if (done == 0) return;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < done; ++i) {
    core::PacketPtr packet = ring.take_done();
    bytes += packet->length();
    sent_.push_back(std::move(packet));
  }
  environment_.allocator.free_transmitted(sent_);
  net::TxQueue& queue = environment_.device.queue();
  queue.completed(done, bytes);
  if (queue.stopped() && ring.unused() >= ring.size() / 4) queue.wake();
}

int Nic::receive(int budget) {
  host::DescriptorRing& ring = port_.receive_ring;
  const auto most = std::min(static_cast<std::size_t>(budget), received_.capacity());
  const std::size_t done = ring.done_now(most);  // one look at the shared ring per poll
  for (std::size_t i = 0; i < done; ++i)
    received_.push_back(ring.take_done());
  missing_ += done;
  while (!received_.empty()) {
    environment_.device.receive(received_.take_front(), &napi_);
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
    if (given < wanted) break;
  }
  if (missing_ < ring.size()) port_.receive_doorbell.ring(ring.head());
  if (missing_ == ring.size()) memory_timer_.modify(environment_.jiffies.jiffies() + 1);
}

}  // namespace tapestry::transports
