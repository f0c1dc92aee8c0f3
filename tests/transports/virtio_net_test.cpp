// The virtio network driver between a stack and a device that is a test.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/transports/fake_virtio.hpp"

namespace tapestry::tests::virtio_net_test {
namespace {

using host::virtqueue::NetFeatures;
using transports::VirtioNetOptions;

constexpr NetFeatures kPlain{};
constexpr NetFeatures kMergeable{.mrg_rxbuf = true};
constexpr NetFeatures kBig{.guest_csum = true, .guest_tso4 = true};

struct VirtioBench : Bench {
  VirtioBench(sched::SettleMode mode, std::size_t size, NetFeatures features = kPlain,
              VirtioNetOptions options = {})
      : Bench(mode),
        card(world.make<FakeVirtio>(world, size, features)),
        virtio(card.driver(*this, options)) {}
  // Through the queueing discipline, as the stack sends.
  void flood(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      (void)device.transmit(make_frame(world.packets, first + i));
  }
  std::uint64_t statistic(std::string_view wanted) const {
    std::uint64_t found = UINT64_MAX;
    virtio.for_each_statistic([&](std::string_view name, std::uint64_t value) {
      if (name == wanted) found = value;
    });
    return found;
  }
  FakeVirtio& card;
  transports::VirtioNet& virtio;
};

}  // namespace

TEST_CASE("virtio: a train with the promise of more is told once", "[virtio]") {
  for (const auto mode : kSettleModes) {
    VirtioBench bench(mode, 256);
    bench.card.transmit.notify.on_ring = [&] { bench.card.send_all(); };
    bench.process([&] { bench.send(1, 10); });
    bench.world.run();
    CHECK(bench.card.sent == from_to(1, 10));
    CHECK(bench.card.transmit.notify.rings == 1);
    CHECK(bench.statistic("tx_queue_0_packets") == 10);
    CHECK(bench.statistic("tx_queue_0_kicks") == 1);
    CHECK(bench.card.interrupts == 1);  // the first is always told
  }
}

TEST_CASE("virtio: a device that works need not be told again", "[virtio]") {
  for (const auto mode : kSettleModes) {
    VirtioBench bench(mode, 256);
    bench.process([&] { bench.flood(1, 50); });
    bench.world.run();
    CHECK(bench.card.transmit.notify.rings == 1);
    bench.card.send_all();
    CHECK(bench.card.sent == from_to(1, 50));
  }
}

TEST_CASE("virtio: sent packets are orphaned at once and freed by the next one", "[virtio]") {
  VirtioBench bench(sched::SettleMode::seams, 256);
  struct Owner final : core::PacketOwner {
    void packet_released(std::uint32_t bytes) override { told += bytes; }
    std::uint32_t told = 0;
  } owner;
  std::size_t held_behind_one = 0, held_behind_two = 0;
  bench.process([&] {
    bench.card.transmit.notify.on_ring = [&] { bench.card.send_all(); };
    core::PacketPtr frame = make_frame(bench.world.packets, 1);
    frame->set_owner(owner, 7);
    bench.send_one(std::move(frame));
    CHECK(owner.told == 7);
    held_behind_one = bench.card.transmit.driver.outstanding();
    bench.send(2, 1);
    held_behind_two = bench.card.transmit.driver.outstanding();
  });
  bench.world.run();
  CHECK(held_behind_one == 1);
  CHECK(held_behind_two == 1);
}

TEST_CASE("virtio: the queue stops when the next packet might not fit, and wakes late",
          "[virtio]") {
  for (const auto mode : kSettleModes) {
    VirtioBench bench(mode, 64);
    // Not to the end: a watchdog looks at a stopped queue for ever.
    const auto run_on = [&bench] { bench.world.run_until(bench.world.now_ns() + 200'000); };
    bench.process([&] { bench.flood(1, 100); });
    run_on();
    // A frame takes two descriptors; below 19 free ones no other may come.
    CHECK(bench.card.transmit.driver.outstanding() == 23);
    CHECK(bench.device.queue().stopped());
    (void)bench.card.transmit.device.must_interrupt();  // the first is always told
    bench.world.at(bench.world.now_ns() + 1000, [&] { bench.card.send(17); });
    run_on();
    CHECK(bench.card.interrupts == 0);
    CHECK(bench.device.queue().stopped());
    bench.world.at(bench.world.now_ns() + 1000, [&] { bench.card.send(1); });  // 3/4 of 23
    run_on();
    CHECK(bench.card.interrupts == 1);
    bench.card.transmit.notify.on_ring = [&] { bench.card.send_all(); };
    bench.world.at(bench.world.now_ns() + 1000, [&] { bench.card.send_all(); });
    run_on();
    CHECK(bench.card.sent == from_to(1, 100));
    CHECK_FALSE(bench.device.queue().stopped());
  }
}

TEST_CASE("virtio: a flood gets through whenever the device asks to be told again (V3)",
          "[virtio]") {
  for (const auto mode : kSettleModes) {
    for (std::int64_t offset_ns = 0; offset_ns < 800; offset_ns += 13) {
      const VirtioNetOptions options{.transmit_napi = offset_ns % 2 == 0,
                                     .interrupt_per_queue = offset_ns % 4 < 2};
      VirtioBench bench(mode, 256, kPlain, options);
      bool asleep = true;
      std::function<void()> work = [&] {
        bench.card.send(7);
        if (bench.card.transmit.device.enable_notifications()) {
          asleep = true;
          return;
        }
        bench.card.transmit.device.disable_notifications();
        bench.world.at(bench.world.now_ns() + 900 + offset_ns, work);
      };
      bench.card.transmit.notify.on_ring = [&] {
        if (std::exchange(asleep, false)) bench.world.at(bench.world.now_ns() + offset_ns, work);
      };
      bench.process([&] { bench.flood(1, 600); });
      bench.world.run_until(5'000'000);
      REQUIRE(bench.card.sent == from_to(1, 600));
      CHECK_FALSE(bench.device.queue().stopped());
    }
  }
}

TEST_CASE("virtio: frames come up whatever the buffers are", "[virtio]") {
  struct Kind {
    NetFeatures features;
    std::size_t buffers;
  };
  for (const auto mode : kSettleModes) {
    for (const Kind& kind : {Kind{kPlain, 256}, Kind{kMergeable, 256}, Kind{kBig, 13}}) {
      VirtioBench bench(mode, 256, kind.features);
      bench.process([] {});
      bench.world.at(100'000, [&] { bench.card.arrive(1, 5, 1514); });
      bench.world.run();
      CHECK(bench.received == from_to(1, 5));
      CHECK(bench.card.receive.driver.outstanding() + 5 >= kind.buffers);
      CHECK(bench.card.interrupts == 1);
      CHECK(bench.statistic("rx_queue_0_packets") == 5);
      CHECK(ledger_is_closed(bench.world));
    }
  }
}

TEST_CASE("virtio: a long frame takes several mergeable buffers, or one big one", "[virtio]") {
  for (const NetFeatures features : {kMergeable, kBig}) {
    VirtioBench bench(sched::SettleMode::seams, 256, features);
    bench.process([] {});
    bench.world.at(100'000, [&] { bench.card.arrive(1, 3, 20'000); });
    bench.world.run();
    CHECK(bench.received == from_to(1, 3));
    CHECK(bench.lengths == std::vector<std::size_t>{20'000, 20'000, 20'000});
    CHECK(ledger_is_closed(bench.world));
  }
}

TEST_CASE("virtio: mergeable buffers become as long as frames are on average", "[virtio]") {
  VirtioBench bench(sched::SettleMode::seams, 64, kMergeable);
  bench.process([] {});
  for (std::uint32_t i = 0; i < 200; ++i)
    bench.world.at(100'000 + 50'000 * i, [&bench, i] { bench.card.arrive(i, 1, 3000); });
  bench.world.run();
  CHECK(bench.received.size() == 200);
  const auto chain = bench.card.receive.device.next();
  REQUIRE(chain);
  CHECK(chain->writable_bytes == 3072);  // header and 3000, in whole cache lines
}

TEST_CASE("virtio: what is used while callbacks are off is found without an interrupt (V3)",
          "[virtio]") {
  for (const auto mode : kSettleModes) {
    for (std::int64_t offset_ns = 0; offset_ns < 3000; offset_ns += 7) {
      VirtioBench bench(mode, 64);
      bench.process([] {});
      bench.world.at(100'000, [&] { bench.card.arrive(1, 1); });
      bench.world.at(100'000 + offset_ns, [&] { bench.card.arrive(2, 1); });
      bench.world.run();
      REQUIRE(bench.received == from_to(1, 2));
      CHECK(bench.card.interrupts <= 2);
    }
  }
}

TEST_CASE("virtio: half of the buffers gone are given back, untold to a device with some left",
          "[virtio]") {
  VirtioBench bench(sched::SettleMode::seams, 64);
  bench.process([] {});
  std::uint32_t next = 1;
  for (std::int64_t i = 0; i < 20; ++i)
    bench.world.at(100'000 + 100'000 * i, [&] {
      bench.card.arrive(next, 16);
      next += 16;
    });
  bench.world.run();
  CHECK(bench.received.size() == 320);
  CHECK(bench.card.overruns == 0);
  CHECK(bench.card.receive.driver.outstanding() >= 32);
  CHECK(bench.statistic("rx_queue_0_kicks") == 1);  // at opening
}

TEST_CASE("virtio: a queue that a hostile device broke loses packets, and nothing else",
          "[virtio]") {
  VirtioBench bench(sched::SettleMode::seams, 64);
  bench.process([&] {
    bench.send(1, 1);
    bench.card.transmit.ring.memory().used[0] = {63, 0};
    bench.card.transmit.ring.memory().used_index = 1;
    bench.send(2, 3);
  });
  bench.world.run();
  CHECK(bench.card.transmit.driver.broken());
  CHECK(bench.device.figures().tx_dropped == 3);
  CHECK(bench.drops(core::DropReason::full_ring) == 3);
}

TEST_CASE("virtio: the driver does the same at the same instants in every settle mode",
          "[virtio]") {
  const auto history = [](sched::SettleMode mode, NetFeatures features) {
    VirtioBench bench(mode, 64, features);
    bool busy = false;
    std::function<void()> work = [&] {
      bench.card.send(3);
      busy = !bench.card.transmit.device.enable_notifications();
      if (busy) bench.world.at(bench.world.now_ns() + 777, work);
    };
    bench.card.transmit.notify.on_ring = [&] {
      if (!std::exchange(busy, true)) bench.world.at(bench.world.now_ns() + 333, work);
    };
    bench.process([&] { bench.flood(1, 80); });
    for (std::uint32_t i = 0; i < 40; ++i)
      bench.world.at(40'000 + 3'001 * i,
                     [&bench, i] { bench.card.arrive(1000 + 3 * i, 3, 60 + 30 * i); });
    bench.world.run_until(2'000'000);
    CHECK(ledger_is_closed(bench.world));
    std::vector<std::int64_t> numbers{bench.world.now_ns(),
                                      static_cast<std::int64_t>(bench.card.interrupts),
                                      static_cast<std::int64_t>(bench.card.overruns)};
    for (const std::uint32_t number : bench.card.sent)
      numbers.push_back(number);
    for (const std::uint32_t number : bench.received)
      numbers.push_back(number);
    bench.virtio.for_each_statistic([&](std::string_view, std::uint64_t value) {
      numbers.push_back(static_cast<std::int64_t>(value));
    });
    return numbers;
  };
  for (const NetFeatures features : {kPlain, kMergeable, kBig}) {
    const auto always = history(sched::SettleMode::always, features);
    CHECK(history(sched::SettleMode::seams, features) == always);
    CHECK(history(sched::SettleMode::random, features) == always);
  }
}

}  // namespace tapestry::tests::virtio_net_test
