// Fibers as their owners use them: who runs when, whose exception is whose, and where the stacks
// go.

#include "sched/fiber.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using tapestry::sched::Cancelled;
using tapestry::sched::FiberEngine;
using tapestry::sched::FiberSlot;

// A fiber that runs `body` and hands control to and fro with the thread's own stack, kept in
// `main`.
class Strand {
 public:
  Strand(FiberEngine& engine, FiberSlot& main, std::function<void(Strand&)> body)
      : engine_(engine), main_(main), body_(std::move(body)) {
    started_ = engine.start(slot, &Strand::enter, this);
  }

  bool started() const { return started_; }
  bool ended() const { return !slot.holds_suspended(); }
  void resume() { engine_.switch_to(main_, slot); }
  void park() { engine_.switch_to(slot, main_); }

  // Like the scheduler's: a parked fiber that is resumed after cancel() unwinds.
  void cancel() {
    cancelled_ = true;
    resume();
  }
  void block() {
    park();
    if (cancelled_) throw Cancelled{};
  }

  FiberSlot slot;

 private:
  static void enter(void* argument) {
    Strand& self = *static_cast<Strand*>(argument);
    try {
      self.body_(self);
    } catch (const Cancelled&) {
    }
    self.engine_.finish(self.main_);
  }

  FiberEngine& engine_;
  FiberSlot& main_;
  std::function<void(Strand&)> body_;
  bool started_ = false;
  bool cancelled_ = false;
};

// Appends a letter at each of its turns.
std::function<void(Strand&)> spelling(std::string& word, std::string letters) {
  return [&word, letters = std::move(letters)](Strand& self) {
    for (const char letter : letters) {
      word += letter;
      self.park();
    }
  };
}

struct Guard {
  explicit Guard(int& count) : count_(count) {}
  ~Guard() { ++count_; }
  int& count_;
};

}  // namespace

TEST_CASE("Fibers take their turns in the order in which they are resumed", "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  std::string word;
  Strand warp(engine, main, spelling(word, "wae"));
  Strand weft(engine, main, spelling(word, "ev"));
  CHECK(word.empty());
  for (Strand* turn : {&warp, &weft, &warp, &weft, &warp})
    turn->resume();
  CHECK(word == "weave");
  CHECK_FALSE(warp.ended());
  warp.resume();
  weft.resume();
  CHECK(warp.ended());
  CHECK(weft.ended());
  CHECK(engine.stacks_in_use() == 0);
}

TEST_CASE("Fibers resume one another without a way back to who started them", "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  std::string word;
  std::deque<Strand> ring;
  for (std::size_t i = 0; i < 3; ++i) {
    ring.emplace_back(engine, main, [&, i](Strand& self) {
      word += static_cast<char>('a' + i);
      engine.switch_to(self.slot, i == 2 ? main : ring[i + 1].slot);  // away, round the ring
      word += static_cast<char>('A' + i);
      if (i != 2) engine.switch_to(self.slot, ring[i + 1].slot);
    });
  }
  ring[0].resume();
  CHECK(word == "abc");
  ring[0].resume();
  CHECK(word == "abcABC");
  CHECK(ring[2].ended());
  ring[0].resume();
  ring[1].resume();
  CHECK(engine.stacks_in_use() == 0);
}

TEST_CASE("The thread's own stack can be suspended in any slot", "[fiber]") {
  FiberEngine engine;
  FiberSlot here, there;
  int visits = 0;
  CHECK_FALSE(engine.running_a_fiber());
  Strand first(engine, here, [&](Strand& self) {
    CHECK(engine.running_a_fiber());
    CHECK(here.holds_suspended());
    ++visits;
    engine.switch_to(self.slot, here);
    CHECK(there.holds_suspended());
    ++visits;
    engine.switch_to(self.slot, there);
  });
  engine.switch_to(here, first.slot);
  CHECK_FALSE(here.holds_suspended());
  engine.switch_to(there, first.slot);
  CHECK(visits == 2);
  engine.switch_to(here, first.slot);
  CHECK(first.ended());
}

TEST_CASE("An engine runs inside a fiber of another engine", "[fiber]") {
  FiberEngine outer, inner;
  FiberSlot main;
  std::string word;
  Strand world(outer, main, [&](Strand& self) {
    FiberSlot inner_main;
    Strand small(inner, inner_main, spelling(word, "ac"));
    small.resume();
    self.park();
    small.resume();
    small.resume();
    CHECK(small.ended());
  });
  world.resume();
  word += 'b';
  world.resume();
  CHECK(word == "abc");
  CHECK(world.ended());
}

TEST_CASE("An exception is thrown and caught inside a fiber", "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  int unwound = 0;
  std::string caught;
  Strand strand(engine, main, [&](Strand& self) {
    for (int i = 0; i < 2; ++i) {
      try {
        Guard guard(unwound);
        self.park();
        throw std::runtime_error("torn");
      } catch (const std::exception& error) {
        caught += error.what();
      }
      CHECK(std::uncaught_exceptions() == 0);
    }
  });
  for (int i = 0; i < 3; ++i)
    strand.resume();
  CHECK(unwound == 2);
  CHECK(caught == "torntorn");
  CHECK(strand.ended());
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("Fibers parked inside catch blocks rethrow their own exceptions", "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  std::string rethrown;
  const auto parks_in_a_handler = [&](const char* name) {
    return [&rethrown, name](Strand& self) {
      try {
        try {
          throw std::runtime_error(name);
        } catch (const std::exception&) {
          self.park();
          throw;
        }
      } catch (const std::exception& error) {
        rethrown += error.what();
      }
    };
  };
  Strand a(engine, main, parks_in_a_handler("a"));
  Strand b(engine, main, parks_in_a_handler("b"));
  a.resume();
  CHECK(std::current_exception() == nullptr);
  b.resume();
  a.resume();  // in the order in which they were parked, not the reverse
  b.resume();
  CHECK(rethrown == "ab");
  CHECK(a.ended());
  CHECK(b.ended());
}

TEST_CASE("A fiber that switches away while it unwinds leaves no exception to the others",
          "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  struct ParksInItsDestructor {
    Strand& self;
    int& uncaught;
    ~ParksInItsDestructor() {
      self.park();
      uncaught = std::uncaught_exceptions();
    }
  };
  int uncaught_inside = -1;
  Strand strand(engine, main, [&](Strand& self) {
    try {
      ParksInItsDestructor parks{self, uncaught_inside};
      throw std::runtime_error("torn");
    } catch (const std::exception&) {
    }
  });
  strand.resume();
  CHECK(std::uncaught_exceptions() == 0);
  strand.resume();
  CHECK(uncaught_inside == 1);
  CHECK(strand.ended());
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("A suspended fiber is cancelled while its owner is unwinding", "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  int unwound = 0;
  int uncaught_inside = -1;
  std::string caught;
  Strand strand(engine, main, [&](Strand& self) {
    Guard guard(unwound);
    uncaught_inside = std::uncaught_exceptions();
    self.block();
  });
  struct Owner {
    Strand& strand;
    ~Owner() { strand.cancel(); }
  };
  try {
    Owner owner{strand};
    strand.resume();
    throw std::runtime_error("the world ended");
  } catch (const std::exception& error) {
    caught = error.what();
  }
  CHECK(caught == "the world ended");
  CHECK(unwound == 1);
  CHECK(uncaught_inside == 0);
  CHECK(strand.ended());
  CHECK(engine.stacks_in_use() == 0);
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("The stack of a finished fiber is the next one's, whatever was left on it", "[fiber]") {
  FiberEngine engine(16 * 1024, 2);
  FiberSlot main;
  std::vector<const void*> frames;
  const auto fills_most_of_its_stack = [&](Strand&) {
    frames.push_back(__builtin_frame_address(0));
    volatile char bytes[8 * 1024];
    for (std::size_t i = 0; i < sizeof bytes; ++i)
      bytes[i] = 1;
  };
  for (int i = 0; i < 3; ++i) {
    Strand strand(engine, main, fills_most_of_its_stack);
    CHECK(engine.stacks_in_use() == 1);
    strand.resume();
    CHECK(engine.stacks_in_use() == 0);
    CHECK(engine.stacks_pooled() == 1);
  }
  REQUIRE(frames.size() == 3);
  CHECK(frames[0] == frames[1]);
  CHECK(frames[1] == frames[2]);
}

TEST_CASE("No more fibers start than the engine has stacks for", "[fiber]") {
  FiberEngine engine(FiberEngine::default_stack_bytes, 2);
  FiberSlot main;
  const auto nothing = [](Strand&) {};
  Strand first(engine, main, nothing);
  Strand second(engine, main, nothing);
  Strand third(engine, main, nothing);
  CHECK(second.started());
  CHECK_FALSE(third.started());
  CHECK_FALSE(third.slot.holds_suspended());
  first.resume();
  Strand fourth(engine, main, nothing);
  CHECK(fourth.started());
  second.resume();
  fourth.resume();
  CHECK(engine.stacks_in_use() == 0);
}

TEST_CASE("Stacks are reserved ahead of the fibers", "[fiber]") {
  FiberEngine engine(FiberEngine::default_stack_bytes, 8);
  CHECK(engine.stacks_pooled() == 0);
  CHECK(engine.reserve(5));
  CHECK(engine.reserve(3));
  CHECK(engine.stacks_pooled() == 5);
  CHECK_FALSE(engine.reserve(9));
  CHECK(engine.stacks_pooled() == 8);
}

TEST_CASE("Where there is no address space for the stacks, no fiber starts", "[fiber]") {
  FiberEngine engine(std::size_t{1} << 40, 1 << 12);  // 4 PiB
  FiberSlot main;
  const Strand strand(engine, main, [](Strand&) {});
  CHECK_FALSE(strand.started());
  CHECK(engine.stacks_in_use() == 0);
}

TEST_CASE("Thirty thousand fibers are suspended at once", "[fiber][many]") {
  std::size_t count = 30'000;
  std::size_t mappings_max = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings_max;
  // A stack and its guard page are a mapping each; the program itself needs some.
  const std::size_t possible = mappings_max < 5'000 ? 1'000 : (mappings_max - 3'000) / 2;
  if (possible < count) {
    WARN("vm.max_map_count is " << mappings_max << ": only " << possible << " fibers");
    count = possible;
  }
#ifdef TAPESTRY_THREAD_SANITIZER
  count = 4'000;  // ThreadSanitizer knows 8,000 fibers at most
#endif
  FiberEngine engine(16 * 1024, count);
  FiberSlot main;
  std::size_t steps = 0;
  std::deque<Strand> strands;
  for (std::size_t i = 0; i < count; ++i) {
    strands.emplace_back(engine, main, [&](Strand& self) {
      ++steps;
      self.park();
      ++steps;
    });
  }
  CHECK(engine.stacks_in_use() == count);
  for (Strand& strand : strands)
    strand.resume();
  CHECK(steps == count);
  CHECK(engine.stacks_in_use() == count);
  for (Strand& strand : strands)
    strand.resume();
  CHECK(steps == 2 * count);
  CHECK(engine.stacks_pooled() == count);
}

TEST_CASE("An engine without fibers moves to another thread", "[fiber]") {
  FiberEngine engine;
  FiberSlot main;
  std::string word;
  const auto spell = [&](const char* letters) {
    Strand strand(engine, main, spelling(word, letters));
    while (!strand.ended())
      strand.resume();
  };
  spell("here");
  std::thread([&] { spell("there"); }).join();
  spell("here");
  CHECK(word == "heretherehere");
}
