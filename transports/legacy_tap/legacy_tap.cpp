#include "transports/legacy_tap/legacy_tap.hpp"

#include <utility>

#include "transports/close_later.hpp"

namespace tapestry::transports {

using core::DropReason;
using host::IoStatus;

LegacyTap::LegacyTap(DriverEnvironment environment, host::PacketIo& tap)
    : environment_(environment),
      tap_(tap),
      line_(environment.interrupts.add_line(environment.device.name(), irq::Trigger::edge, *this)),
      one_(1) {}

void LegacyTap::open() {
  open_ = true;
  broken_ = false;
  tap_.listen(this);
  // Frames that came before anybody listened give no edge: look at once.
  line_.raise();
}

void LegacyTap::close() {
  open_ = false;
  tap_.listen(nullptr);
}

net::Transmit LegacyTap::transmit(core::PacketPtr& packet, net::TxQueue& queue) {
  queue.stop();
  one_.push_back(std::move(packet));
  const host::IoResult written = tap_.send(one_, 1);
  queue.start();
  if (written.count == 1) {
    environment_.allocator.free(one_.take_front());
    return net::Transmit::ok;
  }
  const bool full = written.status == IoStatus::would_block;
  environment_.allocator.drop(one_.take_front(),
                              full ? DropReason::io_again : DropReason::io_error);
  return net::Transmit::dropped;
}

void LegacyTap::transmit_timed_out() { environment_.device.queue().wake(); }

void LegacyTap::interrupt() {
  if (!open_) return;
  while (receive_one()) {
  }
}

// Without memory the frame is read into a sink.
bool LegacyTap::receive_one() {
  host::ReceiveSlot slot{.packet = environment_.allocator.allocate(),
                         .capacity = environment_.device.mtu_bytes() + kEthernetHeader};
  const bool sink = !slot.packet;
  const host::IoResult read = tap_.receive({&slot, 1});
  if (read.count == 0) {
    if (read.status != IoStatus::would_block) give_up();
    if (!sink) environment_.allocator.free(std::move(slot.packet));
    return false;
  }
  if (sink)
    environment_.device.count_receive_drop();
  else
    environment_.device.receive_later(std::move(slot.packet));
  return true;
}

void LegacyTap::give_up() {
  if (std::exchange(broken_, true)) return;
  close_later(environment_.device);
}

}  // namespace tapestry::transports
