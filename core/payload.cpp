#include "core/payload.hpp"

#include <algorithm>
#include <new>

namespace tapestry::core {

namespace {

// A slab is about this large, and holds at least one block: large enough that growing is rare,
// small enough that a world which sends little stays small.
constexpr std::size_t kSlabBytes = 128 * 1024;

constexpr std::align_val_t kAlignment{64};

}  // namespace

void PayloadPool::FreeAligned::operator()(std::byte* memory) const {
  ::operator delete(memory, kAlignment);
}

PayloadPool::PayloadPool(Bounds bounds) {
  for (std::size_t i = 0; i < kPayloadClasses; ++i)
    classes_[i].bound = bounds[i];
}

PayloadPool::~PayloadPool() {
  for (const Class& size : classes_) {
    TAPESTRY_ASSERT(size.used == 0, "the pool outlives everybody who holds payload");
  }
}

bool PayloadPool::grow(Class& size) {
  const auto size_class = static_cast<std::uint32_t>(&size - classes_.data());
  const std::size_t stride = sizeof(PayloadBlock) + kPayloadClassBytes[size_class];
  const std::size_t blocks =
      std::min(size.bound - size.made, std::max<std::size_t>(1, kSlabBytes / stride));
  if (blocks == 0) return false;
  auto* memory = static_cast<std::byte*>(::operator new(blocks* stride, kAlignment));
  slabs_.emplace_back(memory);
  for (std::size_t i = blocks; i-- > 0;) {
    size.free = new (memory + i * stride) PayloadBlock{this, size.free, 0, size_class};
  }
  size.made += blocks;
  return true;
}

}  // namespace tapestry::core
