// The virtio network driver with a poll for its transmit queues, and with several queue pairs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/transports/fake_virtio.hpp"

namespace tapestry::tests::virtio_pairs_test {
namespace {

using transports::VirtioNetOptions;

struct Control final : transports::VirtioNetControl {
  bool set_queue_pairs(std::size_t pairs) override {
    asked.push_back(pairs);
    return answers;
  }
  std::vector<std::size_t> asked;
  bool answers = true;
};

struct PairsBench : Bench {
  PairsBench(sched::SettleMode mode, std::size_t cpus, std::size_t pairs)
      : Bench(mode, {.cpus = cpus, .tx_queues = pairs}), virtio(make(pairs)) {}

  transports::VirtioNet& make(std::size_t pairs) {
    std::vector<transports::VirtioNetPort> ports;
    for (std::size_t i = 0; i < pairs; ++i) {
      cards.push_back(&world.make<FakeVirtio>(world, 64, host::virtqueue::NetFeatures{}));
      ports.push_back(cards.back()->port(*this));
    }
    auto& made = world.make<transports::VirtioNet>(
        environment(), ports, VirtioNetOptions{.transmit_napi = true, .interrupt_per_queue = true},
        &control);
    device.set_driver(made);
    for (std::size_t i = 0; i < pairs; ++i) {
      cards[i]->connect(made.pair(i));
      FakeVirtio& card = *cards[i];
      card.transmit.notify.on_ring = [this, &card] {
        world.at(world.now_ns() + 700, [&card] { card.send_all(); });
      };
    }
    return made;
  }
  // A process on one CPU that sends `count` frames, one every 2 us.
  void sender(std::size_t cpu, std::uint32_t first, std::uint32_t count) {
    machine.scheduler.spawn({.name = "sender", .affinity = sched::CpuMask{1} << cpu},
                            [this, first, count] {
                              machine.cpu().enter_kernel();
                              sleep_until(kOpeningNs * 2);
                              for (std::uint32_t i = 0; i < count; ++i) {
                                (void)device.transmit(make_frame(world.packets, first + i));
                                sleep_until(world.now_ns() + 2000);
                              }
                              machine.cpu().leave_kernel();
                            });
  }
  std::vector<std::size_t> sent_by_pair() const {
    std::vector<std::size_t> counts;
    for (const FakeVirtio* card : cards)
      counts.push_back(card->sent.size());
    return counts;
  }

  std::vector<FakeVirtio*> cards;
  Control control;
  transports::VirtioNet& virtio;
};

}  // namespace

TEST_CASE("virtio: with a poll for it, the last packet sent is released in bounded time",
          "[virtio]") {
  struct Owner final : core::PacketOwner {
    void packet_released(std::uint32_t bytes) override { told += bytes; }
    std::uint32_t told = 0;
  };
  for (const auto mode : kSettleModes) {
    for (const bool interrupt_per_queue : {false, true}) {
      Owner owner;
      Bench bench(mode);
      auto& card = bench.world.make<FakeVirtio>(bench.world, 256, host::virtqueue::NetFeatures{});
      card.driver(bench, {.transmit_napi = true, .interrupt_per_queue = interrupt_per_queue});
      bench.process([&] {
        for (std::uint32_t i = 1; i <= 5; ++i) {
          core::PacketPtr frame = make_frame(bench.world.packets, i);
          frame->set_owner(owner, 1);
          bench.send_one(std::move(frame), i < 5);
        }
        CHECK(owner.told == 0);  // kept, while the device has them
        const std::int64_t sent_at = bench.world.now_ns();
        bench.world.at(sent_at + 1000, [&] { card.send_all(); });
        bench.sleep_until(sent_at + 50'000);
        CHECK(owner.told == 5);
        CHECK(card.transmit.driver.outstanding() == 0);
      });
      bench.world.run();
      CHECK(card.sent == from_to(1, 5));
      CHECK(card.interrupts == 1);
    }
  }
}

TEST_CASE("virtio: a crowded queue stops and is woken by its poll", "[virtio]") {
  for (const auto mode : kSettleModes) {
    Bench bench(mode);
    auto& card = bench.world.make<FakeVirtio>(bench.world, 64, host::virtqueue::NetFeatures{});
    card.driver(bench, {.transmit_napi = true});
    bench.process([&] {
      for (std::uint32_t i = 1; i <= 100; ++i)
        (void)bench.device.transmit(make_frame(bench.world.packets, i));
      CHECK(bench.device.queue().stopped());
    });
    for (std::int64_t i = 0; i < 100; ++i)
      bench.world.at(200'000 + 20'000 * i, [&] { card.send_all(); });
    bench.world.run_until(5'000'000);
    CHECK(card.sent == from_to(1, 100));
    CHECK_FALSE(bench.device.queue().stopped());
    CHECK(card.transmit.driver.outstanding() == 0);
  }
}

TEST_CASE("virtio: CPUs are dealt out to the pairs in use, in order", "[virtio]") {
  struct Deal {
    std::size_t pairs;
    std::vector<std::size_t> sent;  // one frame of each of 6 CPUs
  };
  for (const Deal& deal : {Deal{1, {6, 0, 0, 0}}, Deal{2, {3, 3, 0, 0}}, Deal{3, {2, 2, 2, 0}},
                           Deal{4, {2, 2, 1, 1}}}) {
    PairsBench bench(sched::SettleMode::seams, 6, 4);
    bench.process([&] { REQUIRE(bench.virtio.use_pairs(deal.pairs)); });
    for (std::size_t cpu = 0; cpu < 6; ++cpu)
      bench.sender(cpu, static_cast<std::uint32_t>(cpu), 1);
    bench.world.run();
    CHECK(bench.sent_by_pair() == deal.sent);
  }
}

TEST_CASE("virtio: from four pairs to two to eight under traffic, nothing is lost", "[virtio]") {
  const auto history = [](sched::SettleMode mode) {
    constexpr std::uint32_t kEach = 400;
    PairsBench bench(mode, 8, 8);
    std::vector<std::vector<std::size_t>> stages;
    bench.process([&] {
      REQUIRE(bench.virtio.use_pairs(4));
      bench.sleep_until(300'000);
      REQUIRE(bench.virtio.use_pairs(2));
      bench.sleep_until(320'000);  // what was on its way has gone
      stages.push_back(bench.sent_by_pair());
      bench.sleep_until(600'000);
      stages.push_back(bench.sent_by_pair());
      REQUIRE(bench.virtio.use_pairs(8));
      bench.sleep_until(700'000);
      stages.push_back(bench.sent_by_pair());
    });
    for (std::size_t cpu = 0; cpu < 8; ++cpu)
      bench.sender(cpu, static_cast<std::uint32_t>(cpu) * kEach, kEach);
    bench.world.run();
    CHECK(bench.control.asked == std::vector<std::size_t>{4, 2, 8});
    Numbers all;
    for (const FakeVirtio* card : bench.cards)
      all.insert(all.end(), card->sent.begin(), card->sent.end());
    std::sort(all.begin(), all.end());
    CHECK(all == from_to(0, 8 * kEach - 1));
    CHECK(bench.device.figures().tx_dropped == 0);
    CHECK(ledger_is_closed(bench.world));
    REQUIRE(stages.size() == 3);
    CHECK(stages[0][2] == stages[1][2]);  // not used any more
    CHECK(stages[0][3] == stages[1][3]);
    CHECK(stages[2][4] > stages[1][4]);
    return std::pair{stages, bench.world.now_ns()};
  };
  const auto always = history(sched::SettleMode::always);
  CHECK(history(sched::SettleMode::seams) == always);
  CHECK(history(sched::SettleMode::random) == always);
}

TEST_CASE("virtio: a device that refuses goes on as it was, and without control there is no change",
          "[virtio]") {
  PairsBench bench(sched::SettleMode::seams, 2, 2);
  bench.control.answers = false;
  CHECK_FALSE(bench.virtio.use_pairs(2));
  CHECK(bench.virtio.pairs_in_use() == 1);
  int polls = 0;
  bench.virtio.for_each_napi([&](const irq::Napi&) { ++polls; });
  CHECK(polls == 4);  // receive and transmit of each pair
  std::vector<std::string> names;
  bench.virtio.for_each_statistic(
      [&](std::string_view name, std::uint64_t) { names.emplace_back(name); });
  REQUIRE(names.size() == 26);
  CHECK(names[8] == "rx_queue_1_packets");
  CHECK(names[16] == "tx_queue_0_packets");
  CHECK(names[25] == "tx_queue_1_kicks");
}

}  // namespace tapestry::tests::virtio_pairs_test
