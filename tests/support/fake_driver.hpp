// A driver that tests play: it records what it is given, is busy or full when told, frees when
// told, and delivers frames that tests or a wire inject, by interrupt and NAPI.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/packet.hpp"
#include "irq/controller.hpp"
#include "irq/napi.hpp"
#include "net/device.hpp"
#include "net/stack.hpp"
#include "net/tx_queue.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests {

class FakeDriver final : public net::Driver, public irq::InterruptHandler, public irq::NapiPoller {
 public:
  FakeDriver(net::Device& device, irq::InterruptController& interrupts)
      : device_(device),
        napi_(device.stack().environment().napi, device.name(), *this),
        line_(interrupts.add_line(device.name(), irq::Trigger::edge, *this)) {
    device.set_driver(*this);
  }
  ~FakeDriver() override {
    ring_.drop_all(core::DropReason::run_end);
    received_.drop_all(core::DropReason::run_end);
  }

  struct Sent {
    core::Instant at;
    std::size_t length;
    bool more;
    std::vector<std::uint8_t> bytes;
  };

  std::string_view kind() const override { return "fake"; }
  net::Features features() const override { return offers; }
  void open() override {
    ++opens;
    napi_.enable();
  }
  void close() override {
    ++closes;
    napi_.disable();
    ring_.drop_all(core::DropReason::queue_purge);
    received_.drop_all(core::DropReason::queue_purge);
  }

  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override {
    device_.stack().timeline().require_settled("a driver");
    if (while_transmitting) while_transmitting();
    if (busy_times > 0) {
      --busy_times;
      return net::Transmit::busy;
    }
    sent.push_back({device_.stack().timeline().now(), packet->length(), packet->more,
                    keep_bytes ? bytes_of(*packet) : std::vector<std::uint8_t>{}});
    if (to_wire) to_wire(*packet);
    const std::size_t length = packet->length();
    if (reports_completions) queue.sent(length);
    if (frees_at_once) {
      device_.stack().allocator().free(std::move(packet));
      device_.stack().cpu().settle();
      if (reports_completions) queue.completed(1, length);
      return net::Transmit::ok;
    }
    (void)ring_.push(std::move(packet));
    if (ring_.size() >= ring_length) queue.stop();
    return net::Transmit::ok;
  }
  void transmit_timed_out() override { ++timeouts; }
  core::Nanos watchdog_time() const override { return watchdog; }

  // On a CPU: the hardware is done with the first n packets, and its driver finds out.
  void complete(std::size_t n) {
    net::TxQueue& queue = device_.queue();
    std::size_t bytes = 0, packets = 0;
    for (; packets < n && !ring_.empty(); ++packets) {
      bytes += ring_.front()->length();
      device_.stack().allocator().free(ring_.pop());
      device_.stack().cpu().settle();
    }
    if (reports_completions) queue.completed(packets, bytes);
    queue.wake();
  }
  std::size_t in_ring() const { return ring_.size(); }

  // From outside of any CPU: a frame arrives.
  void inject(core::PacketPtr frame) {
    if (!received_.push(std::move(frame)))
      core::drop(std::move(frame), core::DropReason::no_buffer);
    line_.raise();
  }

  void interrupt() override {
    if (without_napi) {
      while (core::PacketPtr frame = received_.pop())
        device_.receive_later(std::move(frame));
    } else {
      napi_.schedule();
    }
  }
  int poll(int budget) override {
    int work = 0;
    for (; work < budget; ++work) {
      device_.stack().cpu().settle();
      core::PacketPtr frame = received_.pop();
      if (!frame) break;
      device_.receive(std::move(frame), &napi_);
    }
    if (work == budget) return work;
    if (napi_.complete_done(work) && !received_.empty()) napi_.schedule();
    return work;
  }

  net::Features offers{.scatter_gather = true};
  bool reports_completions = true;
  bool frees_at_once = true;
  bool keep_bytes = true;
  bool without_napi = false;  // receives in hardirq, through the backlog
  int busy_times = 0;
  core::Nanos watchdog = kWatchdogTime;
  std::size_t ring_length = SIZE_MAX;
  std::function<void(const core::Packet&)> to_wire;
  std::function<void()> while_transmitting;

  std::vector<Sent> sent;
  int opens = 0, closes = 0, timeouts = 0;

 private:
  net::Device& device_;
  irq::Napi napi_;
  irq::IrqLine& line_;
  core::PacketQueue ring_{65536};
  core::PacketQueue received_{65536};
};

}  // namespace tapestry::tests
