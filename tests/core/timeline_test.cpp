// The world's clock: forward only, with a guard over debts and a watchdog over loops that stand
// still.

#include "core/timeline.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/abort.hpp"

namespace tapestry::tests::timeline_test {

namespace {

using Catch::Matchers::Contains;
using core::ActorId;
using core::Instant;
using core::Nanos;
using core::Phase;
using core::Timeline;

// Two devices that answer each other without any delay, or with some.
struct PingPong {
  Timeline timeline;
  ActorId ping = timeline.add_actor("ping", Phase::device);
  ActorId pong = timeline.add_actor("pong", Phase::device);
  Nanos delay{0};
  int left = 0;

  void serve(ActorId to) {
    timeline.events().push(timeline.now() + delay, to, hit, this, to.value);
  }
  static void hit(void* object, std::uint64_t who) {
    PingPong& self = *static_cast<PingPong*>(object);
    if (--self.left > 0) self.serve(who == self.ping.value ? self.pong : self.ping);
  }
  void play(int hits) {
    left = hits;
    serve(ping);
    while (timeline.events().size() != 0)
      timeline.events().run_next();
  }
};

}  // namespace

TEST_CASE("a world begins at zero and its clock follows its events", "[core][timeline]") {
  Timeline timeline;
  CHECK(timeline.now() == core::kStart);
  timeline.advance_to(Instant{Nanos{5}});
  CHECK(timeline.now() == Instant{Nanos{5}});
  const ActorId nic = timeline.add_actor("nic", Phase::device);
  CHECK(timeline.actor_name(nic) == "nic");
  timeline.events().push(
      Instant{Nanos{9}}, nic, [](void*, std::uint64_t) {}, nullptr);
  timeline.events().run_next();
  CHECK(timeline.now() == Instant{Nanos{9}});
}

TEST_CASE("shared state may be touched while nothing is owed, and only then", "[core][timeline]") {
  Timeline timeline;
  std::int64_t debt = 0;
  timeline.require_settled("a ring");
  timeline.set_debt_cell(&debt);
  timeline.require_settled("a ring");
  debt = 40;
  CHECK_THAT(abort_message([&] { timeline.require_settled("a ring"); }), Contains("(a ring)"));
  timeline.set_debt_cell(nullptr);  // a device runs: it owes nothing, whoever else does
  timeline.require_settled("a ring");
}

TEST_CASE("endless events at one instant are stopped, and both players named", "[core][timeline]") {
  PingPong game;
  CHECK_THROWS_WITH(game.play(2'000'000),
                    Contains("1000000 steps at 0 ns") && Contains("ping") && Contains("pong"));
}

TEST_CASE("as many events may happen, if time goes on", "[core][timeline]") {
  PingPong game;
  game.delay = Nanos{1};
  game.play(2'000'000);
  CHECK(game.left == 0);
}

TEST_CASE("the limit of steps at one instant can be set, and CPUs count too", "[core][timeline]") {
  Timeline timeline;
  const ActorId cpu = timeline.add_actor("cpu0", Phase::cpu);
  timeline.set_steps_at_one_instant_max(10);
  for (int i = 0; i < 10; ++i)
    timeline.note_step(cpu);
  CHECK_THROWS_AS(timeline.note_step(cpu), core::NoProgress);
  timeline.advance_to(Instant{Nanos{1}});
  timeline.note_step(cpu);
}

TEST_CASE("a clock saturates instead of wrapping", "[core][timeline]") {
  CHECK(core::after(Instant{Nanos{5}}, Nanos{6}) == Instant{Nanos{11}});
  CHECK(core::after(Instant{Nanos{5}}, core::kForever) == core::kNever);
}

}  // namespace tapestry::tests::timeline_test
