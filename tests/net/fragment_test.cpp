// Cutting packets and putting them together again, whatever happens to the pieces on their way.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "net/headers.hpp"
#include "net/ipv4.hpp"
#include "net/ping.hpp"
#include "tests/core/property.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::fragment_test {
namespace {

using core::DropReason;
using net::SocketStatus;

constexpr std::uint16_t kPort = 9;

// A sender whose frames a test delivers by hand to a receiver.
struct ByHand {
  explicit ByHand(std::uint32_t mtu_bytes = 1500, sched::SettleMode mode = sched::SettleMode::seams)
      : world(mode, net_costs()),
        a(world.make<NetMachine>(world, 1u, TestMachineOptions{}, net::StackOptions{},
                                 net::DeviceOptions{.mtu_bytes = mtu_bytes})),
        b(world.make<NetMachine>(world, 2u)) {
    a.stack.arp().add(a.device, b.own(), b.device.mac());
    b.stack.arp().add(b.device, a.own(), a.device.mac());
    a.driver.to_wire = [this](const core::Packet& packet) {
      core::PacketPtr frame = packet.clone();
      frame->checksum = core::ChecksumState::none;
      (void)frames.push(std::move(frame));
    };
  }

  // One datagram, cut into frames.
  void send(const std::vector<std::uint8_t>& payload) {
    a.process("sender", [this, payload] {
      const auto socket = a.stack.udp().open();
      REQUIRE(socket->send_to({b.own(), kPort}, payload) == SocketStatus::ok);
    });
    world.run_until(world.now_ns() + 50'000'000);
  }
  std::vector<core::PacketPtr> take_frames() {
    std::vector<core::PacketPtr> all;
    while (core::PacketPtr frame = frames.pop())
      all.push_back(std::move(frame));
    return all;
  }
  void deliver(core::PacketPtr frame) { b.driver.inject(std::move(frame)); }

  // What the receiver has got, within 10 ms.
  std::vector<std::vector<std::uint8_t>> receive_all() {
    std::vector<std::vector<std::uint8_t>> all;
    bool done = false;
    b.process("receiver", [&] {
      std::vector<std::uint8_t> buffer(65'536);
      while (!done) {
        const auto got = socket().receive(buffer, world.timeline.now() + core::Nanos{10'000'000});
        if (got.status != SocketStatus::ok) break;
        all.emplace_back(buffer.begin(), buffer.begin() + static_cast<int>(got.length));
      }
    });
    world.run_until(world.now_ns() + 100'000'000);
    done = true;
    return all;
  }
  net::UdpSocket& socket() {
    if (!socket_) {
      socket_ = b.stack.udp().open();
      socket_->bind({{}, kPort});
      socket_->set_receive_buffer(16 << 20);
    }
    return *socket_;
  }
  // Listening from the start.
  void listen() {
    b.process("listener", [this] { (void)socket(); });
    world.run_until(world.now_ns() + 1'000'000);
  }
  const net::Reassembly::Figures& figures() { return b.stack.ipv4().reassembly().figures(); }

  World world;
  NetMachine& a;
  NetMachine& b;
  core::PacketQueue frames{4096};
  std::unique_ptr<net::UdpSocket> socket_;
};

struct Offset {
  std::size_t bytes;
  bool more;
};
Offset offset_of(const core::Packet& frame) {
  std::array<std::uint8_t, 2> field{};
  frame.copy_out(20, field);
  const std::uint16_t value = core::load_be16(field.data());
  return {(value & net::ipv4::kOffsetMask) * std::size_t{8},
          (value & net::ipv4::kMoreFragments) != 0};
}

TEST_CASE("3,000 bytes of ping travel in frames of 1514, 1514 and 82 bytes, both ways") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, net_costs());
  NetPair net(world);
  net.skip_arp();
  net.b.process("opener", [] {});
  net::PingSocket::Reply reply;
  net.a.process("ping", [&] {
    net::PingSocket socket(net.a.stack);
    REQUIRE(socket.open(77) == SocketStatus::ok);
    REQUIRE(socket.send(net.b.own(), 1, 3000) == SocketStatus::ok);
    reply = socket.receive();
  });
  world.run();
  CHECK(reply.bytes == 3000);
  CHECK(reply.intact);
  for (const NetMachine* m : {&net.a, &net.b}) {
    std::vector<std::size_t> lengths;
    for (const FakeDriver::Sent& sent : m->driver.sent)
      lengths.push_back(sent.length);
    CHECK(lengths == std::vector<std::size_t>{1514, 1514, 82});
    const auto& last = m->driver.sent[2].bytes;
    CHECK(core::load_be16(&last[20]) == 2960 / 8);  // offset, no more, no Don't Fragment bit
  }
  CHECK(net.a.stack.ipv4().figures().fragments_made == 3);
  CHECK(net.b.stack.ipv4().reassembly().figures().completed == 1);
  CHECK(ledger_is_closed(world));
  CHECK(world.packets.in_use() == 0);
}

TEST_CASE("Fragments in any order make the same datagram, by sharing or by copying") {
  const std::size_t length = GENERATE(3000u, 9000u, 65'507u);
  const bool reverse = GENERATE(false, true);
  ByHand run;
  run.listen();
  const auto payload = pattern(length);
  run.send(payload);
  auto frames = run.take_frames();
  if (reverse) std::ranges::reverse(frames);
  for (core::PacketPtr& frame : frames)
    run.deliver(std::move(frame));
  const auto got = run.receive_all();
  REQUIRE(got.size() == 1);
  CHECK(got[0] == payload);
  CHECK(run.figures().completed == 1);
  CHECK(ledger_is_closed(run.world));
  CHECK(run.b.stack.ipv4().reassembly().memory_bytes() == 0);
  CHECK(run.world.packets.in_use() == 0);
}

TEST_CASE("A fragment that comes twice is dropped once") {
  ByHand run;
  run.listen();
  const auto payload = pattern(3000);
  run.send(payload);
  auto frames = run.take_frames();
  run.deliver(frames[0]->clone());
  for (core::PacketPtr& frame : frames)
    run.deliver(std::move(frame));
  CHECK(run.receive_all() == std::vector<std::vector<std::uint8_t>>(1, payload));
  CHECK(drops(run.world, DropReason::dup_frag) == 1);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("A fragment that overlaps another ends the datagram") {
  ByHand run;
  run.listen();
  run.send(pattern(3000));
  auto frames = run.take_frames();
  // The second one, eight bytes earlier.
  std::array<std::uint8_t, 20> header{};
  frames[1]->copy_out(14, header);
  core::PacketPtr moved = frames[1]->clone();
  REQUIRE(moved->make_linear(34));
  core::store_be16(moved->data() + 20,
                   static_cast<std::uint16_t>(core::load_be16(moved->data() + 20) - 1));
  core::store_be16(moved->data() + 24, 0);
  core::store_be16(moved->data() + 24, core::internet_checksum({moved->data() + 14, 20}));
  run.deliver(std::move(frames[0]));
  run.deliver(std::move(moved));
  CHECK(run.receive_all().empty());
  CHECK(drops(run.world, DropReason::dup_frag) == 2);
  CHECK(run.figures().failed == 2);
  CHECK(run.b.stack.ipv4().reassembly().memory_bytes() == 0);
}

TEST_CASE("Fragments wait thirty seconds for the one that is missing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  ByHand run(1500, mode);
  run.listen();
  run.send(pattern(3000));
  auto frames = run.take_frames();
  run.deliver(std::move(frames[0]));
  run.deliver(std::move(frames[2]));
  run.world.run_until(29'900'000'000);
  CHECK(drops(run.world, DropReason::frag_reasm_timeout) == 0);
  run.world.run_until(31'000'000'000);
  CHECK(drops(run.world, DropReason::frag_reasm_timeout) == 2);
  CHECK(run.figures().timed_out == 1);
  run.deliver(std::move(frames[1]));
  run.world.run_until(70'000'000'000);
  CHECK(drops(run.world, DropReason::frag_reasm_timeout) == 3);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("No more than 64 datagrams are put together at once") {
  ByHand run;
  run.listen();
  for (int i = 0; i < 66; ++i) {
    run.send(pattern(2000));
    auto frames = run.take_frames();
    run.deliver(std::move(frames[0]));
    core::drop(std::move(frames[1]), DropReason::link_loss);
  }
  CHECK(run.receive_all().empty());
  CHECK(drops(run.world, DropReason::nomem) == 2);
}

TEST_CASE("Whatever the length, the MTU and the order, what arrives is what was sent") {
  for_all(
      [](const std::vector<std::uint8_t>& order) {
        const auto length = *rc::gen::inRange<std::size_t>(0, 12'000);
        const auto mtu = *rc::gen::inRange<std::uint32_t>(68, 3'000);
        const bool copies = *rc::gen::arbitrary<bool>();
        ByHand run(mtu);
        run.listen();
        const auto payload = pattern(length, static_cast<std::uint32_t>(length));
        run.send(payload);
        auto frames = run.take_frames();
        std::size_t expected_offset = 0;
        for (core::PacketPtr& frame : frames) {
          RC_ASSERT(frame->length() <= mtu + 14);
          RC_ASSERT(offset_of(*frame).bytes == expected_offset);
          RC_ASSERT(offset_of(*frame).more == (&frame != &frames.back()));
          expected_offset += frame->length() - 34;
          if (!copies) continue;
          const auto bytes = bytes_of(*frame);
          core::PayloadRef block = run.world.packets.allocate_payload(bytes.size());
          std::ranges::copy(bytes, block.writable().begin());
          frame->trim_to(0);
          frame->append_payload(std::move(block));
        }
        RC_ASSERT(expected_offset == length + 8);
        for (std::size_t i = 0; i < order.size() && frames.size() > 1; ++i)
          std::swap(frames[i % frames.size()], frames[order[i] % frames.size()]);
        for (core::PacketPtr& frame : frames)
          run.deliver(std::move(frame));
        const auto got = run.receive_all();
        RC_ASSERT(got.size() == 1u);
        RC_ASSERT(got[0] == payload);
        RC_ASSERT(ledger_is_closed(run.world));
        RC_ASSERT(run.world.packets.in_use() == 0u);
      },
      60);
}

}  // namespace
}  // namespace tapestry::tests::fragment_test
