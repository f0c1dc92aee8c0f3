// The protocol stack of one machine: devices, ARP, IPv4 with fragments, ICMP echo, UDP, TCP,
// sockets.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.hpp"
#include "irq/jiffy_timer.hpp"
#include "irq/napi.hpp"
#include "irq/softirq.hpp"
#include "irq/tasklet.hpp"
#include "net/address.hpp"
#include "net/device.hpp"
#include "net/tcp/options.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::net {

class ArpTable;
class Ipv4;
class Icmp;
class Tcp;
class Udp;

// Behaviour that differs between kernels, chosen by the era (kernel/era.hpp).
struct StackOptions {
  std::size_t backlog_max = 1000;        // net.core.netdev_max_backlog
  int dev_weight = 64;                   // net.core.dev_weight
  std::uint32_t rmem_default = 212'992;  // net.core.rmem_default, bytes of packet memory
  std::uint32_t wmem_default = 212'992;  // net.core.wmem_default
  // net.ipv4.neigh.default.unres_qlen_bytes: packet memory that may wait for one answer to ARP
  std::uint32_t unresolved_queue_bytes = 212'992;
  bool bulk_dequeue = true;           // qdisc bulk dequeue and promise of more: since 3.18
  bool byte_queue_limits = true;      // since 3.3
  bool software_segmentation = true;  // GSO for all: always on since 4.17
  bool receive_offload = true;        // GRO: since 2.6.29
  // Held packets are found by hash in 8 lists since 4.19; before, in one.
  std::size_t gro_buckets = 8;  // 1 or 8
  // Packets of GRO go up this many at a time, or when a poll ends: net.core.gro_normal_batch, since
  // 5.4; 1: at once.
  std::size_t gro_normal_batch = 8;
  TcpOptions tcp{};
};

// Copying between a process and the kernel: what it costs depends on the platform.
class UserMemory {
 public:
  // On the running CPU; the bytes are where `from` has left them. What a process sends it has
  // just written, or sends again and again.
  virtual void charge_copy(std::size_t bytes, core::CacheOwner from) = 0;

 protected:
  ~UserMemory() = default;
};

// What the stack is built on; all of one machine.
struct StackEnvironment {
  sched::Scheduler& scheduler;
  irq::Softirqs& softirqs;
  irq::JiffyTimers& jiffies;
  irq::NapiCore& napi;
  core::PacketPool& packets;
  UserMemory& user_memory;
  irq::Tasklets& tasklets;
};

// Packets for drivers and protocols of this machine.
class Allocator {
 public:
  explicit Allocator(StackEnvironment environment) : environment_(environment) {}
  // Charges packet_alloc, and packet_pages for a buffer that takes more than a page and is made of
  // pages (alloc_skb_with_frags); settles nothing. Empty if the world's pool is exhausted; the
  // caller counts that.
  core::PacketPtr allocate(core::Origin origin = core::Origin::host_copy,
                           std::size_t buffer_bytes = 0);
  // The end of a packet that was sent or handed on: charges packet_free; if a socket waits to hear
  // of its end, settles and tells it, which may wake a thread.
  void free(core::PacketPtr packet, core::Outcome outcome = core::Outcome::consumed);
  void drop(core::PacketPtr packet, core::DropReason reason);  // likewise

  // For drivers with rings, many at a time (net/receive_buffers.cpp). Empty packets for a receive
  // ring, at most `count`; returns how many there are. Settled when they return.
  std::size_t allocate_receive_buffers(core::PacketBatch& into, std::size_t count);
  // Frames that the device has sent: all of them are freed. Settled when they return, as below.
  void free_transmitted(core::PacketBatch& sent);
  // All of them are dropped; an empty buffer is freed, since nothing is lost with it.
  void drop_all(core::PacketBatch& unsent, core::DropReason reason);

 private:
  void let_go_of_owner(core::Packet& packet);

  StackEnvironment environment_;
};

// Where a packet to some address goes.
struct Route {
  Device* device = nullptr;  // null: this machine itself
  Ipv4Address source;        // of packets that go this way
  Ipv4Address next_hop;
  bool broadcast = false;
};

class Stack {
 public:
  Stack(StackEnvironment environment, StackOptions options);
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  Device& add_device(DeviceOptions options);
  Device* device(std::string_view name);
  const std::deque<std::unique_ptr<Device>>& devices() const { return devices_; }

  // Addresses and routes are set up before there is traffic and stay.
  // One address per device; makes the on-link route. `gateway`: the default route's next hop.
  void set_address(Device& device, Ipv4Prefix address);
  void set_gateway(Ipv4Address gateway);
  bool is_local(Ipv4Address address) const;
  // Its address; empty if it has none.
  std::optional<Ipv4Prefix> address_of(const Device& device) const;
  // Empty if there is no route. Multicast leaves through the first device with an address.
  std::optional<Route> route(Ipv4Address destination) const;
  // Does a packet to this address that came in here belong to us: own address or a broadcast?
  bool is_for_us(Ipv4Address destination) const;

  // Up from a device: settled, in softirq context or with bottom halves off
  // (__netif_receive_skb_core behind taps and rx_handler). The frame's headers are marked.
  // `kept_by_tap`: a packet socket has it as well.
  void receive(Device& device, core::PacketPtr packet, bool kept_by_tap);
  // A packet to ourselves, from its IP header on: through the backlog and up again
  // (loopback_xmit: a device without a queue).
  void loop_back(core::PacketPtr packet);

  Allocator& allocator() { return allocator_; }
  StackEnvironment& environment() { return environment_; }
  sched::Scheduler& scheduler() { return environment_.scheduler; }
  sched::Cpu& cpu() { return environment_.scheduler.cpu(); }
  core::PacketPool& packets() { return environment_.packets; }
  const core::Timeline& timeline() { return environment_.scheduler.hub().timeline(); }
  const StackOptions& options() const { return options_; }
  ArpTable& arp() { return *arp_; }
  Ipv4& ipv4() { return *ipv4_; }
  Icmp& icmp() { return *icmp_; }
  Udp& udp() { return *udp_; }
  Tcp& tcp() { return *tcp_; }

 private:
  class Backlog;          // per-CPU netif_rx queues and their pseudo-NAPI
  class TransmitSoftirq;  // NET_TX: queues that were scheduled
  friend class Device;
  friend class Gro;
  friend class TxQueue;

  struct Interface {
    Device* device;
    Ipv4Prefix address;
  };

  void accept_from_backlog(core::PacketPtr packet);

  StackEnvironment environment_;
  StackOptions options_;
  Allocator allocator_;
  std::deque<std::unique_ptr<Device>> devices_;
  std::vector<Interface> interfaces_;
  std::optional<Ipv4Address> gateway_;
  std::unique_ptr<Backlog> backlog_;
  std::unique_ptr<TransmitSoftirq> transmit_softirq_;
  std::unique_ptr<ArpTable> arp_;
  std::unique_ptr<Ipv4> ipv4_;
  std::unique_ptr<Icmp> icmp_;
  std::unique_ptr<Udp> udp_;
  std::unique_ptr<Tcp> tcp_;
};

}  // namespace tapestry::net
