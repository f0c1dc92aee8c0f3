#include "host/virtqueue/guest_memory.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"

namespace tapestry::host::virtqueue {

GuestMemory::GuestMemory(core::Timeline& timeline, std::size_t buffers)
    : timeline_(timeline), buffers_(buffers) {}

GuestMemory::~GuestMemory() {
  for (Buffer& buffer : buffers_) {
    if (!buffer.packet) continue;
    if (buffer.packet->length() == 0)
      core::consume(std::move(buffer.packet));
    else
      core::drop(std::move(buffer.packet), core::DropReason::run_end);
  }
}

void GuestMemory::map(std::size_t buffer, core::PacketPtr packet, std::uint32_t bytes) {
  require_settled();
  TAPESTRY_ASSERT(buffer < buffers_.size() && buffers_[buffer].bytes == 0,
                  "a buffer is mapped once at a time");
  TAPESTRY_ASSERT(bytes >= 1 && bytes <= kBufferBytesMax, "a buffer is at most 1 MiB long");
  buffers_[buffer].packet = std::move(packet);
  buffers_[buffer].bytes = bytes;
  buffers_[buffer].num_buffers = 1;
}

core::PacketPtr GuestMemory::unmap(std::size_t buffer) {
  require_settled();
  TAPESTRY_ASSERT(buffers_[buffer].bytes != 0, "what is unmapped was mapped");
  buffers_[buffer].bytes = 0;
  return std::move(buffers_[buffer].packet);
}

std::uint64_t GuestMemory::write_table(std::size_t buffer, std::span<const Descriptor> entries) {
  require_settled();
  TAPESTRY_ASSERT(entries.size() <= kTableEntries, "a table is bounded");
  if (!tables_) {
    tables_ = std::make_unique<Descriptor[]>(buffers_.size() * kTableEntries);
    table_used_.resize(buffers_.size());
  }
  std::copy(entries.begin(), entries.end(), &tables_[buffer * kTableEntries]);
  table_used_[buffer] = static_cast<std::uint8_t>(entries.size());
  return kTableBit | address_of(buffer);
}

bool GuestMemory::find(std::uint64_t address, Place& found) const {
  require_settled();
  const std::uint64_t region = address >> kRegionBits;
  if (region == 0 || region > buffers_.size()) return false;
  const Buffer& buffer = buffers_[region - 1];
  const auto offset = static_cast<std::uint32_t>(address & (kBufferBytesMax - 1));
  if (offset >= buffer.bytes) return false;
  found = {static_cast<std::size_t>(region - 1), offset, buffer.bytes - offset};
  return true;
}

std::span<const Descriptor> GuestMemory::table(std::uint64_t address, std::uint32_t bytes) const {
  require_settled();
  if ((address & kTableBit) == 0 || !tables_) return {};
  const std::uint64_t plain = address ^ kTableBit;
  const std::uint64_t region = plain >> kRegionBits;
  const bool begins_there = (plain & (kBufferBytesMax - 1)) == 0;
  if (!begins_there || region == 0 || region > buffers_.size()) return {};
  const std::size_t buffer = region - 1;
  const std::size_t entries = bytes / kDescriptorBytes;
  if (bytes % kDescriptorBytes != 0 || entries > table_used_[buffer]) return {};
  return {&tables_[buffer * kTableEntries], entries};
}

GuestMemory::Buffer& GuestMemory::buffer(std::size_t number) {
  require_settled();
  return buffers_[number];
}

}  // namespace tapestry::host::virtqueue
