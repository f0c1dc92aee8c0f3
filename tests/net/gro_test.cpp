// Generic receive offload: what is merged, what ends a packet, when packets go up, and that cutting
// what was merged gives back the segments.
#include "net/gro.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "net/gso.hpp"
#include "tests/support/net_world.hpp"
#include "tests/support/tcp_frames.hpp"

namespace tapestry::tests::gro_test {
namespace {

using core::ChecksumState;
using core::PacketPtr;
using sched::Work;

// What went up, behind GRO.
struct Up {
  std::int64_t at_ns;
  std::vector<std::uint8_t> bytes;
  std::uint16_t size;
  std::uint16_t segments;
  ChecksumState checksum;
  bool fixed_id;
};

struct Run {
  explicit Run(net::StackOptions options = {}, sched::SettleMode mode = sched::SettleMode::seams,
               TestMachineOptions machine_options = {},
               sched::CostTable costs = sched::CostTable::zero())
      : world(mode, std::move(costs)),
        machine(world.make<NetMachine>(world, 1u, machine_options, options)) {
    machine.driver.offers = {.scatter_gather = true, .receive_checksum = true, .gro = true};
    machine.device.set_receive_handler([this](PacketPtr packet) {
      up.push_back({world.now_ns(), bytes_of(*packet), packet->gso_size, packet->gso_segments,
                    packet->checksum, packet->gso_fixed_id});
      if (on_up) on_up(*packet);
      core::deliver(std::move(packet));
      return PacketPtr();
    });
    machine.process("opener", [] {});
    world.run_until(1'000'000);
  }
  // All of them are in the ring before the first is looked at.
  void receive(std::vector<PacketPtr> frames) {
    world.at(world.now_ns() + 1000, [&] {
      for (PacketPtr& frame : frames)
        machine.driver.inject(std::move(frame));
    });
    world.run();
  }
  core::PacketPool& pool() { return world.packets; }
  // "3 1 2": how many segments each packet that went up has.
  std::string counts() const {
    std::string text;
    for (const Up& one : up)
      text += (text.empty() ? "" : " ") + std::to_string(std::max<int>(one.segments, 1));
    return text;
  }

  World world;
  NetMachine& machine;
  std::vector<Up> up;
  std::function<void(const core::Packet&)> on_up;
};

// Segments of one stream, one behind the other.
std::vector<TcpFrame> stream(std::size_t count, std::size_t payload = 1448) {
  std::vector<TcpFrame> frames(count);
  for (std::size_t i = 0; i < count; ++i) {
    frames[i].payload = payload;
    frames[i].sequence = 1000 + static_cast<std::uint32_t>(i * payload);
    frames[i].identification = static_cast<std::uint16_t>(5 + i);
  }
  return frames;
}

std::vector<PacketPtr> packets_of(core::PacketPool& pool, const std::vector<TcpFrame>& frames) {
  std::vector<PacketPtr> packets;
  for (const TcpFrame& frame : frames)
    packets.push_back(make_tcp(pool, frame));
  return packets;
}

constexpr std::uint8_t kFin = net::tcp_fields::kFin;
constexpr std::uint8_t kPsh = net::tcp_fields::kPsh;

TEST_CASE("Segments that follow each other go up as one, as a sender would have made it") {
  Run run;
  auto frames = stream(5);
  frames[4].payload = 300;
  frames[4].flags = kAckFlag | kPsh;
  run.receive(packets_of(run.pool(), frames));
  REQUIRE(run.counts() == "5");
  const Up& one = run.up[0];
  CHECK(one.size == 1448);
  CHECK(one.checksum == ChecksumState::partial);
  CHECK_FALSE(one.fixed_id);
  const TcpView view(one.bytes);
  CHECK(view.payload() == 4 * 1448 + 300);
  CHECK(view.total_length() == view.bytes.size() - 14);
  CHECK(view.ip_checksum_is_right());
  CHECK(view.payload_is_of_stream(1));
  CHECK(view.flags() == (kAckFlag | kPsh));
  CHECK(view.identification() == 5);
  CHECK(run.world.packets.ledger().ended(core::Outcome::merged).packets == 4);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("What differs from the held packet sends it up, and begins anew or goes itself") {
  struct Row {
    const char* what;
    std::function<void(TcpFrame&)> change;  // of the third of four
    const char* counts;
  };
  const Row rows[] = {
      {"nothing", [](TcpFrame&) {}, "4"},
      {"a gap", [](TcpFrame& frame) { frame.sequence += 1; }, "2 1 1"},
      {"a repetition", [](TcpFrame& frame) { frame.sequence -= 1448; }, "2 1 1"},
      {"another acknowledgment", [](TcpFrame& frame) { ++frame.acknowledgment; }, "2 1 1"},
      {"another window", [](TcpFrame& frame) { ++frame.window; }, "2 1 1"},
      {"other options",
       [](TcpFrame& frame) {
         frame.options = {1, 1, 1, 0};
       },
       "2 1 1"},
      {"ECN echo", [](TcpFrame& frame) { frame.flags |= 0x40; }, "2 1 1"},
      {"window reduced", [](TcpFrame& frame) { frame.flags |= 0x80; }, "2 2"},
      {"time to live", [](TcpFrame& frame) { --frame.time_to_live; }, "2 1 1"},
      {"type of service", [](TcpFrame& frame) { frame.type_of_service = 2; }, "2 1 1"},
      {"may be fragmented", [](TcpFrame& frame) { frame.fragment = 0; }, "2 1 1"},
      {"an identification left out", [](TcpFrame& frame) { ++frame.identification; }, "2 2"},
      {"a fragment", [](TcpFrame& frame) { frame.fragment = 0x2000; }, "2 1 1"},
      {"a push ends it", [](TcpFrame& frame) { frame.flags |= kPsh; }, "3 1"},
      {"the end of the stream", [](TcpFrame& frame) { frame.flags |= kFin; }, "3 1"},
      {"urgent data", [](TcpFrame& frame) { frame.flags |= 0x20; }, "2 1 1"},
      {"a reset", [](TcpFrame& frame) { frame.flags |= 0x04; }, "2 1 1"},
      {"longer than the first", [](TcpFrame& frame) { frame.payload = 1449; }, "2 1 1"},
      {"shorter than the first", [](TcpFrame& frame) { frame.payload = 1447; }, "3 1"},
      {"no data", [](TcpFrame& frame) { frame.payload = 0; }, "2 1 1"}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Run run;
    auto frames = stream(4);
    row.change(frames[2]);
    if (row.what == std::string("other options")) frames[3].options.clear();
    run.receive(packets_of(run.pool(), frames));
    CHECK(run.counts() == row.counts);
    // Whatever happens, in order, and each packet once.
    std::uint32_t last = 0;
    for (const Up& one : run.up) {
      const bool repeats = row.what == std::string("a repetition");
      CHECK((repeats || TcpView(one.bytes).sequence() > last));
      last = TcpView(one.bytes).sequence();
    }
    CHECK(ledger_is_closed(run.world));
  }
}

TEST_CASE(
    "Identifications may stand still if nothing may be fragmented, but not change their mind") {
  struct Row {
    std::vector<std::uint16_t> identifications;
    bool fragmentable;
    const char* counts;
    bool fixed;
  };
  const Row rows[] = {
      {{7, 7, 7, 7}, false, "4", true},       {{7, 8, 9, 10}, false, "4", false},
      {{7, 7, 8, 9}, false, "2 2", true},     {{7, 8, 8, 8}, false, "2 2", false},
      {{7, 7, 7, 7}, true, "1 1 1 1", false}, {{0xfffe, 0xffff, 0, 1}, true, "4", false}};
  for (const Row& row : rows) {
    CAPTURE(row.identifications);
    Run run;
    auto frames = stream(4);
    for (std::size_t i = 0; i < 4; ++i) {
      frames[i].identification = row.identifications[i];
      if (row.fragmentable) frames[i].fragment = 0;
    }
    run.receive(packets_of(run.pool(), frames));
    CHECK(run.counts() == row.counts);
    CHECK(run.up[0].fixed_id == row.fixed);
  }
}

TEST_CASE("A packet grows to 65,535 bytes and no further, whatever its number of fragments") {
  Run run;
  run.receive(packets_of(run.pool(), stream(60)));
  // 20 + 20 + 45 x 1448 = 65,200; 46 would be 66,648.
  CHECK(run.counts() == "45 15");
  CHECK(TcpView(run.up[0].bytes).payload_is_of_stream(1));
  CHECK(TcpView(run.up[1].bytes).payload_is_of_stream(1));
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("Only good checksums are merged: verified by the device, or here, which costs") {
  struct Row {
    ChecksumState state;
    bool right;
    const char* counts;
    std::int64_t sums;
  };
  for (const Row row :
       {Row{ChecksumState::none, true, "3", 3}, Row{ChecksumState::none, false, "1 1 1", 3},
        Row{ChecksumState::unnecessary, true, "3", 0},
        Row{ChecksumState::partial, false, "3", 0}}) {
    CAPTURE(row.counts, row.sums);
    Run run({}, sched::SettleMode::seams, {}, net_costs());
    auto packets = packets_of(run.pool(), stream(3));
    for (PacketPtr& packet : packets) {
      packet->checksum = row.state;
      if (!row.right) packet->data()[50] ^= 0xff;
      if (row.state == ChecksumState::partial) packet->set_checksum_start(34);
    }
    run.receive(std::move(packets));
    CHECK(run.counts() == row.counts);
    const sched::Usage& usage = run.machine.machine.scheduler.cpu(0).usage();
    CHECK(usage.of(Work::checksum) == row.sums * net_costs().cost(Work::checksum, 1, 1468));
    CHECK(usage.of(Work::gro) == 3 * net_costs().cost(Work::gro));
  }
}

TEST_CASE("Streams that alternate are merged each for itself, eight of them in one list") {
  struct Row {
    std::size_t streams;
    bool hashed;
    std::size_t buckets;
    std::size_t packets;
  };
  // With nine in one list each newcomer sends the oldest up.
  for (const Row row :
       {Row{8, false, 8, 8}, Row{9, false, 8, 27}, Row{9, true, 8, 9}, Row{9, true, 1, 27}}) {
    CAPTURE(row.streams, row.hashed, row.buckets);
    Run run({.gro_buckets = row.buckets});
    std::vector<PacketPtr> packets;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t flow = 0; flow < row.streams; ++flow) {
        TcpFrame frame = stream(3)[i];
        frame.source_port = static_cast<std::uint16_t>(100 + flow);
        packets.push_back(make_tcp(run.pool(), frame));
        if (row.hashed) packets.back()->hash = static_cast<std::uint32_t>(flow + 1);
      }
    }
    run.receive(std::move(packets));
    CHECK(run.up.size() == row.packets);
    CHECK(ledger_is_closed(run.world));
  }
}

TEST_CASE("Frames that are none of its business go up in their place") {
  Run run;
  auto packets = packets_of(run.pool(), stream(2));
  packets.push_back(make_frame(run.pool(), 9));
  packets.push_back(make_frame(run.pool(), 10));
  run.receive(std::move(packets));
  REQUIRE(run.up.size() == 3);
  CHECK(run.up[2].segments == 2);  // held until the poll was over
}

TEST_CASE("What goes up waits for eight, or for the end of the poll") {
  const std::size_t batch = GENERATE(std::size_t{1}, std::size_t{8});
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(Work::gro, sched::Cost{.fixed_ps = 100'000});
  Run run({.gro_normal_batch = batch}, sched::SettleMode::seams, {}, costs);
  std::vector<PacketPtr> packets;
  for (std::uint32_t i = 0; i < 10; ++i)
    packets.push_back(make_frame(run.pool(), i));
  run.receive(std::move(packets));
  REQUIRE(run.up.size() == 10);
  const std::int64_t first = run.up[0].at_ns;
  std::vector<std::int64_t> after;
  for (const Up& one : run.up)
    after.push_back(one.at_ns - first);
  if (batch == 8)
    CHECK(after == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 200, 200});
  else
    CHECK(after == std::vector<std::int64_t>{0, 100, 200, 300, 400, 500, 600, 700, 800, 900});
}

TEST_CASE(
    "A poll that used its budget sends up what is older than a tick; slow ticks, everything") {
  struct Row {
    int hz;
    const char* counts;
  };
  // 100 segments, budget 64: packets of at most 45.
  for (const Row row : {Row{1000, "45 45 10"}, Row{250, "45 19 36"}}) {
    CAPTURE(row.hz);
    TestMachineOptions options;
    options.hz = row.hz;
    Run run({}, sched::SettleMode::seams, options);
    run.receive(packets_of(run.pool(), stream(100)));
    CHECK(run.counts() == row.counts);
    CHECK(ledger_is_closed(run.world));
  }
}

TEST_CASE("Without GRO, by device, by switch or by age of the kernel, all go up as they are") {
  for (const char* const why : {"device", "switch", "kernel"}) {
    CAPTURE(why);
    Run run({.receive_offload = why != std::string("kernel")});
    if (why == std::string("switch")) run.machine.device.set_receive_offload(false);
    if (why == std::string("device")) {
      run.machine.driver.offers.gro = false;
      run.machine.device.update_features();
    }
    run.receive(packets_of(run.pool(), stream(3)));
    CHECK(run.counts() == "1 1 1");
  }
}

// --- there and back ------------------------------------------------------------------------------

std::uint64_t below(core::RandomStream& random, std::uint64_t bound) {
  return random.uniform(bound);
}

// A stream with changes of all kinds at random.
std::vector<TcpFrame> random_stream(core::RandomStream& random) {
  std::vector<TcpFrame> frames;
  TcpFrame next;
  next.sequence = static_cast<std::uint32_t>(below(random, 0xffffffff));
  const bool fixed = below(random, 3) == 0;
  const std::size_t size = 1 + below(random, 1448);
  for (std::size_t i = 0; i < 90; ++i) {
    next.payload = below(random, 12) == 0 ? below(random, size + 1) : size;
    next.flags = kAckFlag;
    if (below(random, 15) == 0) next.flags |= kPsh;
    if (below(random, 40) == 0) next.flags |= 0x80;
    if (below(random, 40) == 0) ++next.acknowledgment;
    if (below(random, 40) == 0) next.window = static_cast<std::uint16_t>(below(random, 65536));
    if (below(random, 40) == 0) next.options = {1, 1, 1, static_cast<std::uint8_t>(i)};
    if (below(random, 60) == 0) next.sequence += 7;
    frames.push_back(next);
    next.sequence += static_cast<std::uint32_t>(next.payload);
    if (!fixed || below(random, 30) == 0) ++next.identification;
  }
  return frames;
}

TEST_CASE("Cutting what was merged gives back the segments, byte for byte") {
  std::size_t merged = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    core::RandomStream random(seed, "gro");
    Run run({}, seed % 2 == 0 ? sched::SettleMode::always : sched::SettleMode::random);
    std::vector<std::vector<std::uint8_t>> expected, found;
    std::vector<PacketPtr> packets = packets_of(run.pool(), random_stream(random));
    for (const PacketPtr& packet : packets)
      expected.push_back(bytes_of(*packet));
    run.on_up = [&](const core::Packet& packet) {
      if (packet.gso_size == 0) {
        found.push_back(bytes_of(packet));
        return;
      }
      for (std::size_t i = 0; i < net::segment_count(packet); ++i) {
        PacketPtr piece =
            net::cut_segment(packet, net::gso_header_bytes(packet), i, core::Origin::segmentation);
        net::finish_checksum(*piece);
        found.push_back(bytes_of(*piece));
        core::consume(std::move(piece));
      }
    };
    run.receive(std::move(packets));
    REQUIRE(found.size() == expected.size());
    CHECK((found == expected));
    CHECK(ledger_is_closed(run.world));
    merged += expected.size() - run.up.size();
  }
  CHECK(merged > 2000);  // of 5,400: else it would prove little
}

}  // namespace
}  // namespace tapestry::tests::gro_test
