// The vector driver's way in.
//
// The header in front of a frame tells of an unfinished or verified checksum and of segmentation;
// the header of these transports is never wrong, so nothing is ever counted as an encapsulation
// error.
#include <algorithm>
#include <utility>

#include "transports/vector/vector.hpp"

namespace tapestry::transports {

void Vector::receive_interrupt() {
  if (!open_) return;
  if (options_.napi)
    napi_.schedule();
  else
    receive_all();
}

// Before NAPI: everything in the interrupt handler, up to a number of rounds. What is left after
// them interrupts once more.
void Vector::receive_all() {
  for (int round = 0; round <= kReceiveRounds; ++round)
    if (receive(options_.depth) == 0) return;
  receive_line_.raise();
}

// One call to the host, at most `most` frames; one without vectors. That the far side is closed is
// no error here: it reads as nothing.
std::size_t Vector::receive(std::size_t most) {
  if (!vector_receive()) return receive_one();
  const auto slots = slots_->ready(std::min(most, slots_->depth()), buffer_bytes());
  const host::IoResult result = port_.receive(slots);
  if (result.status == host::IoStatus::failed) fail();
  if (result.count == 0) return 0;
  statistics_.count_received(result.count);
  for (host::ReceiveSlot& slot : slots.first(result.count))
    hand_up(slot);
  return result.count;
}

std::size_t Vector::receive_one() {
  const std::size_t capacity = buffer_bytes();
  host::ReceiveSlot slot{
      .packet = environment_.allocator.allocate(core::Origin::host_copy, capacity),
      .capacity = capacity};
  const host::IoResult result = port_.receive({&slot, 1});
  if (result.status == host::IoStatus::failed) fail();
  if (result.count == 0) {
    if (slot.packet) environment_.allocator.free(std::move(slot.packet));
    return 0;
  }
  hand_up(slot);
  return 1;
}

void Vector::hand_up(host::ReceiveSlot& slot) {
  if (!slot.packet) return environment_.device.count_receive_drop();
  if (slot.packet->checksum == core::ChecksumState::unnecessary) ++statistics_.rx_csum_offload_good;
  if (options_.napi)
    environment_.device.receive(std::move(slot.packet), &napi_);
  else
    environment_.device.receive_later(std::move(slot.packet));
}

std::size_t Vector::buffer_bytes() const {
  if (options_.gro) return kMergedBuffer;
  return environment_.device.mtu_bytes() + kEthernetHeader + kHeadroom + kSafetyMargin;
}

}  // namespace tapestry::transports
