// The vector driver's way in: polls, calls, buffers, and when it stops looking.
#include "tests/transports/driver_bench.hpp"

namespace tapestry::tests::vector_receive_test {
namespace {

using transports::Vector;
using transports::VectorOptions;

TEST_CASE("How many frames a call and a poll bring, transport by transport") {
  struct Row {
    const char* what;
    host::IoCapabilities port;
    VectorOptions options;
    std::uint32_t frames;
    const char* polls;
    std::size_t calls;
    std::uint64_t empty = 1;  // of these; in 6.1 a timer from opening looks once more
  };
  constexpr auto kOdd = Behaviour::uml_6_1;
  const auto row = GENERATE(values<Row>({
      {"raw", kRaw, {}, 150, "64 64 22", 4},
      {"raw, 6.1", kRaw, {.behaviour = kOdd}, 150, "64 64 22 0 0", 5, 2},
      {"hybrid", kHybrid, {}, 150, "64 64 22", 4},
      {"raw, one budget", kRaw, {}, 64, "64 0", 2},
      {"raw, one budget, 6.1", kRaw, {.behaviour = kOdd}, 64, "64 0 0", 3, 2},
      {"raw, depth 8", kRaw, {.depth = 8}, 20, "8 8 4", 4},
      {"raw, vec=0", kRaw, {.vec = false}, 70, "64 6", 71},
      {"tap", kTap, {}, 70, "64 6", 71},
      {"tap, 6.1", kTap, {.behaviour = kOdd}, 3, "1 1 1 0", 4},
      {"tap, depth 2", kTap, {.depth = 2}, 3, "2 1", 4},
      {"raw, old", kRaw, {.napi = false}, 150, "", 4},
      {"tap, old", kTap, {.napi = false}, 200, "", 201},
  }));
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(row.what);
  Bench bench(mode, {.port = row.port});
  PollLog polls(bench.machine);
  bench.vector(row.options);
  bench.arrive(1, row.frames);  // before the device is open: no edge tells of them
  bench.process([] {});
  bench.world.run();
  CHECK(polls.text == row.polls);
  CHECK(bench.fake.receive_calls() == row.calls);
  CHECK(bench.port.figures().empty_receives == row.empty);
  CHECK(bench.received == from_to(1, row.frames));
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A poll with its whole budget used completes in 6.1, and stays scheduled by contract") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool contract = GENERATE(true, false);
  Bench bench(mode);
  Vector& driver = bench.vector({.behaviour = contract ? Behaviour::contract : Behaviour::uml_6_1});
  bench.arrive(1, 64);
  bench.process([] {});
  bench.world.run_until(900'000);  // before the first tick
  const irq::Napi::Figures& figures = driver.napi().figures();
  CHECK(figures.polls == 2);
  CHECK(figures.full_polls == 1);
  CHECK(figures.missed == (contract ? 0 : 1));  // of the completion that came too early
  CHECK(figures.completions == 1);
  CHECK(bench.received.size() == 64);
}

TEST_CASE("Before NAPI a handler ends after 65 rounds, and what is left interrupts once more") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kTap});
  Vector& driver = bench.vector({.napi = false});
  bench.process([] {});
  bench.arrive_at(1'000'000, 1, 140);
  bench.world.run();
  CHECK(bench.received == from_to(1, 140));
  // One at opening; then 65, 65 and 10 frames and the look that finds nothing.
  CHECK(driver.receive_line().delivered() == 4);
  CHECK(bench.fake.receive_calls() == 142);
}

TEST_CASE("Before NAPI a burst overruns the backlog, and with NAPI it does not") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool napi = GENERATE(true, false);
  Bench bench(mode);
  bench.vector({.napi = napi});
  bench.process([] {});
  bench.arrive_at(1'000'000, 1, FakePort::kQueueBound);
  // The handler of a fast host: more has come before it is through.
  for (int more = 1; more <= 20; ++more)
    bench.arrive_at(1'000'000 + more * 1'000, 1'001 + 100u * static_cast<unsigned>(more), 5);
  bench.world.run();
  const std::size_t overflows = bench.fake.overflows();
  CHECK(bench.received.size() + bench.device.figures().rx_dropped + overflows ==
        FakePort::kQueueBound + 100);
  CHECK(bench.device.figures().rx_dropped == bench.drops(core::DropReason::cpu_backlog));
  CHECK((bench.device.figures().rx_dropped > 0) == !napi);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("An error behind three frames brings the three, and shows in the next call") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool contract = GENERATE(true, false);
  Bench bench(mode);
  bench.vector({.behaviour = contract ? Behaviour::contract : Behaviour::uml_6_1});
  bench.fake.fail_receive_after(3);
  bench.arrive(1, 8);
  bench.process([&] {
    bench.sleep_until(900'000);  // before the first tick
    CHECK(bench.received == from_to(1, 3));
    CHECK(bench.fake.receive_calls() == 2);
    CHECK(bench.device.running() == !contract);
    bench.send_one(make_frame(bench.world.packets, 1));
    CHECK(bench.fake.send_calls().empty());
  });
  bench.world.run();
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A frame that comes at any instant around the end of a poll is received") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool contract = GENERATE(true, false);
  const bool vec = GENERATE(true, false);
  std::int64_t late = 0;
  for (std::int64_t second = 1'000'000; second < 1'008'000; second += 37) {
    Bench bench(mode);
    bench.vector({.vec = vec, .behaviour = contract ? Behaviour::contract : Behaviour::uml_6_1});
    bench.process([] {});
    bench.arrive_at(1'000'000, 1, 1);
    bench.arrive_at(second, 2, 1);
    bench.world.run();
    if (bench.received.size() != 2) ++late;
  }
  CHECK(late == 0);
}

TEST_CASE("A buffer is as long as the driver makes it, and longer frames are cut") {
  struct Row {
    VectorOptions options;
    std::size_t arrives, received;
  };
  const auto row = GENERATE(values<Row>({{{.gro = false}, 1514, 1514},
                                         {{.gro = false}, 1548, 1548},
                                         {{.gro = false}, 1549, 1548},
                                         {{.gro = false}, 9000, 1548},
                                         {{.gro = false, .vec = false}, 9000, 1548},
                                         {{.gro = false, .napi = false}, 9000, 1548},
                                         {{.gro = true}, 9000, 9000},
                                         {{.gro = true}, 65'535, 65'535}}));
  Bench bench(sched::SettleMode::seams);
  bench.vector(row.options);
  bench.process([] {});
  bench.arrive_at(1'000'000, 1, 1, row.arrives);
  bench.world.run();
  CHECK(bench.lengths == std::vector<std::size_t>{row.received});
  CHECK(bench.port.figures().truncated_frames == (row.arrives > row.received ? 1 : 0));
}

TEST_CASE("A frame that the host has verified counts as such") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool vec = GENERATE(true, false);
  Bench bench(mode);
  const Vector& driver = bench.vector({.vec = vec});
  bench.process([] {});
  bench.world.at(1'000'000, [&] {
    for (const std::uint32_t number : {1u, 2u, 3u}) {
      core::PacketPtr frame = make_frame(bench.world.packets, number);
      if (number != 2) frame->checksum = core::ChecksumState::unnecessary;
      bench.fake.arrive(std::move(frame));
    }
  });
  bench.world.run();
  CHECK(driver.statistics().rx_csum_offload_good == 2);
  CHECK(driver.statistics().rx_queue_max == (vec ? 3 : 0));
}

// A frame that is lost makes room for the next one's buffer; a vector has its buffers before.
TEST_CASE("Without memory for a buffer the frame is read and lost") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool vec = GENERATE(true, false);
  Bench bench(mode);
  bench.vector({.vec = vec});
  bench.arrive(1, 2);
  std::vector<core::PacketPtr> hoard;
  while (core::PacketPtr packet = bench.world.packets.allocate(core::Origin::stack))
    hoard.push_back(std::move(packet));
  bench.process([&] {
    bench.sleep_until(1'000'000);
    CHECK(bench.device.figures().rx_dropped == (vec ? 2 : 1));
    for (core::PacketPtr& packet : hoard)
      core::consume(std::move(packet));
    bench.arrive(3, 1);
    bench.sleep_until(2'000'000);
    CHECK(bench.received == (vec ? Numbers{3} : Numbers{2, 3}));
  });
  bench.world.run();
  CHECK(bench.drops(core::DropReason::nomem) == (vec ? 2 : 1));
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("netpoll sends what waits and receives nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode);
  Vector& driver = bench.vector({.depth = 16});
  bench.process([&] {
    bench.sleep_until(100'000);
    const sched::BottomHalvesOff exclude(bench.machine.cpu());
    bench.send(1, 3, 60, true);
    bench.arrive(1, 3);
    const std::size_t before = bench.fake.receive_calls();
    bench.machine.napi.netpoll(driver.napi());
    CHECK(bench.calls() == "3:3");
    CHECK(bench.fake.receive_calls() == before);
  });
  bench.world.run();
  CHECK(bench.received == from_to(1, 3));
}

}  // namespace
}  // namespace tapestry::tests::vector_receive_test
