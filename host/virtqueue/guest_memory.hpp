// The part of a guest's memory that one queue's descriptors point into.
//
// A bounded table of buffers stands for it, as many as the queue has descriptors. Buffer n begins
// at address (n + 1) << 20 and is as long as its owner says, at most 1 MiB; what lies between two
// buffers is not mapped. Beside it may stand an indirect table, at the same address with bit 40
// set. An address is just a number: whoever reads a descriptor looks it up, and finds a buffer or
// nothing. So a hostile side can write any number it likes, and the worst that comes of it is a
// counted fault.
//
// A buffer holds one packet. To transmit, the bytes are those of a virtio header and then of the
// frame; to receive, the packet is empty and the length is the room for both. The header's bytes
// are not kept: what they say travels in the packet's marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/packet.hpp"
#include "core/timeline.hpp"

namespace tapestry::host::virtqueue {

// As in the ring: 16 bytes (VIRTIO 1.2, 2.7.5).
struct Descriptor {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint16_t flags = 0;
  std::uint16_t next = 0;
};

inline constexpr std::uint32_t kDescriptorBytes = 16;
inline constexpr std::uint16_t kFlagNext = 1;      // VIRTQ_DESC_F_NEXT
inline constexpr std::uint16_t kFlagWrite = 2;     // VIRTQ_DESC_F_WRITE: for the device to write
inline constexpr std::uint16_t kFlagIndirect = 4;  // VIRTQ_DESC_F_INDIRECT

class GuestMemory {
 public:
  static constexpr unsigned kRegionBits = 20;
  static constexpr std::uint32_t kBufferBytesMax = 1u << kRegionBits;
  static constexpr std::uint64_t kTableBit = std::uint64_t{1} << 40;
  // Pieces of one buffer: a header, the linear part, and 18 payload ranges of a packet.
  static constexpr std::size_t kTableEntries = 2 + core::Packet::kFragmentsMax;

  struct Buffer {
    core::PacketPtr packet;         // empty while whoever serves the queue has taken it out
    std::uint32_t bytes = 0;        // mapped length; 0: not mapped
    std::uint16_t num_buffers = 1;  // the one field of the header that no mark has
  };
  struct Place {
    std::size_t buffer;    // its number
    std::uint32_t offset;  // of the address, from the buffer's begin
    std::uint32_t left;    // bytes from there to the buffer's end
  };

  GuestMemory(core::Timeline& timeline, std::size_t buffers);
  ~GuestMemory();
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  std::size_t buffers() const { return buffers_.size(); }
  static std::uint64_t address_of(std::size_t buffer) {
    return static_cast<std::uint64_t>(buffer + 1) << kRegionBits;
  }

  // --- the guest's side -------------------------------------------------------------------------
  // `buffer` is not mapped; 1 .. kBufferBytesMax bytes.
  void map(std::size_t buffer, core::PacketPtr packet, std::uint32_t bytes);
  core::PacketPtr unmap(std::size_t buffer);  // empty if the other side never gave it back
  // Writes the indirect table of a buffer, at most kTableEntries, and returns its address.
  std::uint64_t write_table(std::size_t buffer, std::span<const Descriptor> entries);

  // --- either side ------------------------------------------------------------------------------
  // False if no mapped buffer holds that address.
  bool find(std::uint64_t address, Place& found) const;
  // The entries of an indirect table; empty if `address` and `bytes` are not exactly some of it.
  std::span<const Descriptor> table(std::uint64_t address, std::uint32_t bytes) const;
  Buffer& buffer(std::size_t number);

 private:
  void require_settled() const { timeline_.require_settled("memory that a guest shares"); }

  core::Timeline& timeline_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Descriptor[]> tables_;  // made when the first one is written
  std::vector<std::uint8_t> table_used_;  // entries written, by buffer
};

}  // namespace tapestry::host::virtqueue
