#include "transports/virtio/queue_pair.hpp"

namespace tapestry::transports {

namespace {

std::string queue_name(const DriverEnvironment& environment, std::size_t number,
                       const char* direction) {
  return environment.device.name() + "-" + direction + "." + std::to_string(number);
}

irq::IrqLine& line_of(const DriverEnvironment& environment, const VirtioNetOptions& options,
                      std::size_t number, irq::InterruptHandler& handler, std::size_t cpu) {
  return environment.interrupts.add_line(options.interrupt_per_queue
                                             ? queue_name(environment, number, "input")
                                             : environment.device.name(),
                                         irq::Trigger::edge, handler, cpu);
}

}  // namespace

VirtioQueuePair::VirtioQueuePair(DriverEnvironment environment, VirtioNetPort port,
                                 const VirtioNetOptions& options, std::size_t number,
                                 std::size_t cpu)
    : environment_(environment),
      port_(port),
      features_(options.features),
      transmit_polls_(options.transmit_napi),
      number_(number),
      transmit_side_(*this, environment.napi, queue_name(environment, number, "output")),
      receive_line_(line_of(environment, options, number, *this, cpu)),
      transmit_line_(options.interrupt_per_queue ? environment.interrupts.add_line(
                                                       queue_name(environment, number, "output"),
                                                       irq::Trigger::edge, transmit_side_, cpu)
                                                 : receive_line_),
      napi_(environment.napi, environment.device.name(), *this),
      refill_timer_(
          environment.jiffies,
          [](void* pair) { static_cast<VirtioQueuePair*>(pair)->schedule_poll(); }, this),
      sent_(core::PacketBatch::kCapacityMax),
      buffers_(core::PacketBatch::kCapacityMax) {}

// The first poll takes what came while nobody asked for callbacks.
void VirtioQueuePair::open() {
  fill_or_come_back();
  napi_.enable();
  schedule_poll();
  if (!transmit_polls_) return;
  transmit_side_.napi.enable();
  schedule_transmit_poll();
}

// Buffers stay with the device.
void VirtioQueuePair::close() {
  refill_timer_.cancel();
  napi_.disable();
  transmit_side_.napi.disable();
}

void VirtioQueuePair::interrupt() {
  if (port_.receive.has_used()) schedule_poll();
  if (&receive_line_ == &transmit_line_ && port_.transmit.has_used()) transmit_done();
}

}  // namespace tapestry::transports
