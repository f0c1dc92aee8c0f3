// The device contract: what a driver promises the stack, and what the stack does for a driver.
//
// The framework around a driver (this layer) charges for it, counts packets, excludes and queues: a
// driver holds no cost, clock or lock. All of its functions are called settled, transmit with
// bottom halves off and its queue owned (unless it is queueless, as most virtual devices are).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.hpp"
#include "core/probe.hpp"
#include "irq/jiffy_timer.hpp"
#include "irq/napi.hpp"
#include "net/address.hpp"

namespace tapestry::net {

class Device;
class Gro;
class Stack;
class TxQueue;

struct Features {                  // netdev_features_t, as far as they matter here
  bool scatter_gather = false;     // NETIF_F_SG: packets with several payload ranges; else a copy
  bool transmit_checksum = false;  // NETIF_F_HW_CSUM: takes ChecksumState::partial
  bool segmentation = false;       // NETIF_F_TSO: takes gso_size of TCP
  bool fixed_id_segmentation = false;  // NETIF_F_TSO_MANGLEID: ... with one IP identification
  bool udp_segmentation = false;       // NETIF_F_GSO_UDP_L4: takes gso_size of UDP
  bool receive_checksum = false;       // NETIF_F_RXCSUM: marks checked frames
  bool gro = false;                    // NETIF_F_GRO
  // NETIF_F_LLTX: no queue lock. So are virtual devices; they charge for themselves (tap_queue,
  // veth, ...), and the framework's charges for a driver are left out.
  bool lockless = false;
  bool queueless = false;  // IFF_NO_QUEUE, lockless too: no queueing discipline. Not so a tap
};

// The smallest link that IPv4 knows, and the largest packet of 65,535 bytes with its Ethernet
// header still in it.
inline constexpr std::uint32_t kMtuMinBytes = 68;
inline constexpr std::uint32_t kMtuMaxBytes = 65'535 - 14;

enum class Transmit : std::uint8_t {
  ok,       // NETDEV_TX_OK: the driver took the packet
  dropped,  // NETDEV_TX_OK as well, but the driver could not send it and has dropped it
  busy      // NETDEV_TX_BUSY: it did not take it; the packet is still the caller's
};

class Driver {
 public:
  // A queue that stays stopped so long has a driver that forgot it: what the stack assumes for a
  // driver that says nothing (net/sched/sch_generic.c).
  static constexpr core::Nanos kWatchdogTime{5'000'000'000};

  virtual ~Driver() = default;
  virtual std::string_view kind() const = 0;  // ethtool -i: "uml-vector", "tun", ...
  virtual Features features() const = 0;
  virtual void open() = 0;   // ndo_open: process context
  virtual void close() = 0;  // ndo_stop: process context; when it returns nothing of it runs
  virtual Transmit transmit(core::PacketPtr& packet, TxQueue& queue) = 0;  // ->more: xmit_more
  // ndo_select_queue: by which of the device's queues a packet leaves; `chosen` is the stack's own
  // choice. Asked only of devices with several.
  virtual std::size_t select_queue(const core::Packet&, std::size_t chosen) { return chosen; }
  virtual void transmit_timed_out() {}  // the watchdog found a stopped queue
  // How long a queue may stay stopped (watchdog_timeo), at least a jiffy.
  virtual core::Nanos watchdog_time() const { return kWatchdogTime; }
  // The NAPI instances that it polls its device with (napi_list).
  virtual void for_each_napi(const std::function<void(const irq::Napi&)>&) const {}
  // ethtool -S, in the driver's order: exactly the real driver's names.
  virtual void for_each_statistic(
      const std::function<void(std::string_view name, std::uint64_t value)>&) const {}
};

// rtnl_link_stats64, kept by the framework.
struct DeviceFigures {
  std::uint64_t rx_packets = 0, rx_bytes = 0, rx_dropped = 0, rx_errors = 0;
  // Sent: what the driver accepted and did not report as dropped.
  std::uint64_t tx_packets = 0, tx_bytes = 0, tx_dropped = 0, tx_errors = 0;
};

struct DeviceOptions {
  std::string name{};
  MacAddress mac{};
  std::uint32_t mtu_bytes = 1500;   // kMtuMinBytes .. kMtuMaxBytes
  std::uint32_t txqueuelen = 1000;  // packets of each band of pfifo_fast, ether_setup
  std::size_t tx_queues = 1;
  bool byte_queue_limits = true;  // BQL, for drivers that report completions
  // What one packet for segmentation may have: a longer one, or one of more segments, is cut before
  // the driver (dev->gso_max_size, gso_max_segs).
  std::uint32_t gso_max_bytes = 65'536;     // 1 .. 65,536
  std::uint32_t gso_max_segments = 65'535;  // 1 .. 65,535
};

class Device {
 public:
  Device(Stack& stack, DeviceOptions options, std::uint32_t number);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void set_driver(Driver& driver) { driver_ = &driver; }
  Driver& driver() { return *driver_; }

  void open();  // process context: driver, queues; idempotent
  // Process context; idempotent. From its first line on nothing new is queued; waits for who is in
  // the middle of a batch, then drops what is queued.
  void close();
  bool running() const { return running_; }

  // --- down: from the stack ----------------------------------------------------------------------
  // dev_queue_xmit: takes an Ethernet frame whose network and mac headers are marked. Any context
  // with interrupts on. Settles. Drops are counted and in the ledger; false says that this packet
  // was dropped before the driver had it (NET_XMIT_DROP: ENOBUFS for a packet socket).
  bool transmit(core::PacketPtr packet);
  // dev_direct_xmit, for packet sockets: past the queueing discipline and unseen by taps. A stopped
  // queue is a drop.
  bool transmit_past_qdisc(core::PacketPtr packet);
  // What pktgen does in its mode start_xmit: past the queueing discipline, unseen by taps and
  // whatever the queue's limit says (BQL), under one hold of the queue, all but the last with the
  // promise of more. Frames must be such as the driver takes as they are. A queue that is stopped
  // or somebody else's takes nothing; what the driver did not take stays in `burst`.
  struct Burst {
    std::size_t sent = 0, dropped = 0;  // by the driver, or because the device was closed
  };
  Burst transmit_burst(core::PacketQueue& burst);
  // ethtool -K gro: on unless switched off. Merged frames are what a bridge or a protocol wants,
  // and not what somebody does who counts frames.
  void set_receive_offload(bool on) { receive_offload_ = on; }
  // netdev_update_features: what the driver says it can do has changed.
  void update_features();

  // --- up: from the driver -----------------------------------------------------------------------
  // napi_gro_receive / netif_receive_skb: in softirq context, or with bottom halves off. The frame
  // begins at its mac header.
  void receive(core::PacketPtr packet, irq::Napi* napi = nullptr);
  // netif_rx: onto the backlog of the running CPU; from any context.
  void receive_later(core::PacketPtr packet);
  void count_receive_drop(std::uint64_t packets = 1) { figures_.rx_dropped += packets; }
  // For packets that `transmit` has accepted: they do not count as sent any more.
  void count_transmit_drop(std::uint64_t packets = 1, std::uint64_t bytes = 0) {
    figures_.tx_dropped += packets;
    figures_.tx_packets -= packets;
    figures_.tx_bytes -= bytes;
  }

  // A frame consumer ahead of the protocols (rx_handler: a bridge, a replay's sink). Returns an
  // empty pointer if it took the packet. Settled, and with what netif_receive costs paid.
  using ReceiveHandler = std::function<core::PacketPtr(core::PacketPtr)>;
  void set_receive_handler(ReceiveHandler handler) { receive_handler_ = std::move(handler); }
  bool has_receive_handler() const { return static_cast<bool>(receive_handler_); }
  // Told when what the device can do has changed (NETDEV_FEAT_CHANGE). At most one: the device that
  // it is a port of.
  void set_features_listener(std::function<void()> listener) {
    features_listener_ = std::move(listener);
  }

  // Packet sockets and captures see frames here (ptype_all): both directions, from the mac header
  // on, as the driver gets or has delivered them.
  class Tap {
   public:
    virtual ~Tap() = default;
    // Settled; charges for itself (it runs on the CPU that sends or receives). May clone; says
    // whether it did.
    virtual bool frame(const core::Packet& packet, core::Direction direction) = 0;
  };
  void add_tap(Tap& tap);
  void remove_tap(Tap& tap);  // waits until no CPU is in it
  // Watchers (pcap): no cost, no influence.
  core::Probe<const core::Packet&, core::Direction> on_frame;

  TxQueue& queue(std::size_t index = 0) { return *queues_[index]; }
  std::size_t queues() const { return queues_.size(); }
  const std::string& name() const { return options_.name; }
  MacAddress mac() const { return options_.mac; }
  std::uint32_t mtu_bytes() const { return options_.mtu_bytes; }
  std::uint32_t number() const { return number_; }  // ifindex, from 1
  const DeviceOptions& options() const { return options_; }
  Features features() const { return driver_->features(); }  // as of `open` for the framework
  Stack& stack() { return stack_; }
  const DeviceFigures& figures() const { return figures_; }
  DeviceFigures& figures() { return figures_; }

 private:
  friend class Gro;
  friend class Stack;
  friend class TxQueue;

  void count_received(const core::Packet& packet) {
    ++figures_.rx_packets;
    figures_.rx_bytes += packet.length();
  }
  bool classify(core::Packet& packet);
  void accept(core::PacketPtr packet);
  void make_transmittable(core::PacketPtr packet, core::PacketQueue& into);
  void finish(core::PacketPtr packet, bool is_segment, core::PacketQueue& into);
  // Whether somebody has kept it.
  bool show(core::Packet& packet, core::Direction direction);
  bool show_to_taps(const core::Packet& packet, core::Direction direction);
  Transmit hand_over(core::PacketPtr& packet, TxQueue& queue);
  bool transmit_directly(core::PacketPtr packet, TxQueue& queue, bool shown);
  bool transmit_one_directly(core::PacketPtr packet, TxQueue& queue, bool shown);
  TxQueue& choose_queue(core::Packet& packet);
  void watch_stopped_queue();
  static void watchdog_expired(void* device);

  Stack& stack_;
  DeviceOptions options_;
  std::uint32_t number_;
  Driver* driver_ = nullptr;
  Features features_;  // of the driver when it was opened
  std::vector<std::unique_ptr<TxQueue>> queues_;
  std::vector<Tap*> taps_;  // null: removed while in use
  std::size_t taps_in_use_ = 0;
  ReceiveHandler receive_handler_;
  std::function<void()> features_listener_;
  DeviceFigures figures_;
  irq::JiffyTimer watchdog_;
  bool receive_offload_ = true;
  bool running_ = false;       // IFF_UP: frames come in
  bool transmitting_ = false;  // the driver is open: frames go out
};

}  // namespace tapestry::net
