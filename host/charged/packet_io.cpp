#include "host/charged/packet_io.hpp"

#include <algorithm>

namespace tapestry::host::charged {

PacketIo::PacketIo(host::PacketIo& inner, sched::Scheduler& guest, sched::Scheduler& host,
                   HostCall::From from)
    : inner_(inner), guest_(guest), host_(host), from_(from) {}

IoResult PacketIo::send(const core::PacketBatch& batch, std::size_t count) {
  HostCall call(guest_, host_, from_);
  const IoResult result = inner_.send(batch, count);
  ++figures_.send_calls;
  figures_.send_frames += result.count;
  guest_.hub().timeline().tell(core::Happening::batch_sent, 0, result.count);
  figures_.send_sizes.add(result.count);
  for (std::size_t i = 0; i < result.count; ++i)
    figures_.send_bytes += batch[i].length();
  switch (result.status) {
    case IoStatus::ok:
      if (result.count < std::min(count, batch.size())) ++figures_.partial_sends;
      break;
    case IoStatus::would_block:
      ++figures_.send_would_block;
      break;
    case IoStatus::no_buffers:
      ++figures_.send_no_buffers;
      break;
    case IoStatus::closed:
    case IoStatus::failed:
      ++figures_.send_failed;
      break;
  }
  call.finish();
  return result;
}

IoResult PacketIo::receive(std::span<ReceiveSlot> slots) {
  HostCall call(guest_, host_, from_);
  const IoResult result = inner_.receive(slots);
  ++figures_.receive_calls;
  if (result.status == IoStatus::would_block) ++figures_.empty_receives;
  figures_.receive_frames += result.count;
  guest_.hub().timeline().tell(core::Happening::batch_received, 0, result.count);
  figures_.receive_sizes.add(result.count);
  for (const ReceiveSlot& slot : slots.first(result.count)) {
    figures_.receive_bytes += slot.length;
    if (slot.truncated) ++figures_.truncated_frames;
  }
  call.finish();
  return result;
}

void PacketIo::watch_writable(bool wanted) {
  HostCall call(guest_, host_, from_);
  inner_.watch_writable(wanted);
  call.finish();
}

}  // namespace tapestry::host::charged
