// The card's driver: budgets, the gap around the re-arm, rings that fill up, doorbells.
#include <tuple>

#include "host/sim/link.hpp"
#include "host/sim/nic.hpp"
#include "tests/transports/fake_card.hpp"

namespace tapestry::tests::nic_test {
namespace {

TEST_CASE("A card's burst is polled in whole budgets and one rest, for one interrupt") {
  struct Row {
    std::uint32_t burst;
    const char* polls;
  };
  const auto row = GENERATE(values<Row>({{1, "1"},
                                         {63, "63"},
                                         {64, "64 0"},
                                         {191, "64 64 63"},
                                         {192, "64 64 64 0"},
                                         {193, "64 64 64 1"},
                                         {256, "64 64 64 64 0"}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode);
  PollLog polls(bench.machine);
  bench.process([] {});
  bench.world.at(1'000'000, [&] { bench.card.frames_arrive(1, row.burst); });
  bench.world.run();
  CHECK(polls.text == row.polls);
  CHECK(bench.driver.line().delivered() == 1);
  CHECK(bench.driver.napi().figures().completions == 1);
  CHECK_FALSE(bench.driver.line().masked());
  CHECK(bench.received == from_to(1, row.burst));
  CHECK(bench.card.overruns == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Without NAPI a burst is received by the interrupt handler, onto the backlog") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const std::uint32_t burst = GENERATE(1, 64, 191, 256);
  CardBench bench(mode, {.napi = false});
  bench.process([] {});
  bench.world.at(1'000'000, [&] { bench.card.frames_arrive(1, burst); });
  bench.world.run();
  CHECK(bench.driver.line().delivered() == 1);
  CHECK(bench.driver.napi().figures().polls == 0);
  CHECK_FALSE(bench.driver.line().masked());
  CHECK(bench.received == from_to(1, burst));
  CHECK(bench.card.overruns == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Buffers go back sixteen to a doorbell, and never fewer than the ring can bear") {
  struct Row {
    std::size_t ring;
    std::uint32_t frames;
    std::uint64_t doorbells;  // without the one of opening
    std::uint32_t posted;
  };
  const auto row = GENERATE(values<Row>({{256, 15, 0, 241},
                                         {256, 16, 1, 256},
                                         {256, 40, 2, 248},
                                         {256, 256, 16, 256},
                                         {4096, 33, 2, 4095},
                                         {16, 8, 1, 16},
                                         {8, 8, 2, 8}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(row.ring, row.frames);
  CardBench bench(mode, {.receive = row.ring});
  bench.process([&] { CHECK(bench.card.posted_buffers() == row.ring); });
  bench.world.at(1'000'000, [&] { bench.card.frames_arrive(1, row.frames); });
  bench.world.run();
  CHECK(bench.receive_doorbell.rings() == row.doorbells + 1);
  CHECK(bench.card.posted_buffers() == row.posted);
  CHECK(bench.received == from_to(1, row.frames));
}

enum class Event : std::uint8_t { receive, sent };

TEST_CASE("An event at any nanosecond around the card's re-arm is handled, with no later help") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto event = GENERATE(Event::receive, Event::sent);
  const auto run = [&](std::int64_t second_ns, bool log) {
    CardBench bench(mode);
    std::int64_t completed_ns = 0;
    const auto happen = [&] {
      if (event == Event::receive)
        bench.card.frames_arrive(1, 1);
      else
        bench.card.frames_leave(1);
    };
    bench.process([&] { bench.send(1, 2); });
    bench.world.at(1'000'000, happen);
    if (second_ns != 0) bench.world.at(second_ns, happen);
    const core::ProbeHandle handle =
        bench.machine.napi.on_poll.watch([&](const irq::Napi&, const sched::Cpu&, int, int) {
          if (completed_ns == 0) completed_ns = bench.world.now_ns();
        });
    bench.world.run();
    if (log) return completed_ns;
    const std::size_t handled =
        event == Event::receive ? bench.received.size() : 2 - bench.card.transmit_ring.used();
    const bool quiet = !bench.driver.line().masked() && !bench.driver.napi().scheduled();
    return std::int64_t{handled == 2 && quiet};
  };
  const std::int64_t first_poll_over_ns = run(0, true);
  REQUIRE(first_poll_over_ns > 1'000'000);
  int lost = 0;
  for (std::int64_t second = first_poll_over_ns - 400; second <= first_poll_over_ns + 200; ++second)
    lost += run(second, false) == 0 ? 1 : 0;
  CHECK(lost == 0);
}

TEST_CASE(
    "What leaves around the end of a poll waits for the interrupt that moderation grants it") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto polls_with_second_at = [&](std::int64_t second_ns, std::int64_t& first_poll_over_ns) {
    CardBench bench(mode);
    int polls = 0;
    const core::ProbeHandle handle =
        bench.machine.napi.on_poll.watch([&](const irq::Napi&, const sched::Cpu&, int, int) {
          if (bench.world.now_ns() < 1'000'000) return;
          if (polls++ == 0) first_poll_over_ns = bench.world.now_ns();
        });
    bench.process([&] { bench.send(1, 2); });
    bench.world.at(1'000'000, [&] { bench.card.frames_leave(1); });
    bench.world.at(second_ns, [&] { bench.card.frames_leave_silently(1); });
    bench.world.at(2'000'000, [&] { bench.driver.line().raise(); });
    bench.world.run();
    CHECK(bench.card.transmit_ring.used() == 0);
    return polls;
  };
  std::int64_t over_ns = 0;
  REQUIRE(polls_with_second_at(1'500'000, over_ns) == 2);
  const std::int64_t first_poll_over_ns = over_ns;
  int early = 0;
  for (std::int64_t at = first_poll_over_ns - 400; at <= first_poll_over_ns + 200; ++at)
    early += polls_with_second_at(at, over_ns) == 2 ? 0 : 1;
  CHECK(early == 0);
}

TEST_CASE("More than one poll may clean is cleaned by the next, without another interrupt") {
  struct Row {
    std::uint32_t sent;
    const char* polls;
  };
  const auto row = GENERATE(values<Row>({{255, "0"}, {256, "64 0"}, {257, "64 0"}, {511, "64 0"}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode, {.transmit = 512});
  PollLog polls(bench.machine);
  bench.process([&] { bench.send(1, row.sent); });
  bench.world.at(1'000'000, [&] { bench.card.frames_leave(row.sent); });
  bench.world.run();
  CHECK(polls.text == row.polls);
  CHECK(bench.driver.line().delivered() == 1);
  CHECK(bench.card.transmit_ring.used() == 0);
}

TEST_CASE(
    "A burst goes past the discipline, rings once, and what a full ring refuses stays behind") {
  struct Row {
    std::uint32_t burst;
    std::size_t sent;
    std::uint64_t rings;
  };
  const auto row = GENERATE(values<Row>({{1, 1, 1}, {8, 8, 1}, {16, 16, 1}, {20, 16, 1}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode, {.transmit = 16});
  bench.process([&] {
    core::PacketQueue burst(row.burst);
    for (std::uint32_t number = 1; number <= row.burst; ++number)
      CHECK(burst.push(make_frame(bench.world.packets, number)));
    const net::Device::Burst done = bench.device.transmit_burst(burst);
    CHECK(done.sent == row.sent);
    CHECK(done.dropped == 0);
    CHECK(burst.size() == row.burst - row.sent);
    CHECK(bench.device.transmit_burst(burst).sent == 0);  // stopped, or nothing left
    while (core::PacketPtr left = burst.pop())
      core::consume(std::move(left));
  });
  bench.world.at(1'000'000, [&] { bench.card.frames_leave(16); });
  bench.world.run();
  CHECK(bench.card.sent == from_to(1, static_cast<std::uint32_t>(row.sent)));
  CHECK(bench.transmit_doorbell.rings() == row.rings);
  CHECK(bench.device.figures().tx_packets == row.sent);
  CHECK(bench.device.figures().tx_dropped == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A train rings the card once, and every packet alone rings it too") {
  struct Row {
    std::uint32_t frames;
    bool promise_behind;
    std::uint64_t rings;
  };
  const auto row = GENERATE(values<Row>({{1, false, 1}, {8, false, 1}, {8, true, 0}}));
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode);
  bench.process([&] { bench.send(1, row.frames, 60, row.promise_behind); });
  bench.world.run();
  CHECK(bench.transmit_doorbell.rings() == row.rings);
  CHECK(bench.card.transmit_register.posted == (row.rings == 0 ? 0 : row.frames));
}

TEST_CASE("A full ring stops the queue and rings in mid-train; a quarter cleaned wakes it") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode, {.transmit = 16});
  bench.process([&] {
    bench.send(1, 16, 60, true);
    CHECK(bench.device.queue().stopped());
    CHECK(bench.transmit_doorbell.rings() == 1);
    core::PacketPtr one_more = make_frame(bench.world.packets, 17);
    {
      const sched::BottomHalvesOff exclude(bench.machine.cpu());
      CHECK(bench.driver.transmit(one_more, bench.device.queue()) == net::Transmit::busy);
    }
    CHECK(one_more);  // still the caller's
    core::consume(std::move(one_more));
    bench.sleep_until(1'500'000);
    CHECK(bench.card.transmit_ring.unused() == 3);
    CHECK(bench.device.queue().stopped());
    bench.sleep_until(2'500'000);
    CHECK(bench.card.transmit_ring.unused() == 4);
    CHECK_FALSE(bench.device.queue().stopped());
  });
  bench.world.at(1'000'000, [&] { bench.card.frames_leave(3); });
  bench.world.at(2'000'000, [&] { bench.card.frames_leave(1); });
  bench.world.run();
  CHECK(bench.card.sent == from_to(1, 4));
}

TEST_CASE("A byte limit that stops the queue in mid-train rings the card") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode, {.byte_queue_limits = true});
  bench.process([&] {
    bench.send(1, 1, 1000, true);  // the limit begins at nothing: one packet crosses it
    CHECK(bench.transmit_doorbell.rings() == 1);
    CHECK(bench.device.queue().limit().in_flight_bytes() == 1000);
  });
  bench.world.at(1'000'000, [&] { bench.card.frames_leave(1); });
  bench.world.run();
  CHECK(bench.device.queue().limit().in_flight_bytes() == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Through the stack: a ring of 16 that fills and empties loses nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool byte_queue_limits = GENERATE(false, true);
  CardBench bench(mode, {.transmit = 16, .byte_queue_limits = byte_queue_limits});
  bench.process([&] {
    for (std::uint32_t number = 1; number <= 100; ++number)
      CHECK(bench.device.transmit(make_frame(bench.world.packets, number)));
  });
  for (int tick = 1; tick <= 200; ++tick)
    bench.world.at(tick * 20'000, [&] { bench.card.frames_leave(5); });
  bench.world.run();
  CHECK(bench.card.sent == from_to(1, 100));
  CHECK(bench.device.figures().tx_packets == 100);
  CHECK(bench.card.transmit_ring.used() == 0);
  CHECK_FALSE(bench.device.queue().stopped());
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("With budget 0 the card's driver cleans, and receives nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode);
  bench.process([&] {
    bench.send(1, 5);
    const sched::BottomHalvesOff exclude(bench.machine.cpu());
    bench.card.frames_leave(5);
    bench.card.frames_arrive(1, 10);
    bench.machine.napi.netpoll(bench.driver.napi());
    CHECK(bench.card.transmit_ring.used() == 0);
    CHECK(bench.received.empty());
  });
  bench.world.run();
  CHECK(bench.received == from_to(1, 10));
}

TEST_CASE("A card that found no memory for buffers gets them when there is some again") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode, {.receive = 32});
  std::vector<core::PacketPtr> hoard;
  const auto take_all = [&] {
    while (core::PacketPtr packet = bench.world.packets.allocate(core::Origin::stack))
      hoard.push_back(std::move(packet));
  };
  take_all();
  bench.process([&] {
    CHECK(bench.card.posted_buffers() == 0);
    bench.sleep_until(3'500'000);
    CHECK(bench.card.posted_buffers() == 0);
    for (core::PacketPtr& packet : hoard)
      core::consume(std::move(packet));
    bench.sleep_until(4'500'000);
    CHECK(bench.card.posted_buffers() == 32);
  });
  bench.world.at(5'000'000, [&] { bench.card.frames_arrive(1, 32); });
  bench.world.run();
  CHECK(bench.received == from_to(1, 32));
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("Closing a card empties its rings: frames are lost, empty buffers are not") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CardBench bench(mode);
  bench.process([&] {
    bench.send(1, 5);
    bench.device.close();
    CHECK(bench.card.transmit_ring.used() == 0);
    CHECK(bench.card.receive_ring.used() == 0);
    CHECK(bench.drops(core::DropReason::queue_purge) == 5);
    bench.device.open();
    CHECK(bench.card.receive_ring.used() == 256);
  });
  bench.world.run();
  CHECK(bench.device.queue().limit().in_flight_bytes() == 0);
  CHECK(ledger_is_closed(bench.world));
}

// --- on the simulated card -----------------------------------------------------------------------

struct Host {
  Host(World& world, std::uint32_t number, const char* name)
      : machine(world.add_machine({.name = name})),
        copies(machine.scheduler),
        stack({machine.scheduler, machine.softirqs, machine.jiffies, machine.napi, world.packets,
               copies, machine.tasklets},
              net::StackOptions{}),
        device(stack.add_device({.name = "eth0", .mac = net::MacAddress::local(number)})),
        card(world.timeline, world.packets, {}),
        transmit(card.port().transmit_doorbell, machine.scheduler),
        receive(card.port().receive_doorbell, machine.scheduler),
        driver({device, stack.allocator(), machine.interrupts, machine.napi, machine.tasklets,
                machine.jiffies},
               {card.port().transmit_ring, card.port().receive_ring, transmit, receive}, {}) {
    device.set_driver(driver);
    card.set_line(driver.line());
  }
  TestMachine& machine;
  CopyCharger copies;
  net::Stack stack;
  net::Device& device;
  host::sim::Nic card;
  host::charged::Doorbell transmit, receive;
  transports::Nic driver;
};

TEST_CASE("Two machines with cards on a wire: every frame arrives, in order, in every mode alike") {
  const auto run = [](sched::SettleMode mode) {
    World world(mode, net_costs());
    Host& a = world.make<Host>(world, 1u, "a");
    Host& b = world.make<Host>(world, 2u, "b");
    auto& link = world.make<host::sim::Link>(world.timeline, world.packets, "wire",
                                             host::sim::LinkOptions{});
    a.card.connect(link, host::sim::Link::End::a);
    b.card.connect(link, host::sim::Link::End::b);
    Numbers received;
    b.device.set_receive_handler([&received](core::PacketPtr frame) {
      received.push_back(number_of(*frame));
      core::deliver(std::move(frame));
      return core::PacketPtr();
    });
    b.machine.spawn("open", [&] {
      b.machine.cpu().enter_kernel();
      b.device.open();
      b.machine.cpu().leave_kernel();
    });
    a.machine.spawn("send", [&] {
      a.machine.cpu().enter_kernel();
      a.device.open();
      a.machine.scheduler.sleep_until(core::kStart + core::Nanos{1'000'000});
      for (std::uint32_t number = 1; number <= 1'000; ++number)
        (void)a.device.transmit(make_frame(world.packets, number, 1'514));
      a.machine.cpu().leave_kernel();
    });
    world.run();
    CHECK(received == from_to(1, 1'000));
    CHECK(b.device.figures().rx_bytes == 1'514'000);
    CHECK(ledger_is_closed(world));
    return std::tuple{world.now_ns(), a.transmit.rings(), b.driver.line().delivered(),
                      b.driver.napi().figures().polls};
  };
  const auto always = run(sched::SettleMode::always);
  CHECK(run(sched::SettleMode::seams) == always);
  CHECK(run(sched::SettleMode::random) == always);
}

}  // namespace
}  // namespace tapestry::tests::nic_test
