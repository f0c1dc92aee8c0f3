// The port between a driver and whatever carries its frames: a tap, a packet socket, a real
// descriptor.
//
// One call is one system call of the host. A port moves whole Ethernet frames, outermost header
// first, without any virtual header: what such a header would say (checksum state, segmentation)
// travels in the packet's marks if both sides agreed on one (`vnet_header`), and is lost otherwise.
//
// "Would block" is an outcome, not an error. Adapters: host/sim (simulated host), host/live
// (descriptors), host/charged (any of them, paid for). One contract test suite runs on all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/packet.hpp"

namespace tapestry::host {

struct IoCapabilities {
  bool multi_send = false;     // sendmmsg: more than one frame a call
  bool multi_receive = false;  // recvmmsg
  bool vnet_header =
      false;  // marks cross in both directions; the far side may send unfinished checksums
  bool transmit_checksum = false;      // takes frames with ChecksumState::partial
  bool transmit_segmentation = false;  // takes frames with gso_size, up to 65,535 bytes
};

enum class IoStatus : std::uint8_t {
  ok,           // `count` frames went through, perhaps fewer than asked
  would_block,  // nothing now; readiness will be told (EAGAIN)
  no_buffers,   // the device's queue is full; writability says nothing about it (ENOBUFS)
  closed,       // the far side is gone
  failed        // any other error; the frame or the call is lost
};

struct IoResult {
  IoStatus status = IoStatus::ok;
  std::size_t count = 0;  // frames moved; a status other than ok comes with 0
};

// A place for one received frame. The reader brings the packet (from its own allocator) and says
// how long its buffer is; a slot without a packet takes a frame and loses it, as an empty iov does.
struct ReceiveSlot {
  core::PacketPtr packet;
  std::size_t capacity = 0;  // bytes of buffer, whatever the packet could hold
  std::size_t length = 0;    // out: bytes stored
  bool truncated = false;    // out: the frame was longer; the rest is gone
};

// Told of every frame that has come, as a descriptor in edge-triggered mode (EPOLLET) and one with
// O_ASYNC are, also while earlier ones wait to be read. Called from any context of the host; may
// only latch and raise.
class ReadinessListener {
 public:
  virtual ~ReadinessListener() = default;
  virtual void readable() = 0;
  virtual void writable() = 0;
};

class PacketIo {
 public:
  virtual ~PacketIo() = default;

  virtual IoCapabilities capabilities() const = 0;

  // One call: copies the frames of a prefix of the batch, at most `count` of them (1 without
  // multi_send). The batch is the driver's and stays whole: it takes off and frees `result.count`
  // frames itself.
  virtual IoResult send(const core::PacketBatch& batch, std::size_t count) = 0;

  // One call: fills a prefix of the slots (1 without multi_receive).
  virtual IoResult receive(std::span<ReceiveSlot> slots) = 0;

  // At most one; null to detach. Edges that came before are not told again.
  virtual void listen(ReadinessListener* listener) = 0;
  // Ask for (or stop asking for) `writable` edges; `readable` ones always come.
  virtual void watch_writable(bool wanted) = 0;
};

}  // namespace tapestry::host
