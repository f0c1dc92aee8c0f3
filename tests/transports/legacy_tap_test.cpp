// UML's first driver: one call a packet, and nothing is tried twice.
#include "tests/transports/driver_bench.hpp"

namespace tapestry::tests::legacy_tap_test {
namespace {

TEST_CASE("The legacy driver reads frame by frame in the interrupt handler, until there is none") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kLegacy});
  transports::LegacyTap& driver = bench.legacy();
  bench.process([] {});
  bench.arrive_at(1'000'000, 1, 100);
  bench.world.run();
  CHECK(driver.line().delivered() == 2);     // one at opening
  CHECK(bench.fake.receive_calls() == 102);  // and one look each that finds nothing
  CHECK(bench.fake.empty_receives() == 2);
  CHECK(bench.received == from_to(1, 100));
  CHECK(bench.device.figures().rx_bytes == 6'000);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("The legacy driver writes each frame at once, whatever more is promised") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kLegacy});
  bench.legacy();
  bench.process([&] { bench.send(1, 3); });
  bench.world.run();
  CHECK(bench.calls() == "1:1 1:1 1:1");
  CHECK(bench.device.queue().figures().stops == 3);
  CHECK(bench.device.queue().figures().wakes == 0);  // it is started again, by itself
  CHECK_FALSE(bench.device.queue().stopped());
}

TEST_CASE("The legacy driver loses what the tap cannot take, and goes on") {
  struct Row {
    host::IoStatus refusal;
    core::DropReason reason;
  };
  const auto row = GENERATE(values<Row>({{host::IoStatus::would_block, core::DropReason::io_again},
                                         {host::IoStatus::no_buffers, core::DropReason::io_error},
                                         {host::IoStatus::failed, core::DropReason::io_error}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kLegacy});
  bench.legacy();
  bench.process([&] {
    bench.fake.accept_at_most(1);
    bench.fake.refuse_sends(row.refusal, 2);
    bench.send(1, 4);
  });
  bench.world.run();
  CHECK(bench.sent() == Numbers{1, 4});
  CHECK(bench.device.figures().tx_packets == 2);
  CHECK(bench.device.figures().tx_dropped == 2);
  CHECK(bench.drops(row.reason) == 2);
  CHECK(bench.device.running());
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Through the stack every frame of a legacy device is a call of its own") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kLegacy, .byte_queue_limits = true});
  bench.legacy();
  bench.process([&] {
    for (std::uint32_t number = 1; number <= 50; ++number)
      CHECK(bench.device.transmit(make_frame(bench.world.packets, number)));
  });
  bench.world.run();
  CHECK(bench.sent() == from_to(1, 50));
  CHECK(bench.fake.send_calls().size() == 50);
  CHECK(bench.machine.softirqs.runs(0, irq::Vector::net_tx) == 0);
}

TEST_CASE("A frame longer than a legacy buffer is cut, whatever the host has merged") {
  Bench bench(sched::SettleMode::seams, {.port = kLegacy});
  bench.legacy();
  bench.process([] {});
  bench.arrive_at(1'000'000, 1, 1, 1'514);
  bench.arrive_at(2'000'000, 2, 1, 1'515);
  bench.arrive_at(3'000'000, 3, 1, 60'000);
  bench.world.run();
  CHECK(bench.lengths == std::vector<std::size_t>{1'514, 1'514, 1'514});
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Without memory a legacy device reads into a sink, and counts") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kLegacy});
  bench.legacy();
  bench.arrive(1, 3);
  std::vector<core::PacketPtr> hoard;
  while (core::PacketPtr packet = bench.world.packets.allocate(core::Origin::stack))
    hoard.push_back(std::move(packet));
  bench.process([&] {
    bench.sleep_until(1'000'000);
    CHECK(bench.device.figures().rx_dropped == 1);
    for (core::PacketPtr& packet : hoard)
      core::consume(std::move(packet));
  });
  bench.arrive_at(2'000'000, 4, 1);
  bench.world.run();
  CHECK(bench.received == from_to(2, 4));  // what is lost makes room for the next
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A tap that cannot be read any more takes a legacy device down, once and soon") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Bench bench(mode, {.port = kLegacy});
  bench.legacy();
  bench.process([&] {
    bench.sleep_until(2'000'000);
    CHECK(bench.received == from_to(1, 2));
    CHECK_FALSE(bench.device.running());
    bench.device.open();
    bench.sleep_until(3'000'000);
    CHECK(bench.device.running());
    CHECK(bench.received == from_to(1, 5));
  });
  bench.world.at(900'000, [&] { bench.fake.fail_receive_after(2); });
  bench.arrive_at(1'000'000, 1, 5);
  bench.world.run();
  CHECK(ledger_is_closed(bench.world));
}

}  // namespace
}  // namespace tapestry::tests::legacy_tap_test
