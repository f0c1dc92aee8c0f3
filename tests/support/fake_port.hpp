// A packet port whose far side is a script: accepts so many frames, would block for a while, has no
// buffers for a while, fails, is closed. What was sent is kept; frames arrive when the test says
// so.
//
//   FakePort port(timeline, {.multi_send = true, .multi_receive = true});
//   port.accept_at_most(3);                      // the next call takes 3 frames
//   port.would_block_for(50us);                  // EAGAIN; then writable, to whoever asked and was
//   refused port.arrive_at(kStart + 10us, make_frame(pool, 1));
//
// Without a script every send is taken whole, and receives find what has arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.hpp"
#include "core/timeline.hpp"
#include "host/frame_copy.hpp"
#include "host/packet_io.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests {

class FakePort final : public host::PacketIo {
 public:
  static constexpr std::size_t kQueueBound = 1000;  // as a tap's

  struct Sent {
    std::vector<std::uint8_t> bytes;
    core::PacketMarks marks;
  };
  struct SendCall {
    core::Instant at;
    std::size_t offered;  // what the driver asked for, at most the batch
    host::IoResult result;
  };

  explicit FakePort(core::Timeline& timeline, host::IoCapabilities capabilities = {})
      : timeline_(timeline),
        capabilities_(capabilities),
        actor_(timeline.add_actor("fake port", core::Phase::device)) {}
  ~FakePort() override {
    arrived_.drop_all(core::DropReason::run_end);
    while (!on_the_way_.empty()) {
      core::drop(std::move(on_the_way_.front()), core::DropReason::run_end);
      on_the_way_.pop_front();
    }
  }

  // --- the script of sends: one step a call, in the order they were added
  // -------------------------
  void accept_at_most(std::size_t frames, std::size_t calls = 1) {
    for (std::size_t i = 0; i < calls; ++i)
      steps_.push_back({host::IoStatus::ok, frames});
  }
  void refuse_sends(host::IoStatus status, std::size_t calls = 1) {
    for (std::size_t i = 0; i < calls; ++i)
      steps_.push_back({status, 0});
  }
  // From now on for a span of time, whatever the script says. A port that would block tells the
  // driver when it is over, if that was refused meanwhile and wants to know; one without buffers
  // tells nobody.
  void would_block_for(core::Nanos span) { refuse_for(host::IoStatus::would_block, span); }
  void no_buffers_for(core::Nanos span) { refuse_for(host::IoStatus::no_buffers, span); }

  // --- arrivals
  // --------------------------------------------------------------------------------------- A frame
  // reaches the port now; beyond the bound it is dropped, as a full ring does.
  void arrive(core::PacketPtr frame) {
    if (!arrived_.push(std::move(frame))) {
      ++overflows_;
      core::drop(std::move(frame), core::DropReason::full_ring);
      return;
    }
    if (listener_ != nullptr) tell_readable();
  }
  // Calls must be in the order of the instants.
  void arrive_at(core::Instant at, core::PacketPtr frame) {
    on_the_way_.push_back(std::move(frame));
    timeline_.events().push(at, actor_, &FakePort::arrive_next, this);
  }
  // After so many more frames the next look finds an error instead of a frame, once: the call that
  // has frames already returns them and the one after it fails, as recvmmsg does.
  void fail_receive_after(std::size_t frames) {
    fails_after_ = frames;
    fails_ = true;
  }
  void close_far_side() { closed_ = true; }

  // --- what the driver did
  // ---------------------------------------------------------------------------
  const std::vector<Sent>& sent() const { return sent_; }
  const std::vector<SendCall>& send_calls() const { return send_calls_; }
  std::size_t receive_calls() const { return receive_calls_; }
  std::size_t empty_receives() const { return empty_receives_; }
  std::size_t waiting() const { return arrived_.size(); }
  std::size_t overflows() const { return overflows_; }
  bool writable_watched() const { return watches_writable_; }
  std::size_t readable_edges() const { return readable_edges_; }
  std::size_t writable_edges() const { return writable_edges_; }
  std::uint32_t sent_number(std::size_t index) const {
    const std::vector<std::uint8_t>& bytes = sent_[index].bytes;
    return std::uint32_t{bytes[14]} << 24 | std::uint32_t{bytes[15]} << 16 |
           std::uint32_t{bytes[16]} << 8 | bytes[17];
  }

  // --- host::PacketIo
  // --------------------------------------------------------------------------------
  host::IoCapabilities capabilities() const override { return capabilities_; }

  host::IoResult send(const core::PacketBatch& batch, std::size_t count) override {
    timeline_.require_settled("a port is used by a driver that owes nothing");
    if (count > batch.size()) count = batch.size();
    if (!capabilities_.multi_send && count > 1) count = 1;
    const host::IoResult result = decide_send(count);
    for (std::size_t i = 0; i < result.count; ++i) {
      const core::PacketMarks& marks = batch[i];
      sent_.push_back({bytes_of(batch[i]), marks});
      if (!capabilities_.vnet_header) forget_marks(sent_.back().marks);
    }
    if (result.status == host::IoStatus::would_block) was_refused_ = true;
    send_calls_.push_back({timeline_.now(), count, result});
    return result;
  }

  host::IoResult receive(std::span<host::ReceiveSlot> slots) override {
    timeline_.require_settled("a port is used by a driver that owes nothing");
    ++receive_calls_;
    if (!capabilities_.multi_receive && slots.size() > 1) slots = slots.first(1);
    const host::VnetHeader header =
        capabilities_.vnet_header ? host::VnetHeader::read : host::VnetHeader::none;
    std::size_t count = 0;
    while (count < slots.size()) {
      if (fails_ && fails_after_ == 0) {
        if (count != 0) break;
        fails_ = false;
        return {host::IoStatus::failed, 0};
      }
      core::PacketPtr frame = arrived_.pop();
      if (!frame) break;
      if (fails_) --fails_after_;
      host::store_frame(std::move(frame), slots[count++], header);
    }
    if (count != 0) return {host::IoStatus::ok, count};
    if (closed_) return {host::IoStatus::closed, 0};
    ++empty_receives_;
    return {host::IoStatus::would_block, 0};
  }

  void listen(host::ReadinessListener* listener) override { listener_ = listener; }

  void watch_writable(bool wanted) override {
    watches_writable_ = wanted;
    tell_writable_if_due();
  }

 private:
  struct Step {
    host::IoStatus status;
    std::size_t most;
  };

  void refuse_for(host::IoStatus status, core::Nanos span) {
    refusal_ = status;
    refuses_until_ = timeline_.now() + span;
    timeline_.events().push(refuses_until_, actor_, &FakePort::refusal_over, this);
  }

  host::IoResult decide_send(std::size_t count) {
    if (closed_) return {host::IoStatus::closed, 0};
    if (timeline_.now() < refuses_until_) return {refusal_, 0};
    if (steps_.empty()) return {host::IoStatus::ok, count};
    const Step step = steps_.front();
    steps_.pop_front();
    if (step.status != host::IoStatus::ok) return {step.status, 0};
    return {host::IoStatus::ok, step.most < count ? step.most : count};
  }

  void tell_readable() {
    ++readable_edges_;
    listener_->readable();
  }
  void tell_writable_if_due() {
    const bool writable = timeline_.now() >= refuses_until_;
    if (!writable || !was_refused_ || !watches_writable_ || listener_ == nullptr) return;
    was_refused_ = false;
    ++writable_edges_;
    listener_->writable();
  }

  static void forget_marks(core::PacketMarks& marks) {
    marks.checksum = core::ChecksumState::none;
    marks.checksum_offset = 0;
    marks.gso_type = core::GsoType::none;
    marks.gso_size = marks.gso_segments = 0;
  }

  static void arrive_next(void* port, std::uint64_t) {
    auto& self = *static_cast<FakePort*>(port);
    core::PacketPtr frame = std::move(self.on_the_way_.front());
    self.on_the_way_.pop_front();
    self.arrive(std::move(frame));
  }
  static void refusal_over(void* port, std::uint64_t) {
    static_cast<FakePort*>(port)->tell_writable_if_due();
  }

  core::Timeline& timeline_;
  host::IoCapabilities capabilities_;
  core::ActorId actor_;
  host::ReadinessListener* listener_ = nullptr;
  std::deque<Step> steps_;
  host::IoStatus refusal_ = host::IoStatus::ok;
  core::Instant refuses_until_ = core::kStart;
  core::PacketQueue arrived_{kQueueBound};
  std::deque<core::PacketPtr> on_the_way_;
  std::vector<Sent> sent_;
  std::vector<SendCall> send_calls_;
  std::size_t receive_calls_ = 0;
  std::size_t empty_receives_ = 0;
  std::size_t overflows_ = 0;
  std::size_t readable_edges_ = 0;
  std::size_t writable_edges_ = 0;
  std::size_t fails_after_ = 0;
  bool fails_ = false;
  bool closed_ = false;
  bool watches_writable_ = false;
  bool was_refused_ = false;
};

}  // namespace tapestry::tests
