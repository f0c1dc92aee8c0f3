// The vector driver's way out: which calls it makes, what it does when the host takes only a part,
// or nothing.
#include "tests/transports/driver_bench.hpp"

namespace tapestry::tests::vector_transmit_test {
namespace {

using transports::Vector;
using transports::VectorOptions;

constexpr std::int64_t kTick = 1'000'000;  // at 1000 HZ

std::int64_t at_ns(const FakePort::SendCall& call) { return core::nanos_since_start(call.at); }

// The host has room again: who was refused and listens is told.
void writable_at(Bench& bench, std::int64_t instant_ns) {
  bench.world.at(instant_ns, [&bench] { bench.fake.would_block_for(core::Nanos{0}); });
}

TEST_CASE("How many packets leave in one call is the transport's and the driver's doing") {
  struct Row {
    const char* what;
    host::IoCapabilities port;
    VectorOptions options;
    std::uint32_t frames;
    std::size_t length;
    const char* calls;
    std::uint64_t kicks;  // a train's last is the timer's, which nobody stops
  };
  const auto row = GENERATE(values<Row>({
      {"tap", kTap, {}, 3, 60, "1:1 1:1 1:1", 0},
      {"hybrid", kHybrid, {}, 3, 60, "1:1 1:1 1:1", 0},
      {"raw", kRaw, {}, 10, 60, "10:10", 1},
      {"raw, vec=0", kRaw, {.vec = false}, 3, 60, "1:1 1:1 1:1", 0},
      {"raw, one at a time", kRaw, {}, 1, 60, "1:1", 0},
      {"a ring of 4", kRaw, {.depth = 4}, 10, 60, "4:4 4:4 2:2", 1},
      {"a ring of 1", kRaw, {.depth = 1}, 3, 60, "1:1 1:1 1:1", 0},
      // Before NAPI a ring is full one message earlier; small packets leave at once, others a bit
      // later.
      {"old, small", kRaw, {.napi = false}, 10, 127, "10:10", 2},
      {"old, large", kRaw, {.napi = false}, 10, 128, "10:10", 2},
      {"old, a ring of 4", kRaw, {.depth = 4, .napi = false}, 10, 60, "3:3 3:3 3:3 1:1", 5},
  }));
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(row.what);
  Bench bench(mode, {.port = row.port});
  Vector& driver = bench.vector(row.options);
  bench.process([&] { bench.send(1, row.frames, row.length); });
  bench.world.run();
  CHECK(bench.calls() == row.calls);
  CHECK(bench.sent() == from_to(1, row.frames));
  CHECK(driver.statistics().tx_kicks == row.kicks);
  CHECK(bench.port.figures().send_calls == bench.fake.send_calls().size());
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Before NAPI a large packet waits for the tasklet, a small one does not") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const std::size_t length = GENERATE(127u, 128u);
  Bench bench(mode);
  bench.vector({.napi = false});
  std::size_t calls_inside = 0;
  bench.process([&] {
    const sched::BottomHalvesOff exclude(bench.machine.cpu());
    bench.send(1, 1, length);
    calls_inside = bench.fake.send_calls().size();
  });
  bench.world.run();
  CHECK(calls_inside == (length < Vector::kSmallPacket ? 1 : 0));
  CHECK(bench.calls() == "1:1");
}

TEST_CASE("Of a batch that is taken in part, the rest follows in order when the host has room") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 16, .napi = napi});
  bench.process([&] {
    CHECK(bench.fake.writable_watched());
    bench.fake.accept_at_most(4);
    bench.fake.refuse_sends(host::IoStatus::would_block);
    bench.send(1, 10);
  });
  writable_at(bench, 300'000);
  bench.world.run();
  CHECK(bench.calls() == "10:4 6:again 6:6");
  CHECK(at_ns(bench.fake.send_calls()[2]) > 300'000);
  CHECK(bench.sent() == from_to(1, 10));
  CHECK(bench.device.figures().tx_packets == 10);
  CHECK(driver.statistics().tx_restart_queue == 1);
  CHECK(bench.fake.writable_edges() == 1);
  CHECK(driver.transmit_line().delivered() == 1);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A batch around the ring's end takes two calls, and each may be taken in part") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 16, .napi = napi});
  bench.process([&] {
    bench.fake.accept_at_most(12);
    bench.fake.refuse_sends(host::IoStatus::would_block);
    bench.send(1, 14);  // two stay, at the places 12 and 13
    bench.fake.accept_at_most(3);
    bench.fake.refuse_sends(host::IoStatus::would_block);
    bench.send(15, 8);  // ten wait: four to the end, six behind the front
  });
  writable_at(bench, 300'000);
  writable_at(bench, 600'000);
  bench.world.run();
  CHECK(bench.calls() == "14:12 2:again 4:3 1:again 1:1 6:6");
  CHECK(bench.sent() == from_to(1, 22));
  CHECK(bench.device.figures().tx_packets == 22);
  CHECK(driver.statistics().tx_restart_queue == 2);
  CHECK(driver.statistics().tx_queue_max == 12);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("An empty ring starts over at its front, so that the next batch is one call") {
  Bench bench(sched::SettleMode::seams);
  bench.vector({.depth = 16});
  bench.process([&] {
    bench.send(1, 10);
    bench.send(11, 10);
  });
  bench.world.run();
  CHECK(bench.calls() == "10:10 10:10");
}

TEST_CASE("The driver of 6.1 spins until the host takes what is left") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto refusal = GENERATE(host::IoStatus::would_block, host::IoStatus::no_buffers);
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 16, .behaviour = Behaviour::uml_6_1});
  bench.process([&] {
    if (refusal == host::IoStatus::would_block)
      bench.fake.would_block_for(core::Nanos{300'000});
    else
      bench.fake.no_buffers_for(core::Nanos{300'000});
    bench.send(1, 10);
  });
  bench.world.run();
  CHECK(bench.sent() == from_to(1, 10));
  CHECK(bench.fake.send_calls().size() > 50);
  CHECK(driver.statistics().tx_restart_queue == bench.fake.send_calls().size() - 1);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A device queue that is full is tried again a tick later, and traffic goes on") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 16, .napi = napi});
  bench.process([&] {
    bench.fake.no_buffers_for(core::Nanos{5 * kTick});
    bench.send(1, 10);
    bench.send(11, 2);  // joins them, without a call of its own
    bench.sleep_until(8 * kTick);
    bench.send(13, 2);
  });
  bench.world.run();
  CHECK(bench.calls() == "10:nobufs 12:nobufs 12:nobufs 12:nobufs 12:nobufs 12:nobufs 12:12 2:2");
  for (std::size_t i = 1; i < bench.fake.send_calls().size() - 1; ++i)
    CHECK(at_ns(bench.fake.send_calls()[i]) / kTick == static_cast<std::int64_t>(i));
  CHECK(bench.sent() == from_to(1, 14));
  CHECK(bench.device.figures().tx_dropped == 0);
  CHECK(bench.port.figures().send_no_buffers == 6);
  CHECK(driver.statistics().tx_restart_queue == 6);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE(
    "A device queue that stays full costs the packets after ten ticks, and no more than that") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  Bench bench(mode);
  bench.vector({.depth = 16, .napi = napi});
  bench.process([&] {
    bench.fake.no_buffers_for(core::Nanos{15 * kTick});
    bench.send(1, 10);
    bench.sleep_until(20 * kTick);
    bench.send(11, 10);
  });
  bench.world.run();
  CHECK(bench.fake.send_calls().size() == Vector::kRetriesMax + 2);
  CHECK(bench.sent() == from_to(11, 20));
  CHECK(bench.device.figures().tx_packets == 10);
  CHECK(bench.device.figures().tx_bytes == 600);
  CHECK(bench.device.figures().tx_dropped == 10);
  CHECK(bench.drops(core::DropReason::io_error) == 10);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A full ring loses what comes, and only the driver of 6.1 calls the host for each") {
  const bool contract = GENERATE(true, false);
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.byte_queue_limits = true});
  bench.vector({.depth = 4, .behaviour = contract ? Behaviour::contract : Behaviour::uml_6_1});
  std::string calls_while_full;
  bench.process([&] {
    bench.fake.would_block_for(core::Nanos{300'000});
    const sched::BottomHalvesOff exclude(bench.machine.cpu());
    bench.send(1, 4);
    CHECK(bench.send_one(make_frame(bench.world.packets, 5)) == net::Transmit::dropped);
    CHECK(bench.send_one(make_frame(bench.world.packets, 6)) == net::Transmit::dropped);
    calls_while_full = bench.calls();
    CHECK(bench.device.queue().limit().in_flight_bytes() == 4 * 60);
  });
  bench.world.run();
  CHECK(calls_while_full == (contract ? "1:again" : "4:again 4:again 4:again"));
  CHECK(bench.sent() == from_to(1, 4));
  CHECK(bench.drops(core::DropReason::full_ring) == 2);
  CHECK(bench.device.queue().limit().in_flight_bytes() == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE(
    "Packets that wait for more leave after the coalescing time, or, in 6.1, at the next tick") {
  struct Row {
    Behaviour behaviour;
    std::uint64_t coalesce_jiffies;
    std::int64_t sent_at_jiffy;
    std::uint64_t kicks;  // the driver of 6.1 has one from opening
  };
  const auto row = GENERATE(values<Row>({{Behaviour::contract, 1, 11, 1},
                                         {Behaviour::contract, 2, 12, 1},
                                         {Behaviour::contract, 50, 60, 1},
                                         {Behaviour::uml_6_1, 1, 11, 2},
                                         {Behaviour::uml_6_1, 2, 11, 2},
                                         {Behaviour::uml_6_1, 50, 11, 2}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  CAPTURE(row.coalesce_jiffies, napi);
  Bench bench(mode);
  Vector& driver = bench.vector(
      {.napi = napi, .behaviour = row.behaviour, .coalesce_jiffies = row.coalesce_jiffies});
  bench.process([&] {
    bench.sleep_until(10 * kTick + kTick / 5);
    bench.send(1, 3, 60, true);
    bench.sleep_until(10 * kTick + 4 * kTick / 5);
    bench.send(4, 3, 60, true);  // does not put off the first
  });
  bench.world.run();
  CHECK(bench.calls() == "6:6");
  CHECK(at_ns(bench.fake.send_calls()[0]) / kTick == row.sent_at_jiffy);
  CHECK(driver.statistics().tx_kicks == row.kicks);
}

TEST_CASE("A train that the byte limit stops is sent, though more was promised; in 6.1 it waits") {
  const auto behaviour = GENERATE(Behaviour::contract, Behaviour::uml_6_1);
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.byte_queue_limits = true});
  bench.vector({.behaviour = behaviour});
  bench.process([&] {
    bench.sleep_until(10 * kTick + kTick / 5);
    bench.send(1, 1, 60, true);
  });
  bench.world.run();
  CHECK(bench.calls() == "1:1");
  CHECK(at_ns(bench.fake.send_calls()[0]) / kTick == (behaviour == Behaviour::contract ? 10 : 11));
}

TEST_CASE("A send that fails: by contract the device goes down, in 6.1 all count as sent") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  const bool contract = GENERATE(true, false);
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 16,
                                 .napi = napi,
                                 .behaviour = contract ? Behaviour::contract : Behaviour::uml_6_1});
  bench.process([&] {
    bench.fake.refuse_sends(host::IoStatus::failed);
    bench.send(1, 10);
    bench.send_one(make_frame(bench.world.packets, 11));
    bench.sleep_until(2 * kTick);
    CHECK(bench.device.running() == !contract);
  });
  bench.world.run();
  CHECK(bench.calls() == "10:failed");
  CHECK(bench.device.figures().tx_packets == (contract ? 0 : 10));
  CHECK(bench.device.figures().tx_bytes == (contract ? 0 : 600));
  CHECK(bench.device.figures().tx_dropped == (contract ? 11 : 1));
  CHECK(driver.statistics().tx_queue_max == (contract ? 0 : 10));
  CHECK(bench.drops(core::DropReason::io_error) == 11);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A far side that has closed reads as nothing; the next send tells, once") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto port = GENERATE(values<host::IoCapabilities>({kTap, kRaw}));
  Bench bench(mode, {.port = port});
  bench.vector();
  bench.process([&] {
    bench.fake.close_far_side();
    bench.sleep_until(2 * kTick);
    CHECK(bench.device.running());
    CHECK(bench.fake.receive_calls() == 1);
    bench.send(1, 1);
    bench.send(2, 1);
    bench.sleep_until(4 * kTick);
    CHECK_FALSE(bench.device.running());
    CHECK_FALSE(bench.device.transmit(make_frame(bench.world.packets, 3)));
  });
  bench.world.run();
  CHECK(bench.calls() == "1:closed");
  CHECK(bench.device.figures().tx_packets == 0);
  CHECK(bench.device.figures().tx_dropped == 3);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Without a ring a packet that the host cannot take now is lost") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto refusal = GENERATE(host::IoStatus::would_block, host::IoStatus::no_buffers);
  Bench bench(mode, {.port = kHybrid});
  bench.vector();
  bench.process([&] {
    bench.fake.accept_at_most(1);
    bench.fake.refuse_sends(refusal);
    bench.send(1, 3);
  });
  bench.world.run();
  CHECK(bench.sent() == Numbers{1, 3});
  CHECK(bench.device.figures().tx_packets == 2);
  CHECK(bench.device.figures().tx_dropped == 1);
  CHECK(bench.drops(core::DropReason::io_again) == 1);
}

TEST_CASE("Through the stack: a train from the queueing discipline leaves in few calls") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.byte_queue_limits = true});
  bench.vector();
  bench.process([&] {
    for (std::uint32_t number = 1; number <= 200; ++number)
      CHECK(bench.device.transmit(make_frame(bench.world.packets, number, 1000)));
  });
  bench.world.run();
  CHECK(bench.sent() == from_to(1, 200));
  CHECK(bench.device.figures().tx_packets == 200);
  CHECK(bench.device.figures().tx_bytes == 200'000);
  CHECK(bench.device.queue().limit().in_flight_bytes() == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("The watchdog wakes the queue and tries again") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 4, .napi = napi});
  bench.process([&] {
    bench.fake.refuse_sends(host::IoStatus::would_block);  // and nobody says when it is over
    bench.send(1, 1);
    bench.device.queue().stop();
    const sched::BottomHalvesOff exclude(bench.machine.cpu());
    bench.device.driver().transmit_timed_out();
  });
  bench.world.run();
  CHECK(driver.statistics().tx_timeout_count == 1);
  CHECK_FALSE(bench.device.queue().stopped());
  CHECK(bench.calls() == "1:again 1:1");
}

}  // namespace
}  // namespace tapestry::tests::vector_transmit_test
