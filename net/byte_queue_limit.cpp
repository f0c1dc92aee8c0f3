#include "net/byte_queue_limit.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace tapestry::net {

namespace {

// a - b, or 0 if b is ahead.
std::uint32_t beyond(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t difference = a - b;
  return static_cast<std::int32_t>(difference) > 0 ? difference : 0;
}

}  // namespace

void ByteQueueLimit::queued(std::uint32_t bytes) {
  TAPESTRY_ASSERT(bytes <= kObjectMax, "what a driver queues at once is bounded");
  last_object_ = bytes;
  queued_ += bytes;
}

// Starved: more was wanted in this interval and nothing is left, or more was wanted in the previous
// one and everything queued then is done, so that the queue may have been empty in between.
void ByteQueueLimit::completed(std::uint32_t bytes, std::uint64_t now_jiffies) {
  TAPESTRY_ASSERT(bytes <= in_flight_bytes(), "no more is completed than was queued");
  const std::uint32_t completed_after = completed_ + bytes;
  const std::uint32_t in_flight_after = queued_ - completed_after;
  const std::uint32_t older_in_flight = queued_then_ - completed_;
  const std::uint32_t completed_beyond = beyond(completed_after, queued_then_);
  std::uint32_t over_limit = beyond(in_flight_bytes(), limit_);

  std::uint32_t limit = limit_;
  if ((over_limit != 0 && in_flight_after == 0) ||
      (over_limit_then_ != 0 && completed_beyond != 0)) {
    limit = raised_limit(completed_beyond, now_jiffies);
  } else if (in_flight_after != 0 && older_in_flight != 0 && completed_beyond == 0) {
    limit = lowered_limit(bytes, now_jiffies);
  }
  limit = std::min(limit, kLimitMax);
  if (limit != limit_) {
    limit_ = limit;
    over_limit = 0;
  }
  ceiling_ = limit + completed_after;
  over_limit_then_ = over_limit;
  last_object_then_ = last_object_;
  completed_ = completed_after;
  queued_then_ = queued_;
}

std::uint32_t ByteQueueLimit::raised_limit(std::uint32_t completed_beyond,
                                           std::uint64_t now_jiffies) {
  slack_since_ = now_jiffies;
  lowest_slack_ = UINT32_MAX;
  return limit_ + completed_beyond + over_limit_then_;
}

// The driver was busy for the whole interval. The excess is what the limit holds above twice the
// bytes that one interval completes, but not less than the part of the last object below the limit.
std::uint32_t ByteQueueLimit::lowered_limit(std::uint32_t completed_now,
                                            std::uint64_t now_jiffies) {
  const std::uint32_t slack = beyond(limit_ + over_limit_then_, 2 * completed_now);
  const std::uint32_t last_object_slack =
      over_limit_then_ != 0 ? beyond(last_object_then_, over_limit_then_) : 0;
  lowest_slack_ = std::min(lowest_slack_, std::max(slack, last_object_slack));
  if (now_jiffies <= slack_since_ + hold_jiffies_) return limit_;
  const std::uint32_t limit = beyond(limit_, lowest_slack_);
  slack_since_ = now_jiffies;
  lowest_slack_ = UINT32_MAX;
  return limit;
}

void ByteQueueLimit::reset(std::uint64_t now_jiffies) {
  limit_ = 0;
  queued_ = completed_ = last_object_ = 0;
  queued_then_ = over_limit_then_ = last_object_then_ = 0;
  lowest_slack_ = UINT32_MAX;
  slack_since_ = now_jiffies;
}

}  // namespace tapestry::net
