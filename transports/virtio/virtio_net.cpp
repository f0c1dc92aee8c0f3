#include "transports/virtio/virtio_net.hpp"

#include <string>

#include "core/assert.hpp"

namespace tapestry::transports {

namespace {

// virtnet_set_affinity: `cpus` in order, as evenly as it goes; the first groups have one more.
std::size_t pair_of(std::size_t cpu, std::size_t cpus, std::size_t pairs) {
  if (cpus <= pairs) return cpu;
  const std::size_t stride = cpus / pairs;
  const std::size_t stragglers = cpus % pairs;
  const std::size_t in_longer = stragglers * (stride + 1);
  if (cpu < in_longer) return cpu / (stride + 1);
  return stragglers + (cpu - in_longer) / stride;
}

}  // namespace

VirtioNet::VirtioNet(DriverEnvironment environment, const std::vector<VirtioNetPort>& ports,
                     const VirtioNetOptions& options, VirtioNetControl* control)
    : environment_(environment), options_(options), control_(control) {
  TAPESTRY_ASSERT(options.features.consistent(), "segmentation comes with unfinished checksums");
  TAPESTRY_ASSERT(!ports.empty() && ports.size() <= kPairsMax, "a device has 1 .. 32,768 pairs");
  TAPESTRY_ASSERT(environment.device.queues() == ports.size(), "there is a queue for each pair");
  const std::size_t cpus = environment.interrupts.scheduler().cpus();
  for (std::size_t number = 0; number < ports.size(); ++number)
    pairs_.push_back(std::make_unique<VirtioQueuePair>(environment, ports[number], options, number,
                                                       number % cpus));
}

net::Features VirtioNet::features() const {
  const host::virtqueue::NetFeatures& negotiated = options_.features;
  return {.scatter_gather = true,
          .transmit_checksum = negotiated.csum,
          .segmentation = negotiated.host_tso4,
          .receive_checksum = negotiated.guest_csum,
          .gro = true};
}

void VirtioNet::open() {
  for (const auto& pair : pairs_)
    pair->open();
}

void VirtioNet::close() {
  for (const auto& pair : pairs_)
    pair->close();
}

bool VirtioNet::use_pairs(std::size_t pairs) {
  TAPESTRY_ASSERT(pairs >= 1 && pairs <= pairs_.size(), "as many pairs as there are");
  if (pairs == in_use_) return true;
  if (control_ == nullptr || !control_->set_queue_pairs(pairs)) return false;
  in_use_ = pairs;
  return true;
}

std::size_t VirtioNet::select_queue(const core::Packet&, std::size_t) {
  sched::Scheduler& scheduler = environment_.interrupts.scheduler();
  return pair_of(scheduler.cpu().index(), scheduler.cpus(), in_use_);
}

void VirtioNet::for_each_napi(const std::function<void(const irq::Napi&)>& visit) const {
  for (const auto& pair : pairs_) {
    visit(pair->napi());
    if (options_.transmit_napi) visit(pair->transmit_napi());
  }
}

void VirtioNet::for_each_statistic(
    const std::function<void(std::string_view, std::uint64_t)>& visit) const {
  const auto show = [&visit](const std::string& queue, const auto& counters) {
    for (const auto& [name, value] : counters)
      visit(queue + std::string(name), value);
  };
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    show("rx_queue_" + std::to_string(i) + "_", pairs_[i]->statistics().received());
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    show("tx_queue_" + std::to_string(i) + "_", pairs_[i]->statistics().sent());
}

}  // namespace tapestry::transports
