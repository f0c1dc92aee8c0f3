// Counted blocks of payload bytes.
//
// A retransmit queue, a clone, a capture and a segment share bytes instead of copying them. A block
// is written by the one who allocated it, and is immutable from the moment it is shared: asking for
// its bytes to write then asserts. Counts are plain integers: a world lives in one thread.
//
// Three size classes serve a frame, a receive buffer of merged frames, and the largest segment.
// Blocks are recycled last in, first out, so that copies find them in the cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/assert.hpp"

namespace tapestry::core {

class PayloadPool;

inline constexpr std::size_t kPayloadClasses = 3;
inline constexpr std::array<std::size_t, kPayloadClasses> kPayloadClassBytes{2048, 16384, 65536};
inline constexpr std::size_t kPayloadMaxBytes = kPayloadClassBytes.back();

// The head of a block; its bytes follow it, aligned to 64.
struct alignas(64) PayloadBlock {
  PayloadPool* pool;
  PayloadBlock* next_free;
  std::uint32_t references;
  std::uint32_t size_class;

  std::size_t capacity() const { return kPayloadClassBytes[size_class]; }
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
  std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

// A range of a block, and one reference to it. Copying shares.
class PayloadRef {
 public:
  PayloadRef() = default;
  PayloadRef(const PayloadRef& other)
      : block_(other.block_), offset_(other.offset_), length_(other.length_) {
    if (block_ != nullptr) ++block_->references;
  }
  PayloadRef(PayloadRef&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        offset_(other.offset_),
        length_(other.length_) {}
  PayloadRef& operator=(PayloadRef other) noexcept {
    std::swap(block_, other.block_);
    offset_ = other.offset_;
    length_ = other.length_;
    return *this;
  }
  ~PayloadRef() { reset(); }

  void reset() {
    if (block_ != nullptr && --block_->references == 0) recycle();
    block_ = nullptr;
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::size_t length() const { return length_; }
  const std::uint8_t* data() const { return block_->bytes() + offset_; }
  std::span<const std::uint8_t> bytes() const { return {data(), length_}; }

  // To fill it; only while nobody shares the block.
  std::span<std::uint8_t> writable() {
    TAPESTRY_ASSERT(block_->references == 1, "shared payload is immutable");
    return {block_->bytes() + offset_, length_};
  }

  // `length` bytes from `offset` of this range, sharing the block.
  PayloadRef slice(std::size_t offset, std::size_t length) const {
    TAPESTRY_ASSERT(offset <= length_ && length <= length_ - offset, "a slice lies inside");
    PayloadRef part(*this);
    part.offset_ += static_cast<std::uint32_t>(offset);
    part.length_ = static_cast<std::uint32_t>(length);
    return part;
  }

  // Marks only.
  void remove_prefix(std::size_t length) {
    TAPESTRY_ASSERT(length <= length_, "a prefix lies inside");
    offset_ += static_cast<std::uint32_t>(length);
    length_ -= static_cast<std::uint32_t>(length);
  }
  void shorten_to(std::size_t length) {
    TAPESTRY_ASSERT(length <= length_, "shortening does not lengthen");
    length_ = static_cast<std::uint32_t>(length);
  }

  // The bytes of `next` come right behind these, in the same block.
  bool continues_with(const PayloadRef& next) const {
    return block_ == next.block_ && offset_ + length_ == next.offset_;
  }
  void lengthen(std::size_t length) { length_ += static_cast<std::uint32_t>(length); }

  // Memory that the reference keeps alive.
  std::size_t block_capacity() const { return block_->capacity(); }

 private:
  friend class PayloadFiller;
  friend class PayloadPool;
  void write_unshared(std::size_t offset, std::span<const std::uint8_t> bytes) {
    std::memcpy(block_->bytes() + offset_ + offset, bytes.data(), bytes.size());
  }
  PayloadRef(PayloadBlock* block, std::size_t length)
      : block_(block), length_(static_cast<std::uint32_t>(length)) {}

  void recycle();

  PayloadBlock* block_ = nullptr;
  std::uint32_t offset_ = 0;
  std::uint32_t length_ = 0;
};

class PayloadPool {
 public:
  // Blocks that may exist, by size class. By default one small block for each packet that may live
  // (65,536 = 128 MiB), and as many bytes of each of the larger ones: 8,192 and 2,048.
  using Bounds = std::array<std::size_t, kPayloadClasses>;
  static constexpr Bounds kBoundsDefault{65536, 8192, 2048};

  explicit PayloadPool(Bounds bounds = kBoundsDefault);
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;
  ~PayloadPool();

  // A range of `length` bytes (1 to kPayloadMaxBytes) with undefined contents, in the smallest
  // block that holds it. Empty when that class is exhausted.
  PayloadRef allocate(std::size_t length) {
    TAPESTRY_ASSERT(length <= kPayloadMaxBytes, "payload fits the largest block");
    Class& size = classes_[length <= kPayloadClassBytes[0]   ? 0
                           : length <= kPayloadClassBytes[1] ? 1
                                                             : 2];
    if (size.free == nullptr && !grow(size)) [[unlikely]]
      return {};
    PayloadBlock* block = std::exchange(size.free, size.free->next_free);
    block->references = 1;
    ++size.used;
    return PayloadRef(block, length);
  }

  std::size_t blocks_in_use(std::size_t size_class) const { return classes_[size_class].used; }

 private:
  friend class PayloadRef;

  struct Class {
    PayloadBlock* free = nullptr;
    std::size_t used = 0;
    std::size_t made = 0;
    std::size_t bound = 0;
  };
  struct FreeAligned {
    void operator()(std::byte* memory) const;
  };

  bool grow(Class& size);
  void recycle(PayloadBlock* block) {
    Class& size = classes_[block->size_class];
    block->next_free = std::exchange(size.free, block);
    --size.used;
  }

  std::array<Class, kPayloadClasses> classes_;
  std::vector<std::unique_ptr<std::byte, FreeAligned>> slabs_;
};

// A block that is filled piece by piece: pieces that have been handed out are immutable, the bytes
// behind them are still the filler's (a socket's page fragment, sk_page_frag). Pieces that follow
// each other join when they are appended to one packet.
class PayloadFiller {
 public:
  // Takes a whole block that nobody shares.
  void start(PayloadRef block) {
    block_ = std::move(block);
    used_ = 0;
  }
  void reset() { block_.reset(); }
  // Bytes there is room for; 0 without a block.
  std::size_t left() const { return block_ ? block_.length() - used_ : 0; }

  // Copies the bytes in, at most as many as there is room for.
  PayloadRef fill(std::span<const std::uint8_t> bytes) {
    TAPESTRY_ASSERT(bytes.size() <= left(), "the bytes fit the block");
    PayloadRef piece = block_.slice(used_, bytes.size());
    block_.write_unshared(used_, bytes);
    used_ += bytes.size();
    return piece;
  }

 private:
  PayloadRef block_;
  std::size_t used_ = 0;
};

inline void PayloadRef::recycle() { block_->pool->recycle(block_); }

}  // namespace tapestry::core
