// The vector driver's way out.
#include <utility>

#include "transports/vector/vector.hpp"

namespace tapestry::transports {

using core::DropReason;
using host::IoStatus;

net::Transmit Vector::transmit(core::PacketPtr& packet, net::TxQueue& queue) {
  if (in_error_) {
    port_.listen(nullptr);
    environment_.allocator.drop(std::move(packet), DropReason::io_error);
    return net::Transmit::dropped;
  }
  if (packet->fragments().size() > 1) ++statistics_.sg_ok;
  if (!vector_transmit()) return transmit_one(std::move(packet));

  const std::size_t length = packet->length();
  const bool more = packet->more;
  const bool fits = !ring_->full();
  queue.sent(length);
  if (fits) ring_->add(std::move(packet));
  send_soon(queue, length, more);
  if (fits) return net::Transmit::ok;
  // What found no room is lost, though there may be some now.
  queue.completed(1, length);
  // NOLINTNEXTLINE(bugprone-use-after-move): a refused push leaves it here
  environment_.allocator.drop(std::move(packet), DropReason::full_ring);
  return net::Transmit::dropped;
}

// One packet, one call; what the host cannot take is lost.
net::Transmit Vector::transmit_one(core::PacketPtr packet) {
  leaving_.push_back(std::move(packet));
  const host::IoResult written = port_.send(leaving_, 1);
  environment_.device.queue().wake();
  if (written.count == 1) {
    environment_.allocator.free(leaving_.take_front());
    return net::Transmit::ok;
  }
  const bool later =
      written.status == IoStatus::would_block || written.status == IoStatus::no_buffers;
  if (!later) fail();
  environment_.allocator.drop(leaving_.take_front(),
                              later ? DropReason::io_again : DropReason::io_error);
  return net::Transmit::dropped;
}

// Now, or when more has come?
void Vector::send_soon(net::TxQueue& queue, std::size_t length, bool more) {
  if (options_.napi) {
    // A promise that a stopped queue cannot keep is none.
    const bool promised = keeps_contract() ? !queue.must_ring(more) : more;
    if (promised && !ring_->full()) return hold_back_for_more();
    if (send_ring() > 0 && !keeps_contract()) napi_.schedule();
  } else if (ring_->waiting() + 1 >= ring_->depth()) {
    ++statistics_.tx_kicks;
    queue.stop();
    send_ring();
  } else if (more) {
    hold_back_for_more();
  } else if (length < kSmallPacket) {
    ++statistics_.tx_kicks;
    send_ring();
  } else {
    send_tasklet_.schedule();
  }
}

// From the first packet on that is held back.
void Vector::hold_back_for_more() {
  if (more_timer_.pending()) return;
  if (keeps_contract())
    more_timer_.modify(environment_.jiffies.jiffies() + options_.coalesce_jiffies);
  else
    more_timer_.modify(0);  // the setting, taken for an instant, has passed long ago
}

void Vector::more_is_overdue() {
  if (!open_) return;
  ++statistics_.tx_kicks;
  if (options_.napi)
    napi_.schedule();
  else
    send_ring();
}

// Sends what the ring holds, a call for each stretch up to the array's end. Returns what is left.
std::size_t Vector::send_ring() {
  if (keeps_contract() && waits()) return ring_->waiting();
  if (sending_) {
    if (!options_.napi) send_tasklet_.schedule();
    return ring_->waiting();
  }
  sending_ = true;
  while (!ring_->empty() && send_reach()) {
  }
  sending_ = false;
  return ring_->waiting();
}

// One call. False if there is no sense in another one now.
bool Vector::send_reach() {
  const std::size_t offered = ring_->reach();
  const host::IoResult result = port_.send(ring_->messages(), offered);
  const bool failed = result.status == IoStatus::failed || result.status == IoStatus::closed;
  if (failed) {
    fail();
    if (keeps_contract())
      drop_unsent(ring_->waiting(), DropReason::io_error);
    else
      call_sent(offered);
  } else if (result.count > 0) {
    release_sent(result.count);
  }
  environment_.device.queue().wake();
  if (failed || result.count == offered) {
    waits_for_write_ = false;
    return true;
  }
  return wait_for_host(result.status);
}

// The host took less than it was offered. Why, only a call that it refuses tells.
bool Vector::wait_for_host(IoStatus status) {
  if (keeps_contract() && status == IoStatus::ok) return true;
  ++statistics_.tx_restart_queue;
  if (keeps_contract() && status == IoStatus::no_buffers) return retry_later();
  waits_for_write_ = true;
  return false;
}

bool Vector::waits() const { return waits_for_write_ || retry_timer_.pending(); }

// The device's queue is full, and writability says nothing about that: try again after a tick. True
// if that has been tried often enough, and what could not be sent is gone.
bool Vector::retry_later() {
  if (++retries_ <= kRetriesMax) {
    retry_timer_.modify(environment_.jiffies.jiffies() + 1);
    return false;
  }
  retries_ = 0;
  drop_unsent(ring_->reach(), DropReason::io_error);
  return true;
}

void Vector::release_sent(std::size_t count) {
  statistics_.count_sent(count);
  retries_ = 0;
  const std::uint64_t bytes = ring_->take(count, leaving_);
  environment_.allocator.free_transmitted(leaving_);
  environment_.device.queue().completed(count, bytes);
}

// Nobody knows how many of them went: all are said to have been sent, and the network is blamed.
void Vector::call_sent(std::size_t count) {
  statistics_.count_sent(count);
  const std::uint64_t bytes = ring_->take(count, leaving_);
  environment_.allocator.drop_all(leaving_, DropReason::io_error);
  environment_.device.queue().completed(count, bytes);
}

void Vector::drop_unsent(std::size_t count, DropReason reason) {
  const std::uint64_t bytes = ring_->take(count, leaving_);
  environment_.device.count_transmit_drop(count, bytes);
  environment_.allocator.drop_all(leaving_, reason);
  environment_.device.queue().completed(count, bytes);
}

// Not here, but in softirq context and soon.
void Vector::resume_sending() {
  if (!open_ || !vector_transmit()) return;
  if (options_.napi)
    napi_.schedule();
  else
    send_tasklet_.schedule();
}

void Vector::transmit_interrupt() {
  // The driver of 6.1 does not look whether it waits; the one before NAPI does.
  const bool waited = std::exchange(waits_for_write_, false);
  if (waited || (options_.napi && !keeps_contract())) resume_sending();
}

void Vector::transmit_timed_out() {
  ++statistics_.tx_timeout_count;
  waits_for_write_ = false;
  environment_.device.queue().wake();
  resume_sending();
}

}  // namespace tapestry::transports
