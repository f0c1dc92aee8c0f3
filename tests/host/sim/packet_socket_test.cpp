#include "host/sim/packet_socket.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "sched/guards.hpp"
#include "tests/host/host_world.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests::packet_socket_test {

using host::IoResult;
using host::IoStatus;
using host::sim::PacketSocket;
using host::sim::PacketSocketOptions;

namespace {

sched::CostTable costs() {
  sched::CostTable table = sched::CostTable::zero();
  table.set(sched::Work::packet_alloc, sched::Cost{.per_item_ps = 10'000});
  table.set(sched::Work::packet_free, sched::Cost{.per_item_ps = 30'000});
  table.set(sched::Work::packet_send_call, sched::Cost{.fixed_ps = 500'000});
  table.set(sched::Work::packet_send, sched::Cost{.per_item_ps = 300'000});
  table.set(sched::Work::packet_receive_call, sched::Cost{.fixed_ps = 250'000});
  table.set(sched::Work::packet_receive, sched::Cost{.per_item_ps = 100'000});
  table.set(sched::Work::packet_tap, sched::Cost{.per_item_ps = 90'000});
  table.set(sched::Work::user_copy_io, sched::Cost{.per_byte_fs = 1'000'000});
  return table;
}

class Bench {
 public:
  explicit Bench(std::uint32_t txqueuelen = 1000)
      : world(sched::SettleMode::seams, costs()),
        host(world.make<HostMachine>(world)),
        device(host.stack.add_device({.name = "eth0",
                                      .mac = net::MacAddress::local(1),
                                      .txqueuelen = txqueuelen,
                                      .byte_queue_limits = false})),
        driver(world.make<FakeDriver>(device, host.machine.interrupts)) {}

  void run(std::function<void()> body) {
    host.run([this, body = std::move(body)] {
      device.open();
      body();
      host.cpu().settle();
    });
  }
  void arrive(std::uint32_t number, std::size_t length = 60, Mac from = kPeerMac) {
    arrive(make_frame(world.packets, number, length, from));
  }
  void arrive(core::PacketPtr frame) {
    sched::BottomHalvesOff bottom_halves(host.cpu());
    device.receive(std::move(frame));
  }
  // One call with `frames` frames; they are freed whatever becomes of it.
  IoResult send(PacketSocket& socket, std::uint32_t frames, std::size_t length = 60,
                std::uint16_t gso_size = 0) {
    core::PacketBatch batch(frames);
    for (std::uint32_t number = 1; number <= frames; ++number) {
      batch.push_back(make_frame(world.packets, number, length, kGuestMac, kPeerMac));
      if (gso_size == 0) continue;
      batch[number - 1].gso_size = gso_size;
      batch[number - 1].gso_type = core::GsoType::tcpv4;
      batch[number - 1].checksum = core::ChecksumState::partial;
      batch[number - 1].set_checksum_start(34);
    }
    const IoResult result = socket.send(batch, frames);
    batch.take_prefix(frames, [](core::PacketPtr packet) { core::consume(std::move(packet)); });
    host.cpu().settle();
    return result;
  }
  struct Received {
    IoResult result;
    std::vector<std::uint32_t> numbers;
  };
  Received receive(PacketSocket& socket, std::size_t most) {
    std::vector<host::ReceiveSlot> slots(most);
    for (host::ReceiveSlot& slot : slots)
      slot = {.packet = world.packets.allocate(core::Origin::host_copy), .capacity = 2048};
    Received received;
    received.result = socket.receive(slots);
    for (std::size_t i = 0; i < received.result.count; ++i)
      received.numbers.push_back(number_of(*slots[i].packet));
    for (host::ReceiveSlot& slot : slots)
      core::deliver(std::move(slot.packet));
    host.cpu().settle();
    return received;
  }
  std::int64_t time_of(const std::function<void()>& action) {
    host.cpu().settle();
    const core::Instant before = host.now();
    action();
    host.cpu().settle();
    return (host.now() - before).count();
  }

  World world;
  HostMachine& host;
  net::Device& device;
  FakeDriver& driver;
};

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("sendmmsg pays once for the call and for each message") {
  Bench bench;
  bench.run([&] {
    PacketSocket socket(bench.device, {});
    for (const std::uint32_t frames : {1u, 8u, 64u}) {
      CAPTURE(frames);
      const std::int64_t each = 10 + 60 + 300 + 30;  // alloc, bytes, send; the driver frees
      CHECK(bench.time_of([&] { CHECK(bench.send(socket, frames).count == frames); }) ==
            500 + frames * each);
    }
  });
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("recvmmsg pays once for the call and for each message") {
  Bench bench;
  bench.run([&] {
    PacketSocket socket(bench.device, {});
    for (const std::uint32_t frames : {1u, 8u, 64u}) {
      CAPTURE(frames);
      for (std::uint32_t number = 1; number <= frames; ++number)
        bench.arrive(number);
      CHECK(bench.time_of([&] { bench.receive(socket, 64); }) == 250 + frames * (100 + 60 + 30));
    }
    CHECK(bench.time_of([&] { bench.receive(socket, 64); }) == 250);
  });
}

TEST_CASE("recvmmsg of 8 with an error after 3 returns the 3, and the next call the error") {
  Bench bench;
  bench.run([&] {
    PacketSocket socket(bench.device, {});
    for (std::uint32_t number = 1; number <= 8; ++number)
      bench.arrive(number);
    bench.host.cpu().settle();
    // Each message takes 190 ns after the 250 of the call: the third is done at 820.
    bench.world.at(bench.world.now_ns() + 700, [&] { socket.report_error(); });
    const Bench::Received first = bench.receive(socket, 8);
    CHECK(first.result.status == IoStatus::ok);
    CHECK(first.numbers == Numbers{1, 2, 3});
    CHECK(bench.receive(socket, 8).result.status == IoStatus::failed);
    CHECK(bench.receive(socket, 8).numbers == Numbers{4, 5, 6, 7, 8});
  });
}

TEST_CASE("a full receive buffer drops what comes, and counts it") {
  Bench bench;
  bench.run([&] {
    PacketSocket socket(bench.device, {});
    for (std::uint32_t number = 1; number <= 100; ++number)
      bench.arrive(number, 1514);
    // 93 full frames of 2,304 bytes of memory: the last goes beyond 212,992.
    CHECK(socket.waiting() == 93);
    CHECK(socket.figures().packets == 100);
    CHECK(socket.figures().drops == 7);
    bench.receive(socket, 1);
    bench.arrive(101, 1514);
    CHECK(socket.waiting() == 93);
  });
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("the filter refuses frames from one source address") {
  Bench bench;
  bench.run([&] {
    PacketSocket socket(bench.device, {.ignored_source = net::MacAddress{kGuestMac}});
    bench.arrive(1, 60, kGuestMac);
    bench.arrive(2, 60, kPeerMac);
    CHECK(bench.receive(socket, 8).numbers == Numbers{2});
    CHECK(socket.figures().filtered == 1);
    CHECK(socket.figures().packets == 1);
  });
}

TEST_CASE("a socket does not see what it sends; another one does, unless it passes the qdisc by") {
  Bench bench;
  bench.run([&] {
    PacketSocket other(bench.device, {});
    for (const bool bypass : {false, true}) {
      CAPTURE(bypass);
      PacketSocket socket(bench.device, {.qdisc_bypass = bypass});
      CHECK(bench.send(socket, 3).count == 3);
      CHECK(socket.waiting() == 0);
      CHECK(bench.receive(other, 8).numbers == (bypass ? Numbers{} : Numbers{1, 2, 3}));
    }
  });
  CHECK(bench.driver.sent.size() == 6);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE(
    "when the device's queue is full, a call returns what went before, and the next ENOBUFS") {
  Bench bench(2);  // packets of each band
  bench.driver.frees_at_once = false;
  bench.driver.ring_length = 1;
  bench.run([&] {
    PacketSocket socket(bench.device, {});
    const IoResult first = bench.send(socket, 8);
    CHECK(first.status == IoStatus::ok);
    CHECK(first.count == 4);  // in the ring, in the requeue slot, and two in the band
    const IoResult second = bench.send(socket, 8);
    CHECK(second.status == IoStatus::no_buffers);
    CHECK(second.count == 0);
    bench.driver.ring_length = 1000;
    bench.driver.complete(1);
  });
  CHECK(drops(bench.world, core::DropReason::qdisc_drop) == 2);
  CHECK(bench.driver.sent.size() == 4);
}

TEST_CASE("a stopped queue refuses what would pass the qdisc by") {
  Bench bench;
  bench.driver.frees_at_once = false;
  bench.driver.ring_length = 1;
  bench.run([&] {
    PacketSocket socket(bench.device, {.qdisc_bypass = true});
    CHECK(bench.send(socket, 8).count == 1);
    CHECK(bench.send(socket, 8).status == IoStatus::no_buffers);
    bench.driver.complete(1);
    CHECK(bench.send(socket, 1).count == 1);
    bench.driver.complete(1);
  });
}

TEST_CASE("a full send buffer stops a call, and the next one would block") {
  Bench bench;
  bench.driver.frees_at_once = false;
  bench.run([&] {
    PacketSocket socket(bench.device, {.send_buffer_bytes = 3 * 768});
    CHECK(bench.send(socket, 8).count == 3);
    CHECK(bench.send(socket, 8).status == IoStatus::would_block);
    bench.driver.complete(2);
    CHECK(bench.send(socket, 8).count == 2);
  });
}

TEST_CASE("a message longer than the device takes fails, unless it is to be segmented") {
  Bench bench;
  bench.driver.offers.segmentation = true;
  bench.driver.offers.transmit_checksum = true;
  bench.run([&] {
    PacketSocket socket(bench.device, {});
    CHECK(bench.send(socket, 1, 1518).status == IoStatus::ok);  // room for a VLAN tag
    CHECK(bench.send(socket, 1, 1519).status == IoStatus::failed);
    CHECK(bench.send(socket, 1, 9000, 1448).status == IoStatus::ok);
    bench.device.close();
    CHECK(bench.send(socket, 1).status == IoStatus::failed);
  });
}

TEST_CASE("marks cross with PACKET_VNET_HDR, and are lost without") {
  Bench bench;
  core::ChecksumState sent{};
  bench.driver.offers.transmit_checksum = true;  // or the stack would finish the checksum first
  bench.driver.to_wire = [&](const core::Packet& packet) { sent = packet.checksum; };
  bench.run([&] {
    for (const bool header : {true, false}) {
      CAPTURE(header);
      const auto expected = header ? core::ChecksumState::partial : core::ChecksumState::none;
      PacketSocket socket(bench.device, {.vnet_header = header});
      core::PacketBatch batch(1);
      batch.push_back(make_frame(bench.world.packets, 1, 200, kGuestMac, kPeerMac));
      batch[0].checksum = core::ChecksumState::partial;
      batch[0].set_checksum_start(34);
      batch[0].checksum_offset = 6;
      CHECK(socket.send(batch, 1).status == IoStatus::ok);
      CHECK(sent == expected);
      bench.arrive(batch.take_front());
      std::vector<host::ReceiveSlot> slots(1);
      slots[0] = {.packet = bench.world.packets.allocate(core::Origin::host_copy),
                  .capacity = 2048};
      CHECK(socket.receive(slots).count == 1);
      CHECK(slots[0].packet->checksum == expected);
      core::deliver(std::move(slots[0].packet));
      bench.host.cpu().settle();
    }
  });
}

}  // namespace tapestry::tests::packet_socket_test
