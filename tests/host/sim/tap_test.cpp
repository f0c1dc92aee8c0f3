#include "host/sim/tap.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "core/checksum.hpp"
#include "tests/host/host_world.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests::tap_test {

using host::IoStatus;
using host::sim::Tap;
using host::sim::TapDescriptor;
using host::sim::TapOffloads;
using host::sim::TapOptions;

namespace {

sched::CostTable costs() {
  sched::CostTable table = sched::CostTable::zero();
  table.set(sched::Work::packet_alloc, sched::Cost{.per_item_ps = 100'000});
  table.set(sched::Work::packet_pages, sched::Cost{.per_item_ps = 3'000'000});
  table.set(sched::Work::packet_free, sched::Cost{.per_item_ps = 30'000});
  table.set(sched::Work::tap_write, sched::Cost{.per_item_ps = 700'000});
  table.set(sched::Work::tap_read, sched::Cost{.per_item_ps = 400'000});
  table.set(sched::Work::tap_queue, sched::Cost{.per_item_ps = 120'000});
  table.set(sched::Work::user_copy_io, sched::Cost{.per_byte_fs = 1'000'000});
  table.set(sched::Work::netif_receive, sched::Cost{.per_item_ps = 70'000});
  return table;
}

class Bench {
 public:
  explicit Bench(TapOptions options = {})
      : world(sched::SettleMode::seams, costs()),
        host(world.make<HostMachine>(world)),
        device(host.add_device("tap0")),
        tap(world.make<Tap>(device, options)) {}

  void run(std::function<void()> body) {
    host.run([this, body = std::move(body)] {
      device.open();
      body();
      host.cpu().settle();
    });
  }
  host::IoResult write(TapDescriptor& descriptor, std::uint32_t number, std::size_t length = 60) {
    core::PacketBatch batch(1);
    batch.push_back(make_frame(world.packets, number, length, kGuestMac, kPeerMac));
    const host::IoResult result = descriptor.send(batch, 1);
    core::consume(batch.take_front());
    return result;
  }
  host::ReceiveSlot read(TapDescriptor& descriptor, std::size_t capacity = 2048) {
    std::vector<host::ReceiveSlot> slots(1);
    slots[0].packet = world.packets.allocate(core::Origin::host_copy);
    slots[0].capacity = capacity;
    CHECK(descriptor.receive(slots).status == IoStatus::ok);
    return std::move(slots[0]);
  }

  World world;
  HostMachine& host;
  net::Device& device;
  Tap& tap;
};

// Leaves the sum over the frame from byte 34 on, stored at 40, to others, as a stack does for a
// device that says it will do it.
core::PacketPtr unfinished(core::PacketPtr frame) {
  CHECK(frame->make_linear(64));
  frame->data()[40] = frame->data()[41] = 0;
  frame->checksum = core::ChecksumState::partial;
  frame->set_checksum_start(34);
  frame->checksum_offset = 6;
  return frame;
}
bool is_finished(const core::Packet& packet) {
  core::InternetChecksum sum;
  core::add_packet_range(sum, packet, 34, packet.length() - 34);
  return sum.finish() == 0;
}

}  // namespace

TEST_CASE("offloads belong to the tap: they outlive who set them, and the next reader suffers") {
  Bench bench;
  bench.run([&] {
    auto former =
        bench.tap.open_reader(true, TapOffloads{.checksum = true, .tcp4_segmentation = true});
    former.reset();
    auto reader = bench.tap.open_reader(false);
    CHECK(bench.device.features().segmentation);

    core::PacketPtr large = unfinished(make_frame(bench.world.packets, 1, 5000));
    large->gso_size = 1448;
    large->gso_type = core::GsoType::tcpv4;
    bench.device.transmit(std::move(large));
    host::ReceiveSlot slot = bench.read(*reader, 1514);
    CHECK(slot.truncated);
    CHECK(slot.length == 1514);
    CHECK(slot.packet->gso_size == 0);
    CHECK(slot.packet->checksum == core::ChecksumState::none);
    CHECK_FALSE(is_finished(*slot.packet));
    core::deliver(std::move(slot.packet));
  });
  CHECK(bench.world.packets.close().truncated == core::Tally{1, 5000 - 1514});
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("a tap that nobody told of offloads gets finished checksums") {
  Bench bench;
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    bench.device.transmit(unfinished(make_frame(bench.world.packets, 1, 1000)));
    host::ReceiveSlot slot = bench.read(*reader);
    CHECK(is_finished(*slot.packet));
    core::deliver(std::move(slot.packet));
  });
}

TEST_CASE("with a virtual header both sides know what is unfinished") {
  Bench bench;
  bench.run([&] {
    auto reader =
        bench.tap.open_reader(true, TapOffloads{.checksum = true, .tcp4_segmentation = true});
    core::PacketPtr large = unfinished(make_frame(bench.world.packets, 1, 5000));
    large->gso_size = 1448;
    large->gso_segments = 4;
    large->gso_type = core::GsoType::tcpv4;
    bench.device.transmit(std::move(large));
    host::ReceiveSlot slot = bench.read(*reader, 65'536);
    CHECK_FALSE(slot.truncated);
    CHECK(slot.packet->checksum == core::ChecksumState::partial);
    CHECK(slot.packet->checksum_start() == 34);
    CHECK(slot.packet->gso_size == 1448);
    CHECK(slot.packet->gso_segments == 4);
    core::deliver(std::move(slot.packet));
  });
}

TEST_CASE("segmentation without checksums makes no sense, and one descriptor is enough") {
  Bench bench;
  bench.run([&] {
    CHECK_FALSE(bench.tap.set_offloads({.tcp4_segmentation = true}));
    CHECK(bench.tap.open_reader(true, TapOffloads{.tcp6_segmentation = true}) == nullptr);
    CHECK_FALSE(bench.tap.carrier());
    auto reader = bench.tap.open_reader(true);
    CHECK(bench.tap.carrier());
    CHECK(bench.tap.open_reader(false) == nullptr);
    reader.reset();
    CHECK_FALSE(bench.tap.carrier());
    CHECK(bench.tap.open_reader(false) != nullptr);
  });
}

TEST_CASE("the queue to the reader is as long as txqueuelen; what comes then is dropped") {
  Bench bench({.queue_packets = 3});
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    for (std::uint32_t number = 1; number <= 5; ++number)
      bench.device.transmit(make_frame(bench.world.packets, number));
    bench.host.cpu().settle();
    CHECK(reader->waiting() == 3);
    host::ReceiveSlot slot = bench.read(*reader);
    CHECK(number_of(*slot.packet) == 1);
    core::deliver(std::move(slot.packet));
    bench.device.transmit(make_frame(bench.world.packets, 6));
    bench.host.cpu().settle();
    CHECK(reader->waiting() == 3);
  });
  CHECK(drops(bench.world, core::DropReason::full_ring) == 2);
  CHECK(drops(bench.world, core::DropReason::queue_purge) == 3);  // unread when it was closed
  CHECK(bench.device.figures().tx_dropped == 2);
  CHECK(bench.device.figures().tx_packets == 4);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("without a reader there is nobody to queue for") {
  Bench bench;
  bench.run([&] { bench.device.transmit(make_frame(bench.world.packets, 1)); });
  CHECK(drops(bench.world, core::DropReason::no_reader) == 1);
  CHECK(bench.device.figures().tx_dropped == 1);
}

TEST_CASE("a write runs the host's receive path inside the call, with bottom halves off") {
  Bench bench;
  World& world = bench.world;
  bench.device.set_receive_handler([&](core::PacketPtr packet) {
    world.story.log(bench.host.cpu(), bench.host.cpu().bottom_halves_enabled() ? "late" : "inside");
    World::spend(bench.host.cpu(), 1'000);  // a bridge, a NIC's transmit
    bench.host.stack.allocator().free(std::move(packet));
    return core::PacketPtr();
  });
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    world.story.log(bench.host.cpu(), "write");
    CHECK(bench.write(*reader, 1).status == IoStatus::ok);
    bench.host.cpu().settle();
    world.story.log(bench.host.cpu(), "written");
  });
  // packet_alloc 100, 60 bytes, tap_write 700, netif_receive 70; 1,000; packet_free 30
  CHECK_THAT(world.story, Tells(R"(
         0 cpu0 write
       930 cpu0 inside
      1960 cpu0 written
  )"));
  CHECK(bench.device.figures().rx_packets == 1);
  CHECK(ledger_is_closed(world));
}

TEST_CASE("before, a write only queued the packet, and the receive path ran in a softirq") {
  Bench bench({.receives_inline = false});
  int received = 0;
  bench.device.set_receive_handler([&](core::PacketPtr packet) {
    CHECK(bench.host.cpu().in_softirq());
    ++received;
    bench.host.stack.allocator().free(std::move(packet));
    return core::PacketPtr();
  });
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    CHECK(bench.write(*reader, 1).status == IoStatus::ok);
  });
  CHECK(received == 1);
}

TEST_CASE("a read costs its fixed part, its bytes and the packet's end; an empty one nothing") {
  Bench bench;
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    bench.device.transmit(make_frame(bench.world.packets, 1, 500));
    bench.host.cpu().settle();
    const core::Instant before = bench.host.now();
    host::ReceiveSlot slot = bench.read(*reader);
    core::deliver(std::move(slot.packet));
    bench.host.cpu().settle();
    CHECK(bench.host.now() - before == core::Nanos{400 + 500 + 30});
    std::vector<host::ReceiveSlot> slots(1);
    CHECK(reader->receive(slots).status == IoStatus::would_block);
    CHECK(bench.host.cpu().owed() == core::Nanos{0});
  });
}

TEST_CASE("a packet beyond one page pays for its pages") {
  Bench bench;
  bench.device.set_receive_handler([&](core::PacketPtr packet) {
    core::deliver(std::move(packet));
    return core::PacketPtr();
  });
  bench.run([&] {
    auto reader = bench.tap.open_reader(true);
    struct Row {
      std::size_t length;
      std::int64_t pages_ns;
    };
    for (const Row row : {Row{1514, 0}, Row{4096, 0}, Row{4097, 3'000}, Row{9014, 3'000}}) {
      const core::Instant before = bench.host.now();
      CHECK(bench.write(*reader, 1, row.length).status == IoStatus::ok);
      bench.host.cpu().settle();
      const std::int64_t rest = 100 + static_cast<std::int64_t>(row.length) + 700 + 70;
      CHECK((bench.host.now() - before).count() == rest + row.pages_ns);
    }
  });
}

TEST_CASE("a write fails while the interface is down, and when it is no frame") {
  Bench bench;
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    core::PacketBatch batch(1);
    core::PacketPtr runt = bench.world.packets.allocate(core::Origin::stack);
    runt->put(13);
    batch.push_back(std::move(runt));
    CHECK(reader->send(batch, 1).status == IoStatus::failed);
    core::consume(batch.take_front());
    bench.device.close();
    CHECK(bench.write(*reader, 1).status == IoStatus::failed);
  });
  CHECK(bench.device.figures().rx_packets == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("a descriptor may be closed while what it sent is still on its way") {
  Bench bench({.send_buffer_bytes = 2'000});
  core::PacketQueue held(10);
  bench.device.set_receive_handler([&](core::PacketPtr packet) {
    (void)held.push(std::move(packet));
    return core::PacketPtr();
  });
  bench.run([&] {
    auto reader = bench.tap.open_reader(false);
    CHECK(bench.write(*reader, 1).status == IoStatus::ok);
    CHECK(bench.write(*reader, 2).status == IoStatus::ok);
    CHECK(bench.write(*reader, 3).status == IoStatus::ok);
    CHECK(bench.write(*reader, 4).status == IoStatus::would_block);
    reader.reset();
    while (core::PacketPtr packet = held.pop())
      bench.host.stack.allocator().free(std::move(packet));
  });
  CHECK(ledger_is_closed(bench.world));
}

}  // namespace tapestry::tests::tap_test
