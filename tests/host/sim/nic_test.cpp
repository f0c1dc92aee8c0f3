#include "host/sim/nic.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "core/checksum.hpp"
#include "tests/support/frames.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::nic_test {

using host::sim::Link;
using host::sim::LinkOptions;
using host::sim::Nic;
using host::sim::NicOptions;

namespace {

constexpr std::uint32_t kFullFrame = 1514;  // 1,230.4 ns at 10 Gbit/s

// Two NICs on a wire. The left one's driver is the test itself; the right one's too, as far as it
// posts buffers and takes frames. Nothing costs time: every line of a story is a device's.
class Bench {
 public:
  explicit Bench(NicOptions right_options = {},
                 LinkOptions link_options = {.delay = core::Nanos{0}}, NicOptions left_options = {})
      : world(sched::SettleMode::seams),
        machine(world.add_machine({.softirq_threads = false})),
        link(world.make<Link>(world.timeline, world.packets, "link", link_options)),
        left(world.make<Nic>(world.timeline, world.packets, left_options)),
        right(world.make<Nic>(world.timeline, world.packets, right_options)) {
    left.connect(link, Link::End::a);
    right.connect(link, Link::End::b);
  }

  void pull_line_of(Nic& nic, const char* name, irq::Trigger trigger = irq::Trigger::edge,
                    std::function<void()> handler = {}) {
    auto& body = world.make<Handler>([this, name, handler] {
      world.story.log(machine.cpu(), std::string("irq ") + name);
      if (handler) handler();
    });
    nic.set_line(machine.interrupts.add_line(name, trigger, body));
  }

  void post(std::size_t buffers) {
    host::NicPort port = right.port();
    for (std::size_t i = 0; i < buffers; ++i)
      port.receive_ring.fill(world.packets.allocate(core::Origin::host_copy));
    port.receive_doorbell.ring(port.receive_ring.head());
  }
  void fill(std::uint32_t first, std::size_t frames, std::size_t length = kFullFrame) {
    host::NicPort port = left.port();
    for (std::size_t i = 0; i < frames; ++i)
      port.transmit_ring.fill(
          make_frame(world.packets, first + static_cast<std::uint32_t>(i), length));
  }
  void ring() {
    host::NicPort port = left.port();
    port.transmit_doorbell.ring(port.transmit_ring.head());
  }
  void send(std::uint32_t first, std::size_t frames, std::size_t length = kFullFrame) {
    fill(first, frames, length);
    ring();
  }
  std::vector<std::uint32_t> take() {
    std::vector<std::uint32_t> numbers;
    host::NicPort port = right.port();
    while (port.receive_ring.oldest_is_done()) {
      core::PacketPtr packet = port.receive_ring.take_done();
      numbers.push_back(number_of(*packet));
      core::deliver(std::move(packet));
    }
    return numbers;
  }
  std::size_t clean() {
    std::size_t cleaned = 0;
    host::NicPort port = left.port();
    for (; port.transmit_ring.oldest_is_done(); ++cleaned)
      core::consume(port.transmit_ring.take_done());
    return cleaned;
  }

  void wait_until(std::int64_t instant_ns) {
    world.at(instant_ns, [] {});
    world.run_until(instant_ns);
  }

  World world;
  TestMachine& machine;
  Link& link;
  Nic& left;
  Nic& right;
};

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("frames in the ring stay there until the doorbell covers them") {
  Bench bench;
  bench.post(8);
  bench.fill(1, 3);
  bench.wait_until(10'000);
  CHECK(bench.right.figures().rx_packets == 0);
  bench.left.port().transmit_doorbell.ring(2);  // two of the three
  bench.wait_until(20'000);
  CHECK(bench.take() == Numbers{1, 2});
  bench.ring();
  bench.wait_until(30'000);
  CHECK(bench.take() == Numbers{3});
}

TEST_CASE("the last doorbell counts, and ringing it again does nothing") {
  Bench bench;
  bench.post(8);
  bench.fill(1, 2);
  bench.ring();
  bench.ring();
  bench.wait_until(10'000);
  CHECK(bench.take() == Numbers{1, 2});
  CHECK(bench.left.figures().tx_packets == 2);
}

TEST_CASE("each descriptor of a train is done when its frame has left, each buffer when it is in") {
  Bench bench({}, {.delay = core::Nanos{100}});
  bench.post(8);
  bench.send(1, 3);
  struct Look {
    std::int64_t at_ns;
    std::size_t sent;
    std::size_t received;
  };
  for (const Look look :
       {Look{1'230, 0, 0}, Look{1'231, 1, 0}, Look{1'330, 1, 0}, Look{1'331, 1, 1},
        Look{2'461, 2, 1}, Look{2'561, 2, 2}, Look{3'692, 3, 2}, Look{3'792, 3, 3}}) {
    CAPTURE(look.at_ns);
    bench.wait_until(look.at_ns);
    CHECK(bench.left.port().transmit_ring.done_now(8) == look.sent);
    CHECK(bench.right.port().receive_ring.done_now(8) == look.received);
    CHECK(bench.right.figures().rx_packets == look.received);
    CHECK(bench.right.figures().rx_bytes == look.received * kFullFrame);
  }
}

TEST_CASE("the bytes that arrive are the bytes that were sent") {
  Bench bench;
  bench.post(8);
  bench.fill(7, 1, 900);
  const std::vector<std::uint8_t> sent = bytes_of(*bench.left.port().transmit_ring.at(0).packet);
  bench.ring();
  bench.wait_until(10'000);
  core::PacketPtr packet = bench.right.port().receive_ring.take_done();
  CHECK(bytes_of(*packet) == sent);
  CHECK(packet->flow == 7);
  core::deliver(std::move(packet));
}

TEST_CASE("a frame that finds no posted buffer at its arrival is lost, and counted") {
  Bench bench;
  bench.post(2);
  bench.send(1, 4);
  bench.wait_until(4'921);  // the third arrived at 3,692, the fourth arrives at 4,922
  CHECK(bench.right.figures().rx_packets == 2);
  CHECK(bench.right.figures().rx_hw_drop_overruns == 1);
  bench.post(1);  // just in time for the fourth
  bench.wait_until(10'000);
  CHECK(bench.take() == Numbers{1, 2, 4});
  CHECK(bench.clean() == 4);
  const core::Balance balance = bench.world.packets.close();
  INFO(balance.text);
  CHECK(balance.balanced);
  CHECK(balance.dropped_for(core::DropReason::no_buffer) == core::Tally{1, 1500});
}

TEST_CASE("a buffer that is posted at the very instant of an arrival is too late") {
  Bench bench;
  bench.send(1, 1);
  bench.wait_until(1'231);
  bench.post(1);
  bench.wait_until(10'000);
  CHECK(bench.take().empty());
  CHECK(bench.right.figures().rx_hw_drop_overruns == 1);
}

TEST_CASE("overruns are known when the run is over, though nobody asked") {
  Bench bench;
  bench.send(1, 3);
  bench.world.run();
  CHECK(bench.world.packets.close().dropped_for(core::DropReason::no_buffer).packets == 3);
}

TEST_CASE("without an interval each frame that arrives pulls the line") {
  Bench bench;
  bench.pull_line_of(bench.right, "rx");
  bench.post(8);
  bench.send(1, 3);
  bench.world.run();
  CHECK_THAT(bench.world.story, Tells(R"(
      1231 cpu0 irq rx
      2461 cpu0 irq rx
      3692 cpu0 irq rx
  )"));
}

TEST_CASE("an interval lets one interrupt tell of many frames, and the first does not wait") {
  Bench bench({.receive_interval = core::Nanos{5'000}});
  bench.pull_line_of(bench.right, "rx");
  bench.post(32);
  bench.send(1, 10);  // until 12,304
  bench.world.run();
  CHECK_THAT(bench.world.story, Tells(R"(
      1231 cpu0 irq rx
      6231 cpu0 irq rx
     11231 cpu0 irq rx
     16231 cpu0 irq rx
  )"));
  CHECK(bench.right.figures().interrupts == 4);
}

TEST_CASE("a frame that comes after a silence longer than the interval interrupts at once") {
  Bench bench({.receive_interval = core::Nanos{5'000}});
  bench.pull_line_of(bench.right, "rx");
  bench.post(32);
  bench.send(1, 1);
  bench.wait_until(50'000);
  bench.send(2, 1);
  bench.world.run();
  CHECK_THAT(bench.world.story, Tells(R"(
      1231 cpu0 irq rx
     51231 cpu0 irq rx
  )"));
}

TEST_CASE("one line serves both directions, each with its interval") {
  Bench bench({}, {.delay = core::Nanos{0}}, {.transmit_interval = core::Nanos{3'000}});
  bench.pull_line_of(bench.left, "tx");
  bench.send(1, 4);  // 1231 2461 3692 4922
  bench.world.run();
  CHECK_THAT(bench.world.story, Tells(R"(
      1231 cpu0 irq tx
      4231 cpu0 irq tx
      7231 cpu0 irq tx
  )"));
  CHECK(bench.left.take_causes() == Nic::kSent);
  CHECK(bench.left.take_causes() == 0);
}

TEST_CASE("there is no event for a frame, only for an interrupt") {
  Bench bench({.receive_interval = core::Nanos{50'000}});
  bench.pull_line_of(bench.right, "rx");
  bench.post(128);
  bench.send(1, 100);
  CHECK(bench.world.timeline.events().size() == 1);
  bench.wait_until(2'000);
  CHECK(bench.world.timeline.events().size() == 1);
}

TEST_CASE("a level line comes again until the driver takes the causes") {
  Bench bench;
  int looks = 0;
  bench.pull_line_of(bench.right, "rx", irq::Trigger::level, [&] {
    if (++looks == 3) bench.right.take_causes();
  });
  bench.post(8);
  bench.send(1, 1);
  bench.world.run();
  CHECK(looks == 3);
  CHECK(bench.right.figures().interrupts == 1);
}

TEST_CASE("a driver may close with buffers posted and frames on their way, and open again") {
  Bench bench;
  bench.post(4);
  bench.send(1, 2);
  bench.right.port().receive_ring.drop_all(core::DropReason::dev_ready);
  bench.wait_until(10'000);
  CHECK(bench.take().empty());
  bench.post(8);
  bench.send(3, 8);
  bench.wait_until(100'000);
  CHECK(bench.take() == Numbers{3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("a NIC finishes the checksums that are left to it") {
  Bench bench({.receive_checksum = true}, {.delay = core::Nanos{0}}, {.transmit_checksum = true});
  bench.post(1);
  bench.fill(1, 1, 100);
  core::Packet& frame = *bench.left.port().transmit_ring.at(0).packet;
  CHECK(frame.make_linear(64));
  frame.data()[40] = frame.data()[41] = 0;
  frame.checksum = core::ChecksumState::partial;
  frame.set_checksum_start(34);
  frame.checksum_offset = 6;
  bench.ring();
  bench.wait_until(10'000);
  core::PacketPtr packet = bench.right.port().receive_ring.take_done();
  core::InternetChecksum sum;
  core::add_packet_range(sum, *packet, 34, packet->length() - 34);
  CHECK(sum.finish() == 0);
  CHECK(packet->checksum == core::ChecksumState::unnecessary);
  core::deliver(std::move(packet));
}

}  // namespace tapestry::tests::nic_test
