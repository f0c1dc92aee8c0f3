// What happens between the stack and a driver that is slow, busy, stopped or limited.
#include "net/tx_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "sched/guards.hpp"
#include "tests/support/net_world.hpp"

namespace tapestry::tests::tx_queue_test {
namespace {

using core::DropReason;
using net::SocketStatus;

// One machine whose driver keeps what it gets until told.
struct Sender {
  explicit Sender(sched::SettleMode mode = sched::SettleMode::seams,
                  net::StackOptions stack_options = {}, TestMachineOptions machine_options = {},
                  net::DeviceOptions device_options = {})
      : world(mode, net_costs()),
        m(world.make<NetMachine>(world, 1u, machine_options, stack_options, device_options)) {
    m.driver.frees_at_once = false;
  }

  void send(std::uint32_t first, std::uint32_t count, std::size_t length = 60) {
    for (std::uint32_t i = 0; i < count; ++i)
      m.device.transmit(make_frame(world.packets, first + i, length));
  }
  void complete(std::size_t n) {
    const sched::BottomHalvesOff as_in_a_poll(m.machine.cpu());
    m.driver.complete(n);
  }
  // Lets pending softirqs run, as the end of any bottom-half section does.
  void softirqs() { const sched::BottomHalvesOff section(m.machine.cpu()); }
  std::string promises() const {
    std::string all;
    for (const FakeDriver::Sent& sent : m.driver.sent)
      all += sent.more ? '+' : '.';
    return all;
  }
  std::vector<int> order() const {
    std::vector<int> numbers;
    for (const FakeDriver::Sent& sent : m.driver.sent)
      numbers.push_back(sent.bytes[17]);
    return numbers;
  }

  World world;
  NetMachine& m;
};

TEST_CASE("A packet for an empty queue goes straight to the driver") {
  Sender run;
  run.m.process("sender", [&] {
    run.send(1, 1);
    CHECK(run.m.driver.sent.size() == 1);
    CHECK(run.m.device.queue().waiting() == 0);
    run.complete(1);
  });
  run.world.run();
  CHECK(run.promises() == ".");
  CHECK(run.m.machine.softirqs.runs(0, irq::Vector::net_tx) == 0);
  CHECK(run.m.device.figures().tx_packets == 1);
  CHECK(run.m.device.figures().tx_bytes == 60);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("A thousand packets wait in a band, the next is dropped") {
  Sender run;
  run.m.driver.ring_length = 1;
  run.m.driver.reports_completions = false;
  run.m.process("sender", [&] {
    run.send(1, 1);  // fills the ring: the driver stops the queue
    CHECK(run.m.device.queue().stopped());
    run.send(2, 1);  // dequeued already: waits in front
    run.send(3, 1000);
    CHECK(run.m.device.queue().waiting() == 1001);
    CHECK(drops(run.world, DropReason::qdisc_drop) == 0);
    run.send(1003, 1);
    CHECK(drops(run.world, DropReason::qdisc_drop) == 1);
    CHECK(run.m.device.queue().figures().qdisc_drops == 1);
    run.m.device.close();
    CHECK(run.m.device.queue().waiting() == 0);
  });
  run.world.run();
  CHECK(drops(run.world, DropReason::queue_purge) == 1002);
  CHECK(ledger_is_closed(run.world));
  CHECK(run.world.packets.in_use() == 0);
}

TEST_CASE("What a busy driver did not take goes first the next time, and taps see it once") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Sender run(mode);
  std::vector<std::uint32_t> seen;
  const core::ProbeHandle watch = run.m.device.on_frame.watch(
      [&](const core::Packet& packet, core::Direction) { seen.push_back(packet.flow); });
  run.m.driver.busy_times = 2;
  run.m.driver.reports_completions = false;  // no byte limit that would block it as well
  run.m.process("sender", [&] {
    run.send(1, 1);
    run.send(2, 2);
    run.complete(3);
  });
  run.world.run();
  CHECK(run.order() == std::vector<int>{1, 2, 3});
  CHECK(seen == std::vector<std::uint32_t>{1, 2, 3});
  const net::TxQueue::Figures& figures = run.m.device.queue().figures();
  CHECK(figures.requeues == 2);
  CHECK(figures.run_ends[static_cast<std::size_t>(net::RunEnd::busy)] == 2);
  CHECK(figures.run_sizes.items() == 3);
  CHECK(run.m.machine.softirqs.runs(0, irq::Vector::net_tx) == 2);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE(
    "As many packets as the limit's bytes allow come at once, and all but the last promise more") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Sender run(mode);
  const net::TxQueue& queue = run.m.device.queue();
  run.m.process("sender", [&] {
    run.send(1, 1);  // crosses the limit of 0
    run.send(2, 9);
    CHECK(queue.waiting() == 9);
    CHECK(run.promises() == ".");
    run.complete(1);  // the driver starved: limit 60
    run.softirqs();
    CHECK(queue.limit().limit_bytes() == 60);
    CHECK(run.promises() == "...");  // one that waited in front, one that crosses the limit
    run.complete(2);
    run.softirqs();
    CHECK(queue.limit().limit_bytes() == 180);
    CHECK(run.promises() == "...++..");
    run.complete(4);
    run.softirqs();
    CHECK(run.promises() == "...++..++.");
    run.complete(3);
  });
  run.world.run();
  CHECK(run.order() == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(queue.figures().bulk_dequeues == 2);
  CHECK(queue.figures().run_ends[static_cast<std::size_t>(net::RunEnd::byte_limit)] > 0);
  CHECK(queue.figures().run_sizes.items() == 10);
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("Without bulk dequeue, or without a byte limit, packets come one by one") {
  struct Row {
    const char* what;
    net::StackOptions stack;
    net::DeviceOptions device;
    bool reports;
  };
  const auto row = GENERATE(values<Row>({
      {"kernel before 3.18", {.bulk_dequeue = false}, {}, true},
      {"kernel before 3.3", {.byte_queue_limits = false}, {}, true},
      {"limits off for the device", {}, {.byte_queue_limits = false}, true},
      {"a driver that reports no completions", {}, {}, false},
  }));
  CAPTURE(row.what);
  Sender run(sched::SettleMode::seams, row.stack, {}, row.device);
  run.m.driver.reports_completions = row.reports;
  run.m.driver.ring_length = 4;
  run.m.process("sender", [&] {
    run.send(1, 12);
    for (int i = 0; i < 12; ++i) {
      run.complete(4);
      run.softirqs();
    }
  });
  run.world.run();
  CHECK(run.promises() == "............");
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE(
    "A queue that stays stopped in the middle of a batch leaves a promise that cannot be kept") {
  Sender run;
  run.m.process("sender", [&] {
    run.send(1, 1);
    run.send(2, 1);
    run.complete(1);
    run.softirqs();
    run.complete(1);
    run.softirqs();
    REQUIRE(run.m.device.queue().limit().available() > 0);
    run.m.driver.sent.clear();
    run.m.driver.ring_length = 1;
    net::TxQueue& queue = run.m.device.queue();
    bool rings = false;
    run.m.driver.while_transmitting = [&] { rings = queue.must_ring(true); };
    run.send(3, 4);
    CHECK(queue.stopped());
    CHECK_FALSE(rings);
    CHECK(queue.must_ring(true));
    CHECK(queue.must_ring(false));
    CHECK(queue.figures().promises == 1);
    CHECK(queue.figures().rings_blocked == 1);
    run.m.driver.while_transmitting = nullptr;
    run.m.device.close();
  });
  run.world.run();
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("After 64 packets the transmit softirq goes on") {
  Sender run;
  run.m.driver.reports_completions = false;
  run.m.driver.ring_length = 1;
  const auto runs = [&] { return run.m.machine.softirqs.runs(0, irq::Vector::net_tx); };
  run.m.process("sender", [&] {
    run.send(1, 201);
    CHECK(run.m.device.queue().waiting() == 200);
    const std::uint64_t before = runs();
    run.m.driver.ring_length = SIZE_MAX;
    run.complete(1);
    run.softirqs();
    CHECK(run.m.driver.sent.size() == 201);
    CHECK(runs() - before == 4);  // 64, 64, 64, 8
    run.complete(200);
  });
  run.world.run();
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE("The type of service chooses the band: delay first, throughput last") {
  Sender run;
  run.m.stack.arp().add(run.m.device, NetMachine::address(2), net::MacAddress::local(2));
  run.m.driver.reports_completions = false;
  run.m.driver.ring_length = 1;
  run.m.process("sender", [&] {
    const auto socket = run.m.stack.udp().open();
    const auto send = [&](std::uint8_t type_of_service, std::uint8_t number) {
      socket->set_type_of_service(type_of_service);
      socket->send_to({NetMachine::address(2), 9}, std::vector<std::uint8_t>{number});
    };
    send(0, 1);
    send(0, 2);  // in front already
    send(0x08, 3);
    send(0, 4);
    send(0x18, 5);
    send(0x10, 6);
    run.m.driver.ring_length = SIZE_MAX;
    run.complete(1);
    run.softirqs();
    run.complete(5);
  });
  run.world.run();
  std::vector<int> order;
  for (const FakeDriver::Sent& sent : run.m.driver.sent)
    order.push_back(sent.bytes[42]);
  CHECK(order == std::vector<int>{1, 2, 6, 4, 5, 3});
  CHECK(ledger_is_closed(run.world));
}

TEST_CASE(
    "A queue that stays stopped for five seconds wakes the watchdog, and again after five more") {
  Sender run;
  run.m.driver.reports_completions = false;
  run.m.driver.ring_length = 1;
  run.m.process("sender", [&] { run.send(1, 2); });
  run.world.run_until(4'900'000'000);
  CHECK(run.m.driver.timeouts == 0);
  run.world.run_until(5'100'000'000);
  CHECK(run.m.driver.timeouts == 1);
  run.world.run_until(10'200'000'000);
  CHECK(run.m.driver.timeouts == 2);
  run.m.process("repair", [&] { run.complete(1); });
  run.world.run_until(21'000'000'000);
  CHECK(run.m.driver.timeouts == 4);  // the second packet's ring is full again
}

TEST_CASE("A driver says how long its queue may stay stopped") {
  Sender run;
  run.m.driver.reports_completions = false;
  run.m.driver.ring_length = 1;
  run.m.driver.watchdog = core::Nanos{500'000'000};
  run.m.process("sender", [&] { run.send(1, 2); });
  run.world.run_until(490'000'000);
  CHECK(run.m.driver.timeouts == 0);
  run.world.run_until(520'000'000);
  CHECK(run.m.driver.timeouts == 1);
  run.world.run_until(1'040'000'000);
  CHECK(run.m.driver.timeouts == 2);
}

TEST_CASE("A watchdog finds nothing when the queue was woken in time") {
  Sender run;
  run.m.driver.reports_completions = false;
  run.m.driver.ring_length = 1;
  run.m.process("sender", [&] {
    run.send(1, 1);
    run.complete(1);
  });
  CHECK(run.world.run() == sched::Hub::Stop::quiet);
  CHECK(run.m.driver.timeouts == 0);
}

TEST_CASE("Waking a queue with nothing in it raises no softirq") {
  Sender run;
  run.m.driver.ring_length = 1;
  run.m.process("sender", [&] {
    run.send(1, 1);
    run.complete(1);
    run.softirqs();
  });
  run.world.run();
  CHECK(run.m.device.queue().figures().wakes == 1);
  CHECK(run.m.machine.softirqs.runs(0, irq::Vector::net_tx) == 0);
}

TEST_CASE("Two CPUs send through one queue: nothing is lost, each sender's order stays") {
  std::vector<std::int64_t> ends;
  for (const auto mode : kSettleModes) {
    Sender run(mode, {}, {.cpus = 2});
    run.m.driver.frees_at_once = true;
    const auto sender = [&](std::uint32_t first, std::uint32_t count) {
      return [&run, first, count] {
        for (std::uint32_t i = 0; i < count; ++i) {
          run.send(first + i, 1);
          World::owe(run.m.machine.cpu(), 13 + (first + i) % 7 * 40);
        }
      };
    };
    run.m.process("even", sender(0, 60));
    run.m.process("odd", sender(100, 60));
    run.world.run();
    std::vector<int> low, high;
    for (const int number : run.order())
      (number < 100 ? low : high).push_back(number);
    CHECK(low.size() == 60);
    CHECK(high.size() == 60);
    CHECK(std::is_sorted(low.begin(), low.end()));
    CHECK(std::is_sorted(high.begin(), high.end()));
    CHECK(ledger_is_closed(run.world));
    ends.push_back(core::nanos_since_start(run.m.driver.sent.back().at));
  }
  CHECK(ends[0] == ends[1]);
  CHECK(ends[0] == ends[2]);
}

TEST_CASE("Closing a device under a flood ends soon") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Sender run(mode, {}, {.cpus = 2});
  run.m.driver.frees_at_once = true;
  core::Instant closed{};
  bool stop = false;
  run.m.process("flood", [&] {
    std::uint32_t number = 0;
    const auto goes_on = [&] { return !stop; };  // set by the other thread
    while (goes_on())
      run.send(number++, 1);
  });
  run.m.process("closer", [&] {
    run.m.machine.scheduler.sleep_until(core::kStart + core::Nanos{1'000'000});
    run.m.device.close();
    run.m.device.close();  // again: nothing more
    closed = run.world.timeline.now();
    run.m.machine.scheduler.sleep_until(closed + core::Nanos{100'000});
    stop = true;
  });
  run.world.run();
  CHECK(core::nanos_since_start(closed) < 1'000'000 + 3'000'000);  // three jiffies
  CHECK(run.m.driver.closes == 1);
  CHECK(drops(run.world, DropReason::dev_ready) > 10);
  CHECK(ledger_is_closed(run.world));
  CHECK(run.world.packets.in_use() == 0);
}

}  // namespace
}  // namespace tapestry::tests::tx_queue_test
