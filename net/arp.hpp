// The neighbour table: which link address an IPv4 neighbour has, found by ARP (RFC 826, net/ipv4/
// arp.c, net/core/neighbour.c).
//
// Packets for a neighbour that is being asked for wait in its entry, bounded by their memory: when
// there are too many the oldest goes (NEIGH_QUEUEFULL). A request is sent at once and then each
// second, three in all; after that those who wait are dropped (NEIGH_FAILED), and the next packet
// starts anew. What is known stays known: entries do not age, so that a neighbour that changes its
// link address is found again only when it says so itself (gratuitous ARP).
//
// An answer or an announcement changes what is known; only a request for our own address makes a
// new entry (arp_accept = 0). Nobody gets a multicast address into the table, nor takes over ours.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/packet.hpp"
#include "irq/jiffy_timer.hpp"
#include "net/address.hpp"

namespace tapestry::net {

class Device;
class Stack;

class ArpTable {
 public:
  static constexpr std::size_t kEntriesMax = 1024;     // gc_thresh3
  static constexpr int kRequestsMax = 3;               // mcast_solicit
  static constexpr core::Nanos kRetry{1'000'000'000};  // retrans_time_ms

  explicit ArpTable(Stack& stack);
  ~ArpTable();

  // Gives an IP packet to the neighbour, or lets it wait for an answer. Settled, bottom halves off.
  void transmit(Device& device, Ipv4Address neighbour, core::PacketPtr packet);
  // An IP packet to a link address that needs no look-up: broadcast, multicast.
  void transmit_to(Device& device, MacAddress mac, core::PacketPtr packet);
  // From a device, behind its link header: settled, softirq context.
  void receive(Device& device, core::PacketPtr packet);
  // ip neighbour add: for set-ups that begin with a filled table.
  void add(Device& device, Ipv4Address neighbour, MacAddress mac);
  std::optional<MacAddress> look_up(Ipv4Address neighbour) const;

  struct Figures {
    std::uint64_t requests_out = 0, requests_in = 0, replies_out = 0, replies_in = 0;
    std::uint64_t ignored = 0;  // malformed, or refused for safety
    std::uint64_t failed = 0;   // neighbours that did not answer
    std::uint64_t table_full = 0;
    std::uint64_t unresolved_discards = 0;  // dropped because too many waited
  };
  const Figures& figures() const { return figures_; }
  std::size_t entries() const { return entries_.size(); }

 private:
  enum class State : std::uint8_t { incomplete, known, failed };

  struct Entry {
    explicit Entry(std::size_t bound) : waiting(bound) {}
    Ipv4Address address;
    Device* device = nullptr;
    State state = State::failed;
    MacAddress mac;
    core::PacketQueue waiting;
    std::uint32_t waiting_bytes = 0;  // of packet memory
    int requests = 0;
    std::uint64_t next_request = 0;  // jiffies
    Entry* next_in_bucket = nullptr;
  };

  Entry* find(Ipv4Address address) const;
  Entry* make(Device& device, Ipv4Address address);
  void unlink(Entry& entry);
  void link(Entry& entry);
  void let_wait(Entry& entry, core::PacketPtr packet);
  void start_asking(Entry& entry);
  void learn(Entry& entry, Device& device, MacAddress mac);
  void send_arp(Device& device, std::uint16_t operation, MacAddress to, Ipv4Address target);
  void send_request(const Entry& entry);
  void ask_again(Entry& entry, std::uint64_t now);
  void program();
  static void timer_expired(void* table);

  static std::size_t bucket_of(Ipv4Address address) {
    return (address.value * 2'654'435'761u) >> 24;  // Knuth's multiplicative hash
  }

  Stack& stack_;
  std::deque<Entry> entries_;
  std::array<Entry*, 256> buckets_{};
  irq::JiffyTimer timer_;
  std::uint64_t programmed_ = 0;  // jiffy, while the timer is pending
  Figures figures_;
};

}  // namespace tapestry::net
