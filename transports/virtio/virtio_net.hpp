// The virtio network driver (drivers/net/virtio_net.c): one queue pair or several.
//
// With several (VIRTIO_NET_F_MQ) the CPUs are dealt out to the pairs in use, in order, and a packet
// leaves by the pair of the CPU that sends it (XPS). How many are in use may change under traffic:
// the device is told by way of its control queue, and nothing is reset. The pairs that are not used
// any more still poll: what is in their rings, and waits above them, goes its way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/virtio/queue_pair.hpp"

namespace tapestry::transports {

// What a driver may ask of its device by way of the control queue. It waits for the answer.
class VirtioNetControl {
 public:
  virtual ~VirtioNetControl() = default;
  // VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET: from now on the device delivers to the first `pairs` only.
  // False: VIRTIO_NET_ERR, and all is as it was.
  virtual bool set_queue_pairs(std::size_t pairs) = 0;
};

class VirtioNet final : public net::Driver {
 public:
  static constexpr std::size_t kPairsMax = 0x8000;  // VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX

  // One pair. The queues outlive it.
  VirtioNet(DriverEnvironment environment, VirtioNetPort port,
            host::virtqueue::NetFeatures features)
      : VirtioNet(environment, {port}, {.features = features}, nullptr) {}
  // As many pairs as the device has, and as the net device has queues. `control`: needed to use
  // another number of them than the device begins with, which is one.
  VirtioNet(DriverEnvironment environment, const std::vector<VirtioNetPort>& ports,
            const VirtioNetOptions& options, VirtioNetControl* control);

  // ethtool -L combined: 1 .. pairs(). In process context. False, and nothing has changed, if the
  // device does not want to.
  bool use_pairs(std::size_t pairs);
  std::size_t pairs_in_use() const { return in_use_; }  // ethtool -l: current
  std::size_t pairs() const { return pairs_.size(); }   // ... and maximum

  VirtioQueuePair& pair(std::size_t number) { return *pairs_[number]; }
  // Of a device with one pair and one interrupt. Routed by whoever builds the machine.
  irq::IrqLine& line() { return pairs_[0]->receive_line(); }
  irq::Napi& napi() { return pairs_[0]->napi(); }

  std::string_view kind() const override { return "virtio_net"; }
  net::Features features() const override;
  void open() override;
  void close() override;
  net::Transmit transmit(core::PacketPtr& packet, net::TxQueue& queue) override {
    return pairs_[queue.index()]->transmit(packet, queue);
  }
  std::size_t select_queue(const core::Packet& packet, std::size_t chosen) override;
  void for_each_napi(const std::function<void(const irq::Napi&)>& visit) const override;
  void for_each_statistic(
      const std::function<void(std::string_view, std::uint64_t)>& visit) const override;

 private:
  DriverEnvironment environment_;
  VirtioNetOptions options_;
  VirtioNetControl* control_;
  std::vector<std::unique_ptr<VirtioQueuePair>> pairs_;
  std::size_t in_use_ = 1;
};

}  // namespace tapestry::transports
