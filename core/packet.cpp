#include "core/packet.hpp"

#include <algorithm>
#include <cstring>

namespace tapestry::core {

std::span<std::uint8_t> Packet::put(std::size_t n) {
  TAPESTRY_ASSERT(n <= tailroom(), "the bytes fit the area, and no payload is in the way");
  const std::span<std::uint8_t> added{area_.data() + back_, n};
  back_ = static_cast<std::uint16_t>(back_ + n);
  return added;
}

void Packet::append_payload(PayloadRef payload) {
  TAPESTRY_ASSERT(payload, "there is payload to append");
  const std::size_t length = payload.length();
  payload_length_ += static_cast<std::uint32_t>(length);
  if (fragment_count_ != 0) {
    PayloadRef& last = fragments_[first_fragment_ + fragment_count_ - 1u];
    if (last.continues_with(payload)) {
      last.lengthen(length);
      return;
    }
  }
  TAPESTRY_ASSERT(fragment_count_ < kFragmentsMax, "a packet has a bounded number of fragments");
  if (first_fragment_ + fragment_count_ == kFragmentsMax) {
    std::move(fragments_.begin() + first_fragment_, fragments_.end(), fragments_.begin());
    first_fragment_ = 0;
  }
  fragments_[static_cast<std::size_t>(first_fragment_ + fragment_count_)] = std::move(payload);
  ++fragment_count_;
}

bool Packet::append_range(const Packet& from, std::size_t offset, std::size_t length) {
  TAPESTRY_ASSERT(&from != this, "a packet is appended to another one");
  TAPESTRY_ASSERT(offset <= from.length() && length <= from.length() - offset,
                  "the range lies inside the packet");
  const std::size_t linear =
      offset < from.linear_length() ? std::min(length, from.linear_length() - offset) : 0;
  const bool into_area = linear <= tailroom();

  // First see whether all of it can be had.
  std::size_t fragments_needed = linear != 0 && !into_area ? 1 : 0;
  std::size_t skip = offset + linear - std::min(offset + linear, from.linear_length());
  std::size_t payload = length - linear;
  const std::size_t payload_skip = skip;
  for (const PayloadRef& fragment : from.fragments()) {
    if (payload == 0) break;
    const std::size_t here = fragment.length() - std::min(skip, fragment.length());
    skip -= std::min(skip, fragment.length());
    if (here == 0) continue;
    ++fragments_needed;
    payload -= std::min(payload, here);
  }
  if (fragments_needed > fragments_left()) return false;
  PayloadRef copied;
  if (linear != 0 && !into_area) {
    copied = pool_->allocate_payload(linear);
    if (!copied) return false;
  }

  if (linear != 0) {
    const std::span<std::uint8_t> target = into_area ? put(linear) : copied.writable();
    std::memcpy(target.data(), from.data() + offset, linear);
    if (copied) append_payload(std::move(copied));
  }
  skip = payload_skip;
  payload = length - linear;
  for (const PayloadRef& fragment : from.fragments()) {
    if (payload == 0) break;
    const std::size_t start = std::min(skip, fragment.length());
    skip -= start;
    const std::size_t part = std::min(payload, fragment.length() - start);
    if (part == 0) continue;
    append_payload(fragment.slice(start, part));
    payload -= part;
  }
  return true;
}

void Packet::trim_to(std::size_t n) {
  TAPESTRY_ASSERT(n <= length(), "trimming does not lengthen");
  if (n <= linear_length()) {
    back_ = static_cast<std::uint16_t>(front_ + n);
    release_payload();
    return;
  }
  std::size_t keep = n - linear_length();
  payload_length_ = static_cast<std::uint32_t>(keep);
  std::size_t kept = 0;
  while (keep != 0) {
    PayloadRef& fragment = fragments_[first_fragment_ + kept++];
    if (fragment.length() > keep) fragment.shorten_to(keep);
    keep -= fragment.length();
  }
  for (std::size_t i = kept; i < fragment_count_; ++i)
    fragments_[first_fragment_ + i].reset();
  fragment_count_ = static_cast<std::uint8_t>(kept);
}

void Packet::truncate_to(std::size_t n) {
  TAPESTRY_ASSERT(n <= length(), "truncation does not lengthen");
  const std::uint64_t cut = length() - n;
  if (cut == 0) return;
  trim_to(n);
  const std::uint64_t lost = std::min(cut, weight_);
  weight_ -= lost;
  pool_->ledger_.count_truncated(lost);
}

void Packet::lose_front(std::size_t n) {
  if (n == 0) return;
  pull(n);
  const std::uint64_t lost = std::min<std::uint64_t>(n, weight_);
  weight_ -= lost;
  pool_->ledger_.count_truncated(lost);
}

bool Packet::gather_payload() {
  if (fragment_count_ <= 1) return true;
  PayloadRef block = pool_->allocate_payload(payload_length_);
  if (!block) return false;
  copy_out(linear_length(), block.writable());
  release_payload();
  append_payload(std::move(block));
  return true;
}

void Packet::copy_out(std::size_t offset, std::span<std::uint8_t> target) const {
  std::uint8_t* to = target.data();
  for_each_piece(offset, target.size(), [&to](std::span<const std::uint8_t> piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  });
}

void Packet::absorb_weight(PacketPtr other) {
  const std::uint64_t bytes = other->weight_;
  other->reach(Milestone::merged, id);
  consume(std::move(other), Outcome::merged);
  weight_ += bytes;
  pool_->ledger_.count_accounted(Origin::merging, bytes);
}

PacketPtr Packet::clone() const {
  PacketPtr copy = pool_->allocate(Origin::duplication);
  if (!copy) return copy;
  const std::uint64_t own_id = copy->id;
  const PacketMarks& own_marks = *this;
  static_cast<PacketMarks&>(*copy) = own_marks;
  copy->id = own_id;
  copy->front_ = front_;
  copy->back_ = back_;
  copy->mac_header_ = mac_header_;
  copy->network_header_ = network_header_;
  copy->transport_header_ = transport_header_;
  copy->checksum_start_ = checksum_start_;
  // Headers that were pulled lie in front of the front and are still wanted.
  const std::size_t first = std::min({front_, mac_header_, network_header_, transport_header_});
  std::memcpy(copy->area_.data() + first, area_.data() + first, back_ - first);
  for (const PayloadRef& fragment : fragments())
    copy->append_payload(fragment);
  copy->account(weight_);
  copy->reach(Milestone::cloned, id);
  return copy;
}

std::size_t Packet::memory_bytes() const {
  std::size_t bytes = sizeof(Packet);
  for (const PayloadRef& fragment : fragments())
    bytes += fragment.block_capacity();
  return bytes;
}

void Packet::make_headroom(std::size_t n) {
  TAPESTRY_ASSERT(n + linear_length() <= kAreaBytes, "headers fit the area");
  shift_area_right(kAreaBytes - back_);
}

void Packet::pull_payload(std::size_t n) {
  TAPESTRY_ASSERT(n <= length(), "no more is pulled than there is");
  const std::size_t from_payload = n - linear_length();
  front_ = back_;
  strip_payload_front(from_payload);
  for (std::uint16_t* mark : marks()) {
    if (*mark == kNoMark || *mark < back_) continue;
    const bool gone = static_cast<std::size_t>(*mark - back_) < from_payload;
    *mark = gone ? kNoMark : static_cast<std::uint16_t>(*mark - from_payload);
  }
}

void Packet::strip_payload_front(std::size_t n) {
  payload_length_ -= static_cast<std::uint32_t>(n);
  while (n != 0) {
    PayloadRef& first = fragments_[first_fragment_];
    const std::size_t part = std::min(n, first.length());
    first.remove_prefix(part);
    n -= part;
    if (first.length() != 0) return;
    first.reset();
    --fragment_count_;
    first_fragment_ =
        fragment_count_ == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(first_fragment_ + 1);
  }
}

// Moves everything up to the back, pulled headers included, so that marks keep their meaning.
void Packet::shift_area_right(std::size_t by) {
  std::memmove(area_.data() + by, area_.data(), back_);
  front_ = static_cast<std::uint16_t>(front_ + by);
  back_ = static_cast<std::uint16_t>(back_ + by);
  for (std::uint16_t* mark : marks()) {
    if (*mark != kNoMark) *mark = static_cast<std::uint16_t>(*mark + by);
  }
}

// Gives up the first `by` bytes of headroom, and the marks in it.
void Packet::shift_area_left(std::size_t by) {
  std::memmove(area_.data(), area_.data() + by, back_ - by);
  front_ = static_cast<std::uint16_t>(front_ - by);
  back_ = static_cast<std::uint16_t>(back_ - by);
  for (std::uint16_t* mark : marks()) {
    if (*mark != kNoMark) *mark = *mark < by ? kNoMark : static_cast<std::uint16_t>(*mark - by);
  }
}

bool Packet::make_linear_slowly(std::size_t n) {
  if (n > length() || n > kAreaBytes) return false;
  const std::size_t missing = n - linear_length();
  const std::size_t room = kAreaBytes - back_;
  if (missing > room) shift_area_left(missing - room);
  std::size_t left = missing;
  while (left != 0) {
    const PayloadRef& first = fragments_[first_fragment_];
    const std::size_t part = std::min(left, first.length());
    std::memcpy(area_.data() + back_, first.data(), part);
    back_ = static_cast<std::uint16_t>(back_ + part);
    strip_payload_front(part);
    left -= part;
  }
  return true;
}

}  // namespace tapestry::core
