// What the fiber engine costs beside what it is built on.
//
// A round trip resumes a fiber and comes back: two switches. Every contender is measured against
// raw jump_fcontext with the same number of fibers: the two take turns, a few thousand round trips
// each, some hundred times, in CPU time of the one thread. The table shows the median of each and
// their ratio, and the ratio of their lowest tenths, which is what remains on a machine that has
// other work.
//
// "raw" is the floor: the fiber keeps the continuation of its visitor in a register. "raw, slots"
// finds it in memory, by way of its argument, as whoever switches between named slots must: with
// more fibers than the caches hold, that difference is larger than all others. Raw stacks come from
// malloc; those of "protected" and of the engine have guard pages. Shuffled means that the fibers
// are not visited in the order of their stacks, so that nothing prefetches them.
#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "sched/fiber.hpp"
#include "tests/bench/contest.hpp"

namespace {

namespace context = boost::context;
using context::detail::fcontext_t;
using context::detail::jump_fcontext;
using context::detail::make_fcontext;
using context::detail::transfer_t;
using tapestry::bench::thread_cpu_ns;
using tapestry::sched::FiberEngine;
using tapestry::sched::FiberSlot;

constexpr std::size_t stack_bytes = 16 * 1024;

// The fibers in the order of the visits.
using Order = std::vector<std::uint32_t>;

Order visiting_order(std::size_t fibers, bool shuffled) {
  Order order(fibers);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(1);
  if (shuffled) std::shuffle(order.begin(), order.end(), random);
  return order;
}

template <class Visit>
void visit_cyclically(const Order& order, std::size_t visits, Visit visit) {
  std::size_t next = 0;
  for (; visits != 0; --visits) {
    visit(order[next]);
    if (++next == order.size()) next = 0;
  }
}

struct Contender {
  virtual ~Contender() = default;
  virtual void run(const Order& order, std::size_t visits) = 0;
};

std::vector<std::unique_ptr<char[]>> malloc_stacks(std::size_t count) {
  std::vector<std::unique_ptr<char[]>> stacks;
  for (; count != 0; --count)
    stacks.emplace_back(new char[stack_bytes]);
  return stacks;
}

struct Raw : Contender {
  explicit Raw(std::size_t count) : stacks(malloc_stacks(count)) {
    for (auto& stack : stacks) {
      fibers.push_back(make_fcontext(stack.get() + stack_bytes, stack_bytes, [](transfer_t back) {
        for (;;)
          back = jump_fcontext(back.fctx, nullptr);
      }));
    }
  }
  void run(const Order& order, std::size_t visits) override {
    visit_cyclically(order, visits, [this](std::uint32_t fiber) {
      fibers[fiber] = jump_fcontext(fibers[fiber], nullptr).fctx;
    });
  }
  std::vector<std::unique_ptr<char[]>> stacks;
  std::vector<fcontext_t> fibers;
};

struct RawSlots : Contender {
  struct Visited {
    fcontext_t slot;
    fcontext_t* hub;
  };
  explicit RawSlots(std::size_t count) : stacks(malloc_stacks(count)), fibers(count) {
    for (std::size_t i = 0; i < count; ++i) {
      fibers[i].hub = &hub;
      fibers[i].slot = make_fcontext(stacks[i].get() + stack_bytes, stack_bytes, be_visited);
      switch_to(fibers[i].slot, &fibers[i]);
    }
  }
  static void switch_to(fcontext_t to, void* data) {
    const transfer_t arrival = jump_fcontext(to, data);
    *static_cast<fcontext_t*>(arrival.data) = arrival.fctx;
  }
  static void be_visited(transfer_t arrival) {
    Visited& self = *static_cast<Visited*>(arrival.data);
    *self.hub = arrival.fctx;
    for (;;)
      switch_to(*self.hub, &self.slot);
  }
  void run(const Order& order, std::size_t visits) override {
    visit_cyclically(order, visits, [this](auto fiber) { switch_to(fibers[fiber].slot, &hub); });
  }
  std::vector<std::unique_ptr<char[]>> stacks;
  std::vector<Visited> fibers;
  fcontext_t hub = nullptr;
};

template <class StackAllocator>
struct BoostFiber : Contender {
  explicit BoostFiber(std::size_t count) {
    for (; count != 0; --count) {
      fibers.emplace_back(std::allocator_arg, StackAllocator(stack_bytes),
                          [](context::fiber&& back) {
                            for (;;)
                              back = std::move(back).resume();
                            return std::move(back);
                          });
    }
  }
  void run(const Order& order, std::size_t visits) override {
    visit_cyclically(order, visits, [this](std::uint32_t fiber) {
      fibers[fiber] = std::move(fibers[fiber]).resume();
    });
  }
  std::vector<context::fiber> fibers;
};

struct Visited {
  FiberEngine* engine;
  FiberSlot* hub;
  FiberSlot slot;
  bool ends = false;
};

void be_visited(void* argument) {
  Visited& self = *static_cast<Visited*>(argument);
  while (!self.ends)
    self.engine->switch_to(self.slot, *self.hub);
  self.engine->finish(*self.hub);
}

void start_or_exit(FiberEngine& engine, Visited& fiber) {
  if (engine.start(fiber.slot, be_visited, &fiber)) return;
  std::fprintf(stderr, "error: the system refuses stack %zu; vm.max_map_count must be higher\n",
               engine.stacks_in_use() + 1);
  std::exit(3);
}

struct Tapestry : Contender {
  explicit Tapestry(std::size_t count) : engine(stack_bytes, count), fibers(count) {
    for (Visited& fiber : fibers) {
      fiber.engine = &engine;
      fiber.hub = &hub;
      start_or_exit(engine, fiber);
    }
  }
  ~Tapestry() override {
    for (Visited& fiber : fibers) {
      fiber.ends = true;
      engine.switch_to(hub, fiber.slot);
    }
  }
  void run(const Order& order, std::size_t visits) override {
    visit_cyclically(order, visits,
                     [this](std::uint32_t fiber) { engine.switch_to(hub, fibers[fiber].slot); });
  }
  FiberEngine engine;
  FiberSlot hub;
  std::vector<Visited> fibers;
};

template <class StackAllocator>
struct BoostLifetime : Contender {
  explicit BoostLifetime(std::size_t) {}
  void run(const Order&, std::size_t visits) override {
    for (; visits != 0; --visits) {
      context::fiber fiber(std::allocator_arg, allocator,
                           [](context::fiber&& back) { return std::move(back); });
      fiber = std::move(fiber).resume();
    }
  }
  StackAllocator allocator{stack_bytes};
};

struct TapestryLifetime : Contender {
  explicit TapestryLifetime(std::size_t) {}
  void run(const Order&, std::size_t visits) override {
    for (; visits != 0; --visits) {
      start_or_exit(engine, fiber);
      engine.switch_to(hub, fiber.slot);
    }
  }
  FiberEngine engine{stack_bytes, 1};
  FiberSlot hub;
  Visited fiber{&engine, &hub, {}, true};
};

double quantile(std::vector<double> samples, double fraction) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<std::size_t>(static_cast<double>(samples.size()) * fraction)];
}

double ns_each(Contender& contender, const Order& order, std::size_t visits) {
  contender.run(order, order.size() + 1000);  // the other's turn has emptied the caches
  const double begin = thread_cpu_ns();
  contender.run(order, visits);
  return (thread_cpu_ns() - begin) / static_cast<double>(visits);
}

template <class Floor, class Other>
void compare(const char* name, const Order& order, int turns = 401) {
  Floor floor(order.size());
  Other other(order.size());
  const std::size_t visits = std::max<std::size_t>(order.size(), 10'000);
  std::vector<double> floor_ns, other_ns;
  for (int turn = 0; turn < turns; ++turn) {
    floor_ns.push_back(ns_each(floor, order, visits));
    other_ns.push_back(ns_each(other, order, visits));
  }
  const double median = quantile(other_ns, 0.5);
  const double floor_median = quantile(floor_ns, 0.5);
  std::printf("  %-40s %10.2f %10.2f %8.3f %8.3f\n", name, median, floor_median,
              median / floor_median, quantile(other_ns, 0.1) / quantile(floor_ns, 0.1));
  std::fflush(stdout);
}

void round_trips(std::size_t fibers, bool shuffled) {
  const Order order = visiting_order(fibers, shuffled);
  std::printf("round trip, %zu fiber%s%s\n", fibers, fibers == 1 ? "" : "s",
              shuffled ? ", shuffled" : "");
  compare<Raw, Raw>("raw jump_fcontext, against itself", order);
  compare<Raw, RawSlots>("raw jump_fcontext, slots", order);
  compare<Raw, BoostFiber<context::fixedsize_stack>>("boost::context::fiber, fixedsize", order);
  compare<Raw, BoostFiber<context::protected_fixedsize_stack>>("boost::context::fiber, protected",
                                                               order);
  compare<Raw, Tapestry>("tapestry::sched::FiberEngine", order);
}

}  // namespace

int main() {
  std::printf("%-42s %10s %10s %8s %8s\n", "", "median ns", "floor ns", "ratio", "lowest");
  for (const std::size_t fibers : {1u, 1000u, 30000u})
    round_trips(fibers, false);
  for (const std::size_t fibers : {1000u, 30000u})
    round_trips(fibers, true);

  using Pooled = BoostLifetime<context::pooled_fixedsize_stack>;
  using Protected = BoostLifetime<context::protected_fixedsize_stack>;
  const Order one = visiting_order(1, false);
  std::printf("start, run once and finish; the floor is boost::context::fiber, pooled\n");
  compare<Pooled, Protected>("boost::context::fiber, protected", one, 11);
  compare<Pooled, TapestryLifetime>("tapestry::sched::FiberEngine", one);
}
