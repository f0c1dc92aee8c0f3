#include "net/socket_body.hpp"

#include <utility>

#include "net/socket_memory.hpp"
#include "net/stack.hpp"

namespace tapestry::net {

namespace {

// The smallest packet counts 768 bytes, so that packets are bounded by the receive buffer, which is
// bounded by 32 bits; beyond that the pool of packets ends first.
constexpr std::size_t kPacketsMax = UINT32_MAX / socket_memory_bytes(0);

}  // namespace

SocketBody::SocketBody(Stack& stack, std::uint32_t receive_buffer, std::uint32_t send_buffer)
    : stack_(&stack),
      queue_(kPacketsMax),
      receive_buffer_(receive_buffer),
      send_buffer_(send_buffer) {}

void SocketBody::close() {
  queue_.drop_all(core::DropReason::queue_purge);
  receive_memory_ = 0;
  stack_ = nullptr;
  end_if_unused();
}

void SocketBody::end_if_unused() {
  if (stack_ == nullptr && send_memory_ == 0 && holds_ == 0) delete this;
}

// --- sending -------------------------------------------------------------------------------------

SocketStatus SocketBody::wait_for_send_space(bool nonblocking) {
  stack_->cpu().settle();
  if (may_send()) [[likely]]
    return SocketStatus::ok;
  if (nonblocking) return SocketStatus::would_block;
  writers_.wait(stack_->scheduler(), [this] { return may_send(); });
  return SocketStatus::ok;
}

void SocketBody::account(core::Packet& packet) {
  const std::uint32_t bytes = socket_memory_bytes(packet.length());
  packet.set_owner(*this, bytes);
  send_memory_ += bytes;
}

// Packets also end while a world is taken down, when nobody is to be woken any more.
void SocketBody::packet_released(std::uint32_t bytes) {
  send_memory_ -= bytes;
  if (stack_ == nullptr) {
    end_if_unused();
    return;
  }
  if (!writers_.anyone_waits() || 2 * std::uint64_t{send_memory_} > send_buffer_) return;
  if (stack_->scheduler().hub().cancelling()) return;
  const Hold hold(*this);
  writers_.wake_all(stack_->cpu());
}

bool SocketBody::wait_writable(core::Instant deadline) {
  stack_->cpu().settle();
  if (writable()) return true;
  if (deadline <= stack_->timeline().now()) return false;
  return writers_.wait_until(stack_->scheduler(), deadline, [this] { return writable(); });
}

// --- receiving -----------------------------------------------------------------------------------

bool SocketBody::enqueue(core::PacketPtr& packet) {
  Stack& stack = *stack_;
  stack.timeline().require_settled("a socket's receive queue");
  if (receive_memory_ > receive_buffer_) return false;
  receive_memory_ += socket_memory_bytes(packet->length());
  packet->stamp = stack.timeline().now();
  packet->reach(core::Milestone::socket_queued);
  const bool pushed = queue_.push(std::move(packet));
  TAPESTRY_ASSERT(pushed, "a receive buffer bounds its packets");
  const bool someone_waits = readers_.anyone_waits();
  stack.cpu().charge(sched::Work::socket_enqueue);
  if (someone_waits) {
    const Hold hold(*this);
    readers_.wake_one(stack.cpu());
  }
  return true;
}

core::PacketPtr SocketBody::take(core::Instant deadline, SocketStatus& status) {
  sched::Scheduler& scheduler = stack_->scheduler();
  scheduler.cpu().settle();
  if (queue_.empty()) {
    const bool wait = deadline > stack_->timeline().now();
    status = wait ? SocketStatus::timed_out : SocketStatus::would_block;
    if (!wait || !wait_readable(deadline)) return {};
  }
  status = SocketStatus::ok;
  core::PacketPtr packet = queue_.pop();
  receive_memory_ -= socket_memory_bytes(packet->length());
  return packet;
}

bool SocketBody::wait_readable(core::Instant deadline) {
  stack_->cpu().settle();
  if (readable()) return true;
  if (deadline <= stack_->timeline().now()) return false;
  return readers_.wait_until(stack_->scheduler(), deadline, [this] { return readable(); });
}

}  // namespace tapestry::net
