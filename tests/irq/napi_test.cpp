// NAPI: budgets, the gap around the re-arm, squeezes, and taking an instance down under fire.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sched/guards.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::napi_test {
namespace {

sched::CostTable costs_of(bool with_costs) {
  return with_costs ? small_costs() : sched::CostTable::zero();
}

sched::CostTable receive_cost(std::int64_t per_frame_ns) {
  sched::CostTable costs = sched::CostTable::zero();
  costs.set(sched::Work::driver_receive, sched::Cost{per_frame_ns * 1000, 0, 0});
  return costs;
}

TEST_CASE("A burst is polled in whole budgets and one rest, for one interrupt and one re-arm") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool with_costs = GENERATE(false, true);
  struct Row {
    int burst;
    const char* polls;
  };
  const auto row = GENERATE(values<Row>({{191, "64+64+63"},
                                         {192, "64+64+64+0"},
                                         {193, "64+64+64+1"},
                                         {1, "1"},
                                         {63, "63"},
                                         {64, "64+0"},
                                         {256, "64+64+64+64+0"}}));
  World world(mode, costs_of(with_costs));
  TestMachine& machine = world.add_machine();
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{});
  world.at(1000, [&] { nic.frames_arrive(row.burst); });
  world.run();
  CHECK(nic.polls == row.polls);
  CHECK(nic.interrupts == 1);
  CHECK(nic.rearms == 1);
  CHECK(nic.delivered == static_cast<std::uint64_t>(row.burst));
  CHECK(nic.ring_full == 0);
  CHECK_FALSE(nic.line.masked());
  CHECK_FALSE(nic.napi.scheduled());
}

// --- the gap around the re-arm
// ----------------------------------------------------------------------

enum class Event : std::uint8_t { receive, sent };

struct Outcome {
  std::uint64_t done;           // how many of the two events were handled
  std::int64_t worst_delay_ns;  // from an event until it is handled
  std::int64_t rearm_ns;        // when the first poll re-armed
};

constexpr std::int64_t kFirstNs = 10'000;

// One event that leads to a poll and a re-arm; another one at `second_ns`, then silence.
Outcome two_events(sched::SettleMode mode, Signalling signalling, Event event,
                   std::int64_t second_ns, Mistakes mistakes = {}) {
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine();
  auto& nic = world.make<TestNic>(world, machine,
                                  TestNic::Options{.signalling = signalling, .mistakes = mistakes});
  const auto happen = [&nic, event] {
    event == Event::receive ? nic.frames_arrive(1) : nic.frames_sent(1);
  };
  world.at(kFirstNs, happen);
  if (second_ns > 0) world.at(second_ns, happen);
  world.run();
  return {nic.delivered + nic.reclaimed, nic.worst_delay_ns, nic.first_rearm_ns};
}

TEST_CASE("An event at any nanosecond around the re-arm is handled within one interrupt and poll") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto signalling = GENERATE(Signalling::edge, Signalling::level, Signalling::suppressed);
  const auto event = GENERATE(Event::receive, Event::sent);
  const std::int64_t rearm_ns = two_events(mode, signalling, event, 0).rearm_ns;
  REQUIRE(rearm_ns > kFirstNs);
  // Idle exit 19, hardirq 30, mask 15, softirq 7, poll 20, the frame 11: a quiet machine. An event
  // that falls into the tail of a poll waits for that, too: unmask 15 and the second look 3.
  const std::int64_t interrupt_and_poll_ns = 19 + 30 + 15 + 7 + 20 + 11;
  const std::int64_t tail_ns = 15 + 3;
  for (std::int64_t offset_ns = -200; offset_ns <= 200; ++offset_ns) {
    const Outcome outcome = two_events(mode, signalling, event, rearm_ns + offset_ns);
    CAPTURE(offset_ns, rearm_ns, static_cast<int>(signalling));
    REQUIRE(outcome.done == 2);
    REQUIRE(outcome.worst_delay_ns <= interrupt_and_poll_ns + tail_ns);
  }
}

TEST_CASE("Without the second look a device that suppresses its events goes deaf") {
  const std::int64_t rearm_ns =
      two_events(sched::SettleMode::always, Signalling::suppressed, Event::receive, 0).rearm_ns;
  int lost = 0;
  for (std::int64_t offset_ns = -250; offset_ns <= 250; ++offset_ns) {
    const Outcome outcome =
        two_events(sched::SettleMode::always, Signalling::suppressed, Event::receive,
                   rearm_ns + offset_ns, {.forget_second_look = true});
    lost += outcome.done < 2 ? 1 : 0;
  }
  // The 15 ns in which events are being switched on again, whichever of the two comes second.
  CHECK(lost == 2 * 15);
}

// --- missed, full budgets, budget 0
// -------------------------------------------------------------------

// A poller that does what a test tells it.
class ScriptedPoller final : public irq::NapiPoller {
 public:
  explicit ScriptedPoller(std::function<int(int)> body) : body_(std::move(body)) {}
  int poll(int budget) override { return body_(budget); }

 private:
  std::function<int(int)> body_;
};

struct Scripted {
  Scripted(sched::SettleMode mode, std::function<int(int)> body)
      : world(mode),
        machine(world.add_machine()),
        poller(world.make<ScriptedPoller>(std::move(body))),
        napi(world.make<irq::Napi>(machine.napi, "test", poller)),
        handler(world.make<Handler>([this] { napi.schedule(); })),
        line(machine.interrupts.add_line("test", irq::Trigger::edge, handler)) {
    napi.enable();
  }

  World world;
  TestMachine& machine;
  ScriptedPoller& poller;
  irq::Napi& napi;
  Handler& handler;
  irq::IrqLine& line;
};

TEST_CASE("What is scheduled while it is owned is polled once more") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Scripted* run = nullptr;
  std::vector<bool> answers;
  Scripted scripted(mode, [&](int) {
    World::spend(run->machine.cpu(), 100);
    answers.push_back(run->napi.complete_done(1));
    return 1;
  });
  run = &scripted;
  for (const int at_ns : {1000, 1020, 1030, 1040}) {
    scripted.world.at(at_ns, [&] { scripted.line.raise(); });
  }
  scripted.world.run();
  CHECK(answers == std::vector<bool>{false, true});
  CHECK(scripted.napi.figures().missed == 1);
  CHECK(scripted.napi.figures().polls == 2);
  CHECK(scripted.napi.figures().completions == 1);
}

TEST_CASE(
    "A poll that completes with a whole budget is not polled again unless it missed something") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const bool schedules_itself = GENERATE(false, true);
  Scripted* run = nullptr;
  int left = 2;  // whole budgets
  Scripted scripted(mode, [&](int budget) {
    const int work = left > 0 ? budget : 0;
    --left;
    // UML's vector driver: schedule while there was work, and complete in any case.
    if (schedules_itself && work > 0) run->napi.schedule();
    run->napi.complete_done(work);
    return work;
  });
  run = &scripted;
  scripted.world.at(1000, [&] { scripted.line.raise(); });
  scripted.world.run();
  CHECK(scripted.napi.figures().polls == (schedules_itself ? 3 : 1));
  CHECK_FALSE(scripted.napi.scheduled());
  left = 0;
  scripted.world.at(scripted.world.now_ns() + 1000, [&] { scripted.line.raise(); });
  scripted.world.run();
  CHECK(scripted.napi.figures().polls == (schedules_itself ? 4 : 2));
}

TEST_CASE("Budget 0 reclaims what was sent, receives nothing and completes nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine();
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{});
  machine.spawn("netconsole", [&] {
    sched::InterruptsOff off(machine.cpu());
    World::spend(machine.cpu(), 500);
    machine.napi.netpoll(nic.napi);
    CHECK(nic.reclaimed == 5);
    CHECK(nic.delivered == 0);
    CHECK(nic.waiting() == 10);
    CHECK(nic.rearms == 0);
    CHECK_FALSE(nic.napi.scheduled());
  });
  world.at(100, [&] { nic.frames_sent(5); });
  world.at(200, [&] { nic.frames_arrive(10); });
  world.run();
  CHECK(nic.polls == "0+10");
  CHECK(nic.interrupts == 1);
}

// --- squeezes
// ----------------------------------------------------------------------------------------

// 125 frames in each of 8 queues of one CPU. A run polls an instance once, so that it takes several
// of them to use it up.
std::string burst_of_1000(sched::SettleMode mode, std::int64_t frame_ns, irq::NapiOptions options) {
  World world(mode, receive_cost(frame_ns));
  TestMachine& machine = world.add_machine({.napi = options});
  std::vector<TestNic*> queues;
  for (int i = 0; i < 8; ++i)
    queues.push_back(&world.make<TestNic>(world, machine, TestNic::Options{}));
  world.at(1000, [&] {
    for (TestNic* queue : queues)
      queue->frames_arrive(125);
  });
  world.run();
  std::uint64_t delivered = 0, lost = 0;
  for (const TestNic* queue : queues) {
    delivered += queue->delivered;
    lost += queue->ring_full;
  }
  const irq::SoftnetFigures& figures = machine.napi.figures(0);
  return std::to_string(figures.time_squeeze) + " squeezes, " +
         std::to_string(figures.squeezed_by_budget) + " by packets, " +
         std::to_string(figures.squeezed_by_time) + " by time, " + std::to_string(delivered) +
         " delivered, " + std::to_string(lost) + " lost";
}

TEST_CASE("A run is squeezed by packets or by time, says which, and loses nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const core::Nanos two_ms{2'000'000};
  const core::Nanos twenty_ms{20'000'000};
  // 10 us a packet, 640 us a poll: four polls pass 2 ms. The fourth run leaves nothing.
  CHECK(burst_of_1000(mode, 10'000, {65'535, two_ms}) ==
        "3 squeezes, 0 by packets, 3 by time, 1000 delivered, 0 lost");
  CHECK(burst_of_1000(mode, 10'000, {65'535, twenty_ms}) ==
        "0 squeezes, 0 by packets, 0 by time, 1000 delivered, 0 lost");
  // 1 us a packet: five polls pass 300 packets, after 320 us.
  CHECK(burst_of_1000(mode, 1'000, {300, two_ms}) ==
        "3 squeezes, 3 by packets, 0 by time, 1000 delivered, 0 lost");
}

TEST_CASE("Instances share a run fairly: each is polled before any is polled again") {
  const auto mode = GENERATE(from_range(kSettleModes));
  World world(mode);
  TestMachine& machine = world.add_machine();
  auto& first = world.make<TestNic>(world, machine, TestNic::Options{.name = "a"});
  auto& second = world.make<TestNic>(world, machine, TestNic::Options{.name = "b"});
  std::string order;
  auto watch = machine.napi.on_poll.watch(
      [&](const irq::Napi& napi, const sched::Cpu&, int, int) { order += napi.name(); });
  world.at(1000, [&] {
    first.frames_arrive(200);
    second.frames_arrive(100);
  });
  world.run();
  CHECK(order == "ababaa");
}

// --- taking it down
// ----------------------------------------------------------------------------------

TEST_CASE("Disabling ends in bounded time in the middle of a flood, and twice does no harm") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto signalling = GENERATE(Signalling::edge, Signalling::level, Signalling::suppressed);
  World world(mode, small_costs());
  TestMachine& machine = world.add_machine({.cpus = 2});
  auto& nic = world.make<TestNic>(world, machine, TestNic::Options{.signalling = signalling});
  world.make<Flood>(world, nic, 1000, 5'000'000, 5);  // faster than the CPU can receive
  bool finished = false;
  machine.scheduler.spawn({.name = "ifconfig", .affinity = 2}, [&] {
    World::spend(machine.cpu(), 1'000'000);
    CHECK(nic.napi.scheduled());
    const std::int64_t begun_ns = world.now_ns();
    nic.napi.disable();
    CHECK_FALSE(nic.napi.scheduled());
    // The present poll, one more that was due, and at most one look later.
    CHECK(world.now_ns() - begun_ns < 30'000);
    const std::int64_t again_ns = world.now_ns();
    nic.napi.disable();
    CHECK(world.now_ns() == again_ns);
    const std::uint64_t delivered = nic.delivered;
    World::spend(machine.cpu(), 100'000);
    CHECK(nic.delivered == delivered);
    nic.napi.enable();
    finished = true;
  });
  CHECK(world.run_until(6'000'000) != sched::Hub::Stop::asked);
  CHECK(finished);
}

TEST_CASE("A disabled instance is not scheduled and remembers nothing") {
  const auto mode = GENERATE(from_range(kSettleModes));
  Scripted scripted(mode, [](int) { return 0; });
  scripted.machine.spawn("ifconfig", [&] {
    scripted.napi.disable();
    CHECK_FALSE(scripted.napi.schedule());
    CHECK_FALSE(scripted.napi.scheduled());
    CHECK_FALSE(scripted.napi.missed());
  });
  scripted.world.run();
  CHECK(scripted.napi.figures().polls == 0);
}

}  // namespace
}  // namespace tapestry::tests::napi_test
