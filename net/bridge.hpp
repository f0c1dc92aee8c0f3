// A software bridge (net/bridge): a device whose ports are other devices of the machine.
//
//   frame received by a port -> learn its source -> to the port of its destination, to all others
//   if nobody knows it, up through the bridge's own device if it is for this machine
//
// Everything runs in the context that received: a NIC's softirq, a tap's write. A port sends by its
// device's own queue, so that what a port cannot send as it is, a super-frame that GRO has made
// above all, is cut there and not here.
//
// Without spanning tree. Ports and addresses are set up before there is traffic and stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/packet.hpp"
#include "net/device.hpp"

namespace tapestry::net {

struct BridgeOptions {
  core::Nanos ageing{300'000'000'000};  // ageing_time: a learned address lives on so long unheard
  // Learned addresses at once; more are not learned (fdb_max_learned of Linux 6.7, which has no
  // bound by default).
  std::size_t learned_max = 4096;
};

class Bridge final : public Driver {
 public:
  // Becomes the driver of `own`, the bridge's device.
  explicit Bridge(Device& own, BridgeOptions options = {});

  // The device hands its frames to the bridge from now on. Of the same machine, a port of no other
  // bridge.
  void add_port(Device& device);
  std::size_t ports() const { return ports_.size(); }

  // Where frames for an address go; null: nobody has been heard there lately. Settled.
  Device* port_of(const MacAddress& address) const;
  std::size_t learned() const { return learned_.size(); }  // those forgotten since included

  struct Figures {
    std::uint64_t forwarded = 0;    // to one port
    std::uint64_t flooded = 0;      // frames that went to all ports but their own
    std::uint64_t passed_up = 0;    // to the bridge's own device, copies of flooded ones too
    std::uint64_t not_learned = 0;  // the table was full
  };
  const Figures& figures() const { return figures_; }

  std::string_view kind() const override { return "bridge"; }
  // What at least one of its ports can do: the others do it in software
  // (netdev_increment_features).
  Features features() const override;
  void open() override {}
  void close() override {}
  Transmit transmit(core::PacketPtr& packet, TxQueue& queue) override;  // br_dev_xmit

 private:
  struct Learned {
    std::size_t port;
    core::Instant heard;
  };

  core::PacketPtr receive(std::size_t port, core::PacketPtr packet);
  void learn(const MacAddress& source, std::size_t port);
  void forget_old();
  bool is_old(const Learned& entry) const;
  bool is_own(const MacAddress& address) const;
  std::optional<std::size_t> find(const MacAddress& address) const;
  bool delivers_to(std::size_t port, std::size_t from) const;
  void forward(std::size_t port, core::PacketPtr packet);
  void flood(core::PacketPtr packet, std::size_t from, bool also_up);
  void pass_up(core::PacketPtr packet);

  static constexpr std::size_t kItself = SIZE_MAX;  // a frame of the bridge's own device

  Device& own_;
  BridgeOptions options_;
  std::vector<Device*> ports_;
  std::map<MacAddress, Learned> learned_;
  Figures figures_;
};

}  // namespace tapestry::net
