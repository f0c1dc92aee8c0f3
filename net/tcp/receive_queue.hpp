// What has arrived and was not read: the stream in order, what came too early, and what a selective
// acknowledgement says about that.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "core/packet.hpp"
#include "net/stack.hpp"
#include "net/tcp/header.hpp"
#include "net/tcp/sequence.hpp"

namespace tapestry::net::tcp {

class ReceiveQueue {
 public:
  explicit ReceiveQueue(Allocator& allocator) : allocator_(allocator) {}

  // --- in order ----------------------------------------------------------------------------------
  void push(core::PacketPtr packet);  // payload only
  core::Packet* front() const { return queue_.front(); }
  // The first packet has been read to its end, or is thrown away.
  core::PacketPtr pop();
  bool empty() const { return queue_.empty(); }

  // --- too early ---------------------------------------------------------------------------------
  // Keeps what is new of [range); the packet has just its payload, and ends with a FIN if so.
  // False: nothing was. Notes the block for selective acknowledgements.
  bool insert(core::PacketPtr packet, Range range, bool fin);
  bool has_early() const { return !early_.empty(); }
  struct Joined {
    Sequence next;
    bool fin = false;
  };
  // Moves what continues the stream at `next` into it; charges nothing but freeing duplicates.
  Joined join(Sequence next);
  // Throws away all that came too early (tcp_prune_ofo_queue); how many packets.
  std::size_t prune_early();

  // --- selective acknowledgements ----------------------------------------------------------------
  void note_duplicate(Range range) { duplicate_ = range, has_duplicate_ = true; }  // D-SACK
  // Blocks for the next acknowledgement, at most `room`; the duplicate first, and only once.
  std::uint8_t report(std::array<Range, kSacksMax>& blocks, std::size_t room);
  bool has_report() const { return has_duplicate_ || block_count_ != 0; }

  std::uint32_t memory() const { return memory_; }  // sk_rmem_alloc
  void drop_all();

 private:
  struct Early {
    Sequence end;
    bool fin = false;
    core::PacketPtr packet;
  };
  struct Less {
    bool operator()(Sequence a, Sequence b) const { return a < b; }
  };
  using Map = std::map<Sequence, Early, Less>;

  void drop(core::PacketPtr packet, core::DropReason reason);
  void note_block(Range range);
  void forget_blocks_before(Sequence next);

  Allocator& allocator_;
  core::PacketQueue queue_{SIZE_MAX};  // bounded by the receive buffer
  Map early_;
  std::array<Range, kSacksMax> blocks_{};  // the latest first
  std::size_t block_count_ = 0;
  Range duplicate_{};
  bool has_duplicate_ = false;
  std::uint32_t memory_ = 0;
};

}  // namespace tapestry::net::tcp
