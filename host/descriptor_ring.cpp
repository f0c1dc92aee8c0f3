#include "host/descriptor_ring.hpp"

#include <bit>

namespace tapestry::host {

DescriptorRing::DescriptorRing(core::Timeline& timeline, std::size_t size)
    : timeline_(timeline), slots_(new Descriptor[size]), mask_(size - 1) {
  TAPESTRY_ASSERT(size >= kSizeMin && size <= kSizeMax && std::has_single_bit(size),
                  "a ring has a power of two of descriptors, 8 to 4096");
}

void DescriptorRing::drop_all(core::DropReason reason) {
  for (; tail_ != head_; ++tail_) {
    Descriptor& descriptor = slots_[tail_ & mask_];
    if (descriptor.packet) core::drop(std::move(descriptor.packet), reason);
  }
}

}  // namespace tapestry::host
