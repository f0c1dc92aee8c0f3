// Byte queue limits (BQL): how many bytes a driver's queue may hold before the stack stops feeding
// it, found by watching (lib/dynamic_queue_limits.c).
//
// The limit starts at 0 and one object may always cross it. It is raised when the driver ran dry
// although the stack had been held back, by what was sent and completed meanwhile; it is lowered,
// at most once in a second, by the smallest excess that was seen in that second.
//
// Counters run over at 2^32 as in the kernel: only differences count.
#pragma once

#include <cstdint>

namespace tapestry::net {

class ByteQueueLimit {
 public:
  static constexpr std::uint32_t kObjectMax = UINT32_MAX / 16;             // DQL_MAX_OBJECT
  static constexpr std::uint32_t kLimitMax = UINT32_MAX / 2 - kObjectMax;  // DQL_MAX_LIMIT

  // `hold`: jiffies for which excess is watched before the limit is lowered, one second's worth.
  explicit ByteQueueLimit(std::uint64_t hold_jiffies) : hold_jiffies_(hold_jiffies) {}

  void queued(std::uint32_t bytes);
  // How many bytes more may be queued; below 0: over the limit.
  std::int32_t available() const { return static_cast<std::int32_t>(ceiling_ - queued_); }
  // Bytes that the driver is done with: no more than are queued.
  void completed(std::uint32_t bytes, std::uint64_t now_jiffies);
  // Forgets everything but, as the kernel, the ceiling, which the next completion sets anew.
  void reset(std::uint64_t now_jiffies);

  std::uint32_t limit_bytes() const { return limit_; }
  std::uint32_t in_flight_bytes() const { return queued_ - completed_; }

 private:
  std::uint32_t raised_limit(std::uint32_t completed_beyond, std::uint64_t now_jiffies);
  std::uint32_t lowered_limit(std::uint32_t completed_now, std::uint64_t now_jiffies);

  std::uint64_t hold_jiffies_;
  std::uint32_t queued_ = 0;     // ever
  std::uint32_t completed_ = 0;  // ever
  std::uint32_t limit_ = 0;
  std::uint32_t ceiling_ = 0;  // limit + completed: `queued_` may reach it
  std::uint32_t last_object_ = 0;
  // As of the previous completion:
  std::uint32_t queued_then_ = 0;
  std::uint32_t over_limit_then_ = 0;
  std::uint32_t last_object_then_ = 0;
  std::uint32_t lowest_slack_ = UINT32_MAX;  // since slack_since_
  std::uint64_t slack_since_ = 0;            // jiffies
};

}  // namespace tapestry::net
