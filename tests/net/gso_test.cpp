// Software segmentation: every field of every segment, who pays, who owns, and what devices get.
#include "net/gso.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/net_world.hpp"
#include "tests/support/tcp_frames.hpp"

namespace tapestry::tests::gso_test {
namespace {

using core::ChecksumState;
using core::PacketPtr;
using sched::Work;

struct Run {
  explicit Run(net::Features offers = {.scatter_gather = true}, net::DeviceOptions options = {})
      : world(sched::SettleMode::seams, net_costs()),
        machine(world.make<NetMachine>(world, 1u, TestMachineOptions{}, net::StackOptions{},
                                       std::move(options))) {
    machine.driver.offers = offers;
  }
  // The frames that the driver was given for it.
  std::vector<TcpView> transmit(PacketPtr packet) {
    machine.process("sender", [&] {
      machine.machine.cpu().settle();
      machine.device.transmit(std::move(packet));
    });
    world.run();
    std::vector<TcpView> views;
    for (const FakeDriver::Sent& sent : machine.driver.sent)
      views.emplace_back(sent.bytes);
    return views;
  }
  core::PacketPool& pool() { return world.packets; }

  World world;
  NetMachine& machine;
};

constexpr std::uint8_t kFinPsh = net::tcp_fields::kFin | net::tcp_fields::kPsh;
constexpr std::uint8_t kCwr = net::tcp_fields::kCwr;

TEST_CASE("Each segment of a TCP packet has its own length, place, identification and flags") {
  Run run;
  TcpFrame frame;
  frame.payload = 4 * 1448 + 100;
  frame.sequence = 0xffff'ff00;  // wraps
  frame.identification = 0xfffe;
  frame.flags = kAckFlag | kFinPsh | kCwr;
  frame.options = {1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 4};
  const auto sent = run.transmit(make_large_tcp(run.pool(), frame, 1448));
  struct Row {
    std::size_t payload;
    std::uint32_t sequence;
    std::uint16_t identification;
    std::uint8_t flags;
  };
  const Row rows[] = {{1448, 0xffff'ff00, 0xfffe, kAckFlag | kCwr},
                      {1448, 0x0000'04a8, 0xffff, kAckFlag},
                      {1448, 0x0000'0a50, 0x0000, kAckFlag},
                      {1448, 0x0000'0ff8, 0x0001, kAckFlag},
                      {100, 0x0000'15a0, 0x0002, kAckFlag | kFinPsh}};
  REQUIRE(sent.size() == 5);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CAPTURE(i);
    CHECK(sent[i].payload() == rows[i].payload);
    CHECK(sent[i].total_length() == 52 + rows[i].payload);
    CHECK(sent[i].sequence() == rows[i].sequence);
    CHECK(sent[i].identification() == rows[i].identification);
    CHECK(sent[i].flags() == rows[i].flags);
    CHECK(sent[i].ip_checksum_is_right());
    CHECK(sent[i].checksum_is_right());
    CHECK(sent[i].payload_is_of_stream(1));
    CHECK(std::equal(frame.options.begin(), frame.options.end(), sent[i].bytes.begin() + 54));
    CHECK(sent[i].be32(42) == 77);
    CHECK(run.machine.driver.sent[i].more == (i != 4));
  }
  CHECK(ledger_is_closed(run.world));
  CHECK(run.world.packets.ledger().ended(core::Outcome::segmented) ==
        core::Tally{1, frame.payload});
  CHECK(run.world.packets.ledger().created(core::Origin::segmentation) ==
        core::Tally{5, frame.payload});
}

TEST_CASE("Segments of a packet with one identification all have it") {
  Run run;
  PacketPtr large = make_large_tcp(run.pool(), {.payload = 3000}, 1000);
  large->gso_fixed_id = true;
  for (const TcpView& view : run.transmit(std::move(large)))
    CHECK(view.identification() == 5);
}

TEST_CASE("UDP segments have their length, identification and checksum") {
  Run run;
  const auto sent = run.transmit(make_large_udp(run.pool(), {.payload = 2500}, 1200));
  REQUIRE(sent.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const std::size_t payload = i == 2 ? 100 : 1200;
    CHECK(sent[i].bytes.size() == 42 + payload);
    CHECK(sent[i].be16(38) == 8 + payload);
    CHECK(sent[i].identification() == 5 + i);
    CHECK(sent[i].ip_checksum_is_right());
    CHECK(sent[i].checksum_is_right());
  }
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("A device that cuts by itself gets the packet whole, within its limits") {
  struct Row {
    const char* what;
    net::Features offers;
    net::DeviceOptions options;
    bool fixed_id;
    ChecksumState checksum;
    std::size_t frames;
  };
  const net::Features cuts{.scatter_gather = true, .transmit_checksum = true, .segmentation = true};
  net::Features cuts_fixed = cuts;
  cuts_fixed.fixed_id_segmentation = true;
  const net::Features only_udp{
      .scatter_gather = true, .transmit_checksum = true, .udp_segmentation = true};
  const Row rows[] = {
      {"it can", cuts, {}, false, ChecksumState::partial, 1},
      {"verified is as good", cuts, {}, false, ChecksumState::unnecessary, 1},
      {"but not without any checksum", cuts, {}, false, ChecksumState::none, 3},
      {"not with one identification", cuts, {}, true, ChecksumState::partial, 3},
      {"unless it can that too", cuts_fixed, {}, true, ChecksumState::partial, 1},
      {"only UDP", only_udp, {}, false, ChecksumState::partial, 3},
      {"too long", cuts, {.gso_max_bytes = 3054}, false, ChecksumState::partial, 3},
      {"just short enough", cuts, {.gso_max_bytes = 3055}, false, ChecksumState::partial, 1},
      {"too many", cuts, {.gso_max_segments = 2}, false, ChecksumState::partial, 3},
      {"just few enough", cuts, {.gso_max_segments = 3}, false, ChecksumState::partial, 1}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Run run(row.offers, row.options);
    PacketPtr large = make_large_tcp(run.pool(), {.payload = 3000}, 1000);
    large->gso_fixed_id = row.fixed_id;
    large->checksum = row.checksum;
    CHECK(run.transmit(std::move(large)).size() == row.frames);
    CHECK(ledger_is_closed(run.world));
  }
}

TEST_CASE("Checksums of segments stay unfinished for a device that finishes them") {
  Run run({.scatter_gather = true, .transmit_checksum = true});
  for (const TcpView& view : run.transmit(make_large_tcp(run.pool(), {.payload = 3000}, 1000))) {
    CHECK_FALSE(view.checksum_is_right());
    core::InternetChecksum pseudo;
    core::add_ipv4_pseudo_header(pseudo, 0x0a000002, 0x0a000001, 6,
                                 static_cast<std::uint16_t>(view.bytes.size() - 34));
    CHECK(view.be16(50) == pseudo.sum());
  }
}

TEST_CASE("What cannot be cut is dropped, and said to be") {
  struct Row {
    const char* what;
    std::function<void(core::Packet&)> spoil;
  };
  const Row rows[] = {
      {"another ethertype", [](core::Packet& packet) { packet.data()[12] = 0x86; }},
      {"another protocol", [](core::Packet& packet) { packet.data()[23] = 17; }},
      {"a TCP header that is none", [](core::Packet& packet) { packet.data()[46] = 0x40; }},
      {"a single segment", [](core::Packet& packet) { packet.gso_size = 3000; }},
      {"IPv6", [](core::Packet& packet) { packet.gso_type = core::GsoType::tcpv6; }}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Run run;
    PacketPtr large = make_large_tcp(run.pool(), {.payload = 3000}, 1000);
    row.spoil(*large);
    CHECK(run.transmit(std::move(large)).empty());
    CHECK(drops(run.world, core::DropReason::skb_gso_seg) == 1);
    CHECK(run.machine.device.figures().tx_dropped == 1);
    CHECK(ledger_is_closed(run.world));
  }
}

TEST_CASE("Cutting is paid for by the segment, and copying where a device cannot gather") {
  const auto spent = [](net::Features offers, Work work) {
    Run run(offers);
    run.transmit(make_large_tcp(run.pool(), {.payload = 3000}, 1000));
    return run.machine.machine.scheduler.cpu(0).usage().of(work);
  };
  const sched::CostTable costs = net_costs();
  const net::Features bare{}, gathers{.scatter_gather = true},
      sums{.scatter_gather = true, .transmit_checksum = true};
  CHECK(spent(gathers, Work::gso_segment) == costs.cost(Work::gso_segment, 3));
  CHECK(spent(gathers, Work::copy) == core::Nanos{0});
  CHECK(spent(bare, Work::copy) == 3 * costs.cost(Work::copy, 1, 1054));
  CHECK(spent(gathers, Work::checksum) == 3 * costs.cost(Work::checksum, 1, 1020));
  CHECK(spent(sums, Work::checksum) == core::Nanos{0});
}

TEST_CASE("A device that cannot gather gets packets in one piece, with the same bytes") {
  Run run({.scatter_gather = false});
  PacketPtr packet = make_partial_tcp(run.pool(), {.payload = 500});
  core::PayloadRef more = run.pool().allocate_payload(200);
  for (std::size_t i = 0; i < 200; ++i)
    more.writable()[i] = stream_byte(1500 + static_cast<std::uint32_t>(i), 1);
  packet->append_payload(std::move(more));
  packet->account(200);
  packet->checksum = ChecksumState::none;
  std::size_t ranges = 0;
  run.machine.driver.to_wire = [&](const core::Packet& given) {
    ranges = given.fragments().size();
  };
  const auto sent = run.transmit(std::move(packet));
  REQUIRE(sent.size() == 1);
  CHECK(ranges == 1);
  CHECK(sent[0].payload() == 700);
  CHECK(sent[0].payload_is_of_stream(1));
}

// --- owners --------------------------------------------------------------------------------------

struct Owner final : core::PacketOwner {
  explicit Owner(bool by_segment) : charges_segments(by_segment) {}
  void packet_released(std::uint32_t bytes) override {
    held -= bytes;
    ++releases;
  }
  bool packet_segmented(std::uint32_t more) override {
    if (charges_segments) held += more;
    return charges_segments;
  }
  bool charges_segments;
  std::int64_t held = 0;
  int releases = 0;
};

TEST_CASE("The owner's charge goes on with the segments, and comes back whole") {
  struct Row {
    bool by_segment;
    int releases;
    std::int64_t held_at_most;
  };
  // A segment of 1,054 bytes counts 2,304; the packet was charged 4,000.
  for (const Row row : {Row{true, 3, 3 * 2304}, Row{false, 1, 4000}}) {
    CAPTURE(row.by_segment);
    Run run;
    auto& owner = run.world.make<Owner>(row.by_segment);
    PacketPtr large = make_large_tcp(run.pool(), {.payload = 3000}, 1000);
    large->set_owner(owner, 4000);
    owner.held = 4000;
    std::int64_t most = 0;
    run.machine.driver.to_wire = [&](const core::Packet&) { most = std::max(most, owner.held); };
    run.transmit(std::move(large));
    CHECK(owner.held == 0);
    CHECK(owner.releases == row.releases);
    CHECK(most == row.held_at_most);
  }
}

TEST_CASE("More segments than the queue is long wait for a busy driver, in order") {
  Run run({.scatter_gather = true}, {.txqueuelen = 1});
  run.machine.driver.busy_times = 1;
  const auto sent = run.transmit(make_large_tcp(run.pool(), {.payload = 20'000}, 500));
  REQUIRE(sent.size() == 40);
  for (std::size_t i = 0; i < sent.size(); ++i)
    CHECK(sent[i].sequence() == 1000 + 500 * i);
  CHECK(ledger_is_closed(run.world));
}

}  // namespace
}  // namespace tapestry::tests::gso_test
