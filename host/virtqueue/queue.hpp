// The two sides of a virtqueue, whatever its layout: a driver makes buffers available, a device
// uses them up and gives them back, in any order.
//
// All functions need a caller that owes nothing, since the ring is memory that both sides see.
// Suppressing notifications is advice: whoever asks for them again must look once more, because
// what was added in between was never told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/packet.hpp"
#include "host/virtqueue/faults.hpp"

namespace tapestry::host::virtqueue {

enum class Access : std::uint8_t {
  device_reads,  // transmit
  device_writes  // receive
};

struct QueueOptions {
  bool event_index = true;  // VIRTIO_F_EVENT_IDX: both sides say from which entry on to be told
  bool indirect = false;    // VIRTIO_F_INDIRECT_DESC: a buffer of several pieces takes one entry
  bool in_order = false;    // VIRTIO_F_IN_ORDER: buffers come back in the order they were added
};

class DriverSide {
 public:
  virtual ~DriverSide() = default;

  virtual std::size_t size() const = 0;
  // Free descriptors. A buffer takes one for each piece, or one in all with indirect tables.
  virtual std::size_t unused() const = 0;

  // virtqueue_add_*buf: makes a buffer available whose parts have these lengths in bytes, none of
  // them 0. The header's bytes count as part of the first. False, with the packet still the
  // caller's, if there are not enough descriptors or the queue is broken.
  virtual bool add(core::PacketPtr& packet, std::span<const std::uint32_t> pieces,
                   Access access) = 0;
  // virtqueue_kick_prepare: does the device want to be told of what was added since the last call?
  virtual bool kick_prepare() = 0;

  struct Completed {
    core::PacketPtr packet;
    std::uint32_t bytes;        // that the device wrote, the header included
    std::uint16_t num_buffers;  // that one frame is spread over, by its header
  };
  virtual bool has_used() const = 0;                 // more_used
  virtual std::optional<Completed> take_used() = 0;  // virtqueue_get_buf

  virtual void disable_callbacks() = 0;
  // virtqueue_enable_cb_prepare and virtqueue_poll: asks for an interrupt, then says later whether
  // anything was used since.
  virtual std::uint16_t enable_callbacks_prepare() = 0;
  virtual bool used_since(std::uint16_t prepared) const = 0;
  // virtqueue_enable_cb: false if the ring must be looked at again.
  bool enable_callbacks() { return !used_since(enable_callbacks_prepare()); }
  // virtqueue_enable_cb_delayed: asks for an interrupt when three quarters of what is outstanding
  // have been used; false if they have been already.
  virtual bool enable_callbacks_delayed() = 0;

  // For a driver that closes: a buffer that the device still has, whatever it wanted with it. The
  // device has been stopped.
  virtual core::PacketPtr take_back() = 0;  // empty: there is none
  virtual bool broken() const = 0;
  virtual const Faults& faults() const = 0;
};

class DeviceSide {
 public:
  virtual ~DeviceSide() = default;

  struct Chain {
    std::uint16_t head = 0;     // what names it when it is used: its first descriptor, or its id
    std::uint16_t entries = 1;  // of the ring that it takes; told apart by a packed ring alone
    std::uint32_t readable_bytes = 0;
    std::uint32_t writable_bytes = 0;
    std::size_t buffer = 0;  // in the guest's memory
  };

  virtual std::size_t size() const = 0;
  // Is nothing available that the device has not looked at?
  virtual bool drained() const = 0;
  // The next available buffer; nothing if there is none or the queue is broken.
  virtual std::optional<Chain> next() = 0;
  // The last chain that `next` returned goes back to be looked at again (vhost_discard_vq_desc).
  virtual void put_back(const Chain& chain) = 0;
  // The packet of a chain, for as long as the device works on it.
  virtual core::PacketPtr take_packet(const Chain& chain) = 0;
  virtual void give_packet(const Chain& chain, core::PacketPtr packet) = 0;
  virtual void set_num_buffers(const Chain& chain, std::uint16_t buffers) = 0;

  // Writes a used entry; the driver sees it with the next `publish`.
  virtual void use(const Chain& chain, std::uint32_t written_bytes) = 0;
  virtual void publish() = 0;
  // Does the driver want an interrupt for what was published since the last call?
  virtual bool must_interrupt() = 0;

  virtual void disable_notifications() = 0;
  // False if more was made available meanwhile: then nobody will tell, look again.
  virtual bool enable_notifications() = 0;

  virtual bool broken() const = 0;
  virtual const Faults& faults() const = 0;
};

}  // namespace tapestry::host::virtqueue
