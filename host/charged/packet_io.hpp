// A packet port that is paid for: the same interface, wrapped. Settles the caller, pays for the
// host's system call, forwards, pays for the way out.
//
// The costs inside the call (the tap's, the packet socket's, the host's whole receive path) are the
// simulated host's own business; this is the seam between driver and host.
#pragma once

#include <cstdint>
#include <functional>

#include "core/batch_sizes.hpp"
#include "host/charged/host_call.hpp"
#include "host/packet_io.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::host::charged {

// Figures of a port, beside the driver's ethtool ones: what reached the host.
struct PortFigures {
  std::uint64_t send_calls = 0, send_frames = 0, send_bytes = 0;
  std::uint64_t receive_calls = 0, receive_frames = 0, receive_bytes = 0;
  std::uint64_t empty_receives = 0;  // would_block
  std::uint64_t partial_sends = 0;   // fewer frames than offered
  std::uint64_t send_would_block = 0, send_no_buffers = 0, send_failed = 0;
  std::uint64_t truncated_frames = 0;
  core::BatchSizes send_sizes, receive_sizes;  // frames moved by each call

  std::uint64_t calls() const { return send_calls + receive_calls; }
};

class PacketIo final : public host::PacketIo {
 public:
  // `guest` is the machine whose driver calls, `host` the one that serves; the running thread of
  // `host` is the guest's. Both the same for a driver of the host's own, or, with From::process,
  // for a thread of the host that works for a guest.
  PacketIo(host::PacketIo& inner, sched::Scheduler& guest, sched::Scheduler& host,
           HostCall::From from = HostCall::From::guest);

  IoCapabilities capabilities() const override { return inner_.capabilities(); }
  IoResult send(const core::PacketBatch& batch, std::size_t count) override;
  IoResult receive(std::span<ReceiveSlot> slots) override;
  void listen(ReadinessListener* listener) override { inner_.listen(listener); }
  void watch_writable(bool wanted) override;  // epoll_ctl: one system call

  const PortFigures& figures() const { return figures_; }

 private:
  host::PacketIo& inner_;
  sched::Scheduler& guest_;
  sched::Scheduler& host_;
  HostCall::From from_;
  PortFigures figures_;
};

}  // namespace tapestry::host::charged
