#include "transports/nic/moderation.hpp"

#include <algorithm>

namespace tapestry::transports {

bool Moderation::update(std::uint64_t now_jiffies) {
  transmit_.update(now_jiffies, usecs_);
  receive_.update(now_jiffies, usecs_);
  const Direction& quicker = transmit_.rank() < receive_.rank() ? transmit_ : receive_;
  if (quicker.usecs == usecs_) return false;
  usecs_ = quicker.usecs;
  return true;
}

// Nothing for more than a tick: either so little comes, or so much that polling goes on without
// interrupts. Neither says anything about moderation.
void Moderation::Direction::update(std::uint64_t now_jiffies, std::uint32_t present_usecs) {
  if (now_jiffies > next_update) {
    usecs = kUsecsMin;
    latency = true;
  } else {
    decide(present_usecs);
  }
  next_update = now_jiffies + 1;
  packets = bytes = 0;
}

void Moderation::Direction::decide(std::uint32_t present_usecs) {
  const std::uint32_t longer = std::min(present_usecs + kStepUsecs, kUsecsMax);
  if (packets == 0) {
    usecs = longer;  // whether it was for latency stays
  } else if (packets < 4 && bytes < 9000) {
    by_size(true);
  } else if (packets < 48) {
    usecs = longer;
    latency = false;
  } else if (packets < 96) {
    usecs = present_usecs;
    latency = false;
  } else if (packets < 256) {
    usecs = std::max(present_usecs / 2, kUsecsMin);
    latency = false;
  } else {
    by_size(false);
  }
}

// In 256ths of a microsecond, a line for each range of sizes: 170 x (size + 24) / (size + 640).
void Moderation::Direction::by_size(bool for_latency) {
  const std::uint64_t size = bytes / packets;
  std::uint64_t time = 32'256;
  if (size <= 60)
    time = 5'120;
  else if (size <= 316)
    time = size * 40 + 2'720;
  else if (size <= 1'084)
    time = size * 15 + 11'452;
  else if (size < 1'968)
    time = size * 5 + 22'420;
  if (for_latency) time /= 2;
  constexpr std::uint64_t kStep = kStepUsecs * 256;
  usecs = static_cast<std::uint32_t>((time + kStep - 1) / kStep * kStepUsecs);
  latency = for_latency;
}

}  // namespace tapestry::transports
