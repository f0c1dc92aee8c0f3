// The order of events, against a plain sorted list, and what cancelling leaves behind.

#include "core/event_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/core/property.hpp"
#include "tests/support/abort.hpp"

namespace tapestry::tests::event_queue_test {

namespace {

using Catch::Matchers::Contains;
using core::ActorId;
using core::EventId;
using core::EventQueue;
using core::Instant;
using core::Nanos;
using core::Phase;

constexpr Instant at(std::int64_t nanos) { return Instant{Nanos{nanos}}; }

// Writes down which events ran, as their arguments.
struct Diary {
  EventQueue events;
  std::vector<std::uint64_t> entries;

  EventId push(Instant when, ActorId actor, std::uint64_t argument) {
    return events.push(
        when, actor,
        [](void* self, std::uint64_t entry) {
          static_cast<Diary*>(self)->entries.push_back(entry);
        },
        this, argument);
  }
  void run_all() {
    while (events.next_instant() != core::kNever)
      events.run_next();
  }
};

}  // namespace

TEST_CASE("events run in the order of their instants", "[core][events]") {
  Diary diary;
  const ActorId nic = diary.events.add_actor("nic", Phase::device);
  diary.push(at(30), nic, 3);
  diary.push(at(10), nic, 1);
  diary.push(at(20), nic, 2);
  CHECK(diary.events.next_instant() == at(10));
  diary.events.run_next();
  CHECK(diary.events.now() == at(10));
  CHECK(diary.events.next_instant() == at(20));
  diary.run_all();
  CHECK(diary.entries == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(diary.events.now() == at(30));
  CHECK(diary.events.size() == 0);
}

TEST_CASE("at one instant devices come first, then older actors, then what was pushed first",
          "[core][events]") {
  Diary diary;
  const ActorId cpu0 = diary.events.add_actor("cpu0", Phase::cpu);
  const ActorId nic = diary.events.add_actor("nic", Phase::device);
  const ActorId cpu1 = diary.events.add_actor("cpu1", Phase::cpu);
  const ActorId link = diary.events.add_actor("link", Phase::device);
  diary.push(at(5), cpu1, 6);
  diary.push(at(5), link, 3);
  diary.push(at(5), cpu0, 4);
  diary.push(at(5), link, 3);
  diary.push(at(5), nic, 1);
  diary.push(at(5), cpu0, 5);
  diary.push(at(5), nic, 2);
  diary.run_all();
  CHECK(diary.entries == std::vector<std::uint64_t>{1, 2, 3, 3, 4, 5, 6});
}

TEST_CASE("an event may push another one for the same instant, and it runs in its place",
          "[core][events]") {
  Diary diary;
  const ActorId nic = diary.events.add_actor("nic", Phase::device);
  const ActorId cpu = diary.events.add_actor("cpu", Phase::cpu);
  struct Pusher {
    Diary* diary;
    ActorId nic;
  } pusher{&diary, nic};
  diary.events.push(
      at(7), nic,
      [](void* self, std::uint64_t) {
        auto& [its_diary, its_nic] = *static_cast<Pusher*>(self);
        its_diary->push(its_diary->events.now(), its_nic, 1);
      },
      &pusher);
  diary.push(at(7), cpu, 2);
  diary.run_all();
  CHECK(diary.entries == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a cancelled event does not run, and can be cancelled once", "[core][events]") {
  Diary diary;
  const ActorId timer = diary.events.add_actor("timer", Phase::device);
  const EventId first = diary.push(at(10), timer, 1);
  const EventId second = diary.push(at(20), timer, 2);
  CHECK(diary.events.pending(first));
  CHECK(diary.events.cancel(first));
  CHECK_FALSE(diary.events.pending(first));
  CHECK_FALSE(diary.events.cancel(first));
  CHECK(diary.events.next_instant() == at(20));
  CHECK(diary.events.size() == 1);
  diary.run_all();
  CHECK(diary.entries == std::vector<std::uint64_t>{2});
  CHECK_FALSE(diary.events.cancel(second));
  CHECK_FALSE(diary.events.cancel(EventId{}));
}

TEST_CASE("an id never names a later event that lives in the same place", "[core][events]") {
  Diary diary;
  const ActorId timer = diary.events.add_actor("timer", Phase::device);
  const EventId gone = diary.push(at(10), timer, 1);
  diary.run_all();
  for (int i = 0; i < 10; ++i) {
    diary.push(at(20 + i), timer, 2);
    CHECK_FALSE(diary.events.pending(gone));
    CHECK_FALSE(diary.events.cancel(gone));
    diary.run_all();
  }
  CHECK(diary.entries.size() == 11);
}

TEST_CASE("any pushes, cancels and runs happen as in a sorted list", "[core][events]") {
  struct Step {
    int kind;  // 0..4: push, 5: cancel, 6..7: run
    std::uint32_t delay;
    std::uint8_t which;
  };
  const auto steps = rc::gen::container<std::vector<std::tuple<int, std::uint32_t, std::uint8_t>>>(
      rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::arbitrary<std::uint32_t>(),
                     rc::gen::arbitrary<std::uint8_t>()));
  for_all(
      [&] {
        Diary diary;
        std::vector<ActorId> actors;
        std::vector<std::pair<int, std::uint32_t>> ranks;  // phase, order of construction
        for (std::uint32_t i = 0; i < 6; ++i) {
          const Phase phase = i % 2 == 0 ? Phase::cpu : Phase::device;
          actors.push_back(diary.events.add_actor("a" + std::to_string(i), phase));
          ranks.emplace_back(static_cast<int>(phase), i);
        }
        using Line = std::tuple<Instant, int, std::uint32_t, std::uint64_t>;  // the last one: entry
        std::vector<Line> expected;
        std::vector<std::pair<EventId, Line>> pushed;
        std::uint64_t entry = 0;
        const auto run = [&] {
          if (expected.empty()) {
            RC_ASSERT(diary.events.next_instant() == core::kNever);
            return;
          }
          std::ranges::sort(expected);
          RC_ASSERT(diary.events.next_instant() == std::get<0>(expected.front()));
          diary.events.run_next();
          RC_ASSERT(diary.entries.back() == std::get<3>(expected.front()));
          RC_ASSERT(diary.events.now() == std::get<0>(expected.front()));
          expected.erase(expected.begin());
        };
        for (const auto& [kind, drawn, which] : *steps) {
          // A third at the same few instants, a third near, a third far beyond a millisecond.
          const std::uint32_t delay = drawn % 3 == 0   ? drawn % 4
                                      : drawn % 3 == 1 ? drawn % 5000
                                                       : drawn;
          const std::size_t actor = which % actors.size();
          if (kind < 5) {
            const Instant when = diary.events.now() + Nanos{delay};
            const Line line{when, ranks[actor].first, ranks[actor].second, ++entry};
            pushed.emplace_back(diary.push(when, actors[actor], entry), line);
            expected.push_back(line);
          } else if (kind == 5 && !pushed.empty()) {
            const auto& [id, line] = pushed[which % pushed.size()];
            RC_ASSERT(diary.events.cancel(id) == (std::erase(expected, line) == 1));
          } else {
            run();
          }
          RC_ASSERT(diary.events.size() == expected.size());
        }
        while (!expected.empty())
          run();
        run();
      },
      500);
}

TEST_CASE("many events of any order come out sorted", "[core][events]") {
  for (const std::uint64_t stride : {1ull, 7'919ull, 49'999ull}) {
    Diary diary;
    const ActorId nic = diary.events.add_actor("nic", Phase::device);
    constexpr std::uint64_t count = 50'000;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t when = i * stride % count;
      diary.push(at(static_cast<std::int64_t>(when * 100)), nic, when);
    }
    diary.run_all();
    REQUIRE(diary.entries.size() == count);
    CHECK(std::ranges::is_sorted(diary.entries));
  }
}

TEST_CASE("a million timers set and cancelled leave no memory behind", "[core][events]") {
  const Nanos timeout = GENERATE(Nanos{5'000}, Nanos{200'000'000});  // near and far
  Diary diary;
  const ActorId tcp = diary.events.add_actor("tcp", Phase::device);
  for (int i = 0; i < 100; ++i)
    diary.push(at(1'000'000'000), tcp, 1);  // idle ones around it
  std::size_t keys_most = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const EventId timer = diary.push(diary.events.now() + timeout, tcp, 2);
    diary.events.advance_to(diary.events.now() + Nanos{1});
    REQUIRE(diary.events.cancel(timer));
    keys_most = std::max(keys_most, diary.events.keys_held());
  }
  CHECK(keys_most < 400);
  CHECK(diary.events.size() == 100);
  diary.run_all();
  CHECK(diary.entries.size() == 100);
}

TEST_CASE("the past, forgotten events and foreign actors are bugs", "[core][events]") {
  EventQueue events;
  const ActorId nic = events.add_actor("nic", Phase::device);
  const auto nothing = [](void*, std::uint64_t) {};
  events.advance_to(at(100));
  CHECK_THAT(abort_message([&] { events.push(at(99), nic, nothing, nullptr); }),
             Contains("future or present"));
  CHECK_THAT(abort_message([&] { events.push(core::kNever, nic, nothing, nullptr); }),
             Contains("some day"));
  CHECK_THAT(abort_message([&] { events.push(at(100), ActorId{7}, nothing, nullptr); }),
             Contains("actor was added"));
  CHECK_THAT(abort_message([&] { events.run_next(); }), Contains("there is a next event"));
  CHECK_THAT(abort_message([&] { events.advance_to(at(99)); }), Contains("never back"));
  events.push(at(150), nic, nothing, nullptr);
  CHECK_THAT(abort_message([&] { events.advance_to(at(151)); }), Contains("left behind"));
  events.advance_to(at(150));
}

TEST_CASE("the number of pending events is bounded", "[core][events]") {
  EventQueue events(3);
  const ActorId nic = events.add_actor("nic", Phase::device);
  const auto nothing = [](void*, std::uint64_t) {};
  for (int i = 0; i < 3; ++i)
    events.push(at(i), nic, nothing, nullptr);
  CHECK_THAT(abort_message([&] { events.push(at(9), nic, nothing, nullptr); }),
             Contains("within their bound"));
  events.run_next();
  events.push(at(9), nic, nothing, nullptr);
  CHECK(events.size() == events.bound());
}

}  // namespace tapestry::tests::event_queue_test
