#include "transports/vector/vector.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "transports/close_later.hpp"

namespace tapestry::transports {

namespace {

// Calls a member of the driver that a timer or tasklet belongs to.
template <auto Member>
void call(void* driver) {
  (static_cast<Vector*>(driver)->*Member)();
}

constexpr std::uint64_t kNanosPerMicro = 1000;

}  // namespace

Vector::Vector(DriverEnvironment environment, host::PacketIo& port, VectorOptions options)
    : environment_(environment),
      port_(port),
      options_(options),
      receive_line_(environment.interrupts.add_line(environment.device.name() + "-rx",
                                                    irq::Trigger::edge, receive_interrupt_)),
      transmit_line_(environment.interrupts.add_line(environment.device.name() + "-tx",
                                                     irq::Trigger::edge, transmit_interrupt_)),
      napi_(environment.napi, environment.device.name(), *this, static_cast<int>(options.depth)),
      send_tasklet_(
          environment.tasklets,
          [](void* driver) {
            auto& vector = *static_cast<Vector*>(driver);
            ++vector.statistics_.tx_kicks;
            vector.send_ring();
          },
          this),
      more_timer_(environment.jiffies, &call<&Vector::more_is_overdue>, this),
      retry_timer_(environment.jiffies, &call<&Vector::resume_sending>, this),
      leaving_(options.depth) {
  TAPESTRY_ASSERT(options.depth >= 1 && options.depth <= core::PacketBatch::kCapacityMax,
                  "a vector has 1 to 1024 messages");
  TAPESTRY_ASSERT(options.coalesce_jiffies >= 1, "a promise of more may hold for a tick at least");
  const host::IoCapabilities port_can = port.capabilities();
  if (options.vec && port_can.multi_send) ring_ = std::make_unique<TransmitRing>(options.depth);
  if (options.vec && port_can.multi_receive)
    slots_ = std::make_unique<ReceiveSlots>(environment.allocator, options.depth);
}

// GRO is software, and a matter of NAPI: the option of that name only says how long the buffers
// are.
net::Features Vector::features() const {
  const host::IoCapabilities port_can = port_.capabilities();
  return {.scatter_gather = true,
          .transmit_checksum = port_can.transmit_checksum,
          .segmentation = port_can.transmit_segmentation,
          .receive_checksum = port_can.vnet_header,
          .gro = options_.napi};
}

void Vector::open() {
  open_ = true;
  in_error_ = waits_for_write_ = false;
  retries_ = 0;
  port_.listen(this);
  if (vector_transmit()) port_.watch_writable(true);
  if (options_.napi) napi_.enable();
  statistics_.reset();
  // The descriptor may be full already: then no frame is queued any more, and no edge ever comes.
  if (options_.napi)
    napi_.schedule();
  else
    receive_line_.raise();
  if (vector_transmit() && !keeps_contract()) more_timer_.modify(0);
}

void Vector::close() {
  open_ = false;
  if (vector_transmit()) port_.watch_writable(false);
  port_.listen(nullptr);
  more_timer_.cancel();
  napi_.disable();
  send_tasklet_.kill();
  retry_timer_.cancel();
  if (vector_transmit()) drop_unsent(ring_->waiting(), core::DropReason::queue_purge);
  if (vector_receive()) slots_->free_all();
}

void Vector::fail() {
  if (std::exchange(in_error_, true)) return;
  if (keeps_contract()) close_later(environment_.device);
}

void Vector::for_each_statistic(
    const std::function<void(std::string_view, std::uint64_t)>& visit) const {
  for (const auto& [name, value] : statistics_.named())
    visit(name, value);
}

std::uint64_t Vector::transmit_usecs() const {
  const auto tick_ns = static_cast<std::uint64_t>(environment_.jiffies.tick().count());
  return options_.coalesce_jiffies * tick_ns / kNanosPerMicro;
}

void Vector::set_transmit_usecs(std::uint64_t usecs) {
  const auto tick_ns = static_cast<std::uint64_t>(environment_.jiffies.tick().count());
  options_.coalesce_jiffies = std::max<std::uint64_t>(1, usecs * kNanosPerMicro / tick_ns);
}

int Vector::poll(int budget) {
  const bool unsent = vector_transmit() && send_ring() > 0;
  if (budget == 0) return 0;
  const auto most = static_cast<std::size_t>(budget);
  std::size_t received = receive(most);

  if (!keeps_contract()) {
    // Scheduling itself while it is owned only sets MISSED, which the completion finds.
    if (unsent || received > 0) napi_.schedule();
    napi_.complete_done(static_cast<int>(received));
    return static_cast<int>(received);
  }
  // An edge that has been taken is not told again, and a short call is no proof that there are no
  // more: read until there is nothing, or stay scheduled.
  for (std::size_t more = received; more > 0 && received < most; received += more)
    more = receive(most - received);
  if (received < most) napi_.complete_done(static_cast<int>(received));
  return static_cast<int>(received);
}

}  // namespace tapestry::transports
