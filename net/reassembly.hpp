// Putting IPv4 fragments together again (net/ipv4/ip_fragment.c, inet_fragment.c).
//
// Fragments of one packet wait in a queue, sorted, until there is no gap. Bounds: 64 queues, 4 MiB
// of packet memory (ipfrag_high_thresh), 30 s for each queue (ipfrag_time). A fragment that says
// again what is there already is dropped (DUP_FRAG); one that overlaps in any other way is an
// attack, and ends the whole queue, as since Linux 4.19 (RFC 5722 for IPv6).
//
// The result shares the fragments' payload if that gives few enough ranges; else the bytes move
// into one block.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/packet.hpp"
#include "irq/jiffy_timer.hpp"
#include "net/address.hpp"

namespace tapestry::net {

class Stack;

class Reassembly {
 public:
  static constexpr std::size_t kQueuesMax = 64;
  static constexpr std::uint32_t kMemoryMax = 4 * 1024 * 1024;
  static constexpr core::Nanos kPatience{30'000'000'000};

  explicit Reassembly(Stack& stack);

  // A fragment, from its IP header on, which is linear and sound. Settled. Returns the packet that
  // it completed, from the IP header of its first fragment on, or an empty pointer.
  core::PacketPtr add(core::PacketPtr fragment);

  struct Figures {  // /proc/net/snmp Ip: ReasmReqds ...
    std::uint64_t fragments = 0, completed = 0, failed = 0, timed_out = 0;
  };
  const Figures& figures() const { return figures_; }
  std::uint32_t memory_bytes() const { return memory_; }

 private:
  struct Key {
    Ipv4Address source;
    Ipv4Address destination;
    std::uint16_t identification = 0;
    std::uint8_t protocol = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  struct Piece {
    std::size_t begin;  // bytes behind the IP header
    std::size_t end;
    core::PacketPtr packet;
  };

  struct Queue {
    bool used = false;
    Key key;
    std::vector<Piece> pieces;   // by begin; they do not overlap
    std::size_t total = 0;       // length of the whole, once the last fragment is there
    std::size_t furthest = 0;    // end of what was seen
    std::size_t present = 0;     // bytes
    std::uint64_t deadline = 0;  // jiffies
  };

  Queue* find_or_make(const Key& key);
  bool fits(const Queue& queue, std::size_t end, bool last);
  core::PacketPtr insert(Queue& queue, Piece piece);
  core::PacketPtr join(Queue& queue);
  core::PacketPtr share(std::vector<Piece>& pieces);
  core::PacketPtr copy(std::vector<Piece>& pieces, std::size_t total);
  void drop_fragment(core::PacketPtr fragment, core::DropReason reason);
  void give_up(Queue& queue, core::DropReason reason);
  void release(Queue& queue);
  void program();
  static void timer_expired(void* reassembly);

  Stack& stack_;
  std::array<Queue, kQueuesMax> queues_;
  std::size_t queues_used_ = 0;
  std::uint32_t memory_ = 0;
  irq::JiffyTimer timer_;
  Figures figures_;
};

}  // namespace tapestry::net
