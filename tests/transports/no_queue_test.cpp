// Every path of the UML drivers works with vectors in both directions, in one, and in none.
#include <array>

#include "tests/transports/driver_bench.hpp"

namespace tapestry::tests::no_queue_test {
namespace {

struct Kind {
  const char* name;
  host::IoCapabilities port;
  bool legacy;
  std::size_t receive_ring, transmit_ring;  // with vec=1
};

const std::array<Kind, 4> kKinds{{{"legacy", kLegacy, true, 0, 0},
                                  {"tap", kTap, false, 0, 0},
                                  {"hybrid", kHybrid, false, 64, 0},
                                  {"raw", kRaw, false, 64, 64}}};

std::uint64_t sum_of_statistics(const net::Driver& driver, std::string_view beginning_with = "") {
  std::uint64_t sum = 0;
  driver.for_each_statistic([&](std::string_view name, std::uint64_t value) {
    if (name.starts_with(beginning_with)) sum += value;
  });
  return sum;
}

void open_use_close_and_open_again(Bench& bench) {
  bench.process([&bench] {
    CHECK(sum_of_statistics(bench.device.driver()) == 0);
    bench.send(1, 5);
    bench.sleep_until(3'000'000);
    bench.device.close();
    CHECK(bench.device.figures().tx_packets == 5);
    bench.arrive(5, 1);  // while nobody listens
    bench.sleep_until(5'000'000);
    CHECK(bench.received == from_to(1, 4));
    bench.device.open();
    CHECK(sum_of_statistics(bench.device.driver(), "tx_") == 0);
    bench.send(6, 5, 600);
  });
  bench.arrive_at(1'000'000, 1, 4);
  bench.arrive_at(7'000'000, 6, 3);
  bench.world.run();
}

TEST_CASE("A UML driver opens, polls, moves frames, closes and opens again, whatever has a queue") {
  const auto mode = GENERATE(from_range(kSettleModes));
  const auto& kind = GENERATE(from_range(kKinds));
  const bool vec = GENERATE(false, true);
  const bool napi = GENERATE(false, true);
  const auto behaviour = GENERATE(Behaviour::contract, Behaviour::uml_6_1);
  CAPTURE(kind.name, vec, napi, behaviour == Behaviour::contract);
  if (kind.legacy && (vec || napi || behaviour == Behaviour::uml_6_1)) {
    SUCCEED("the legacy driver has none of these options");
    return;
  }

  Bench bench(mode, {.port = kind.port});
  if (kind.legacy) {
    bench.legacy();
  } else {
    const auto& driver = bench.vector({.vec = vec, .napi = napi, .behaviour = behaviour});
    CHECK(driver.receive_ring() == (vec ? kind.receive_ring : 0));
    CHECK(driver.transmit_ring() == (vec ? kind.transmit_ring : 0));
  }
  open_use_close_and_open_again(bench);

  CHECK(bench.sent() == from_to(1, 10));
  CHECK(bench.received == from_to(1, 8));
  CHECK(bench.device.figures().tx_packets == 10);
  CHECK(bench.device.figures().tx_dropped == 0);
  CHECK(bench.device.figures().rx_packets == 8);
  CHECK(bench.device.figures().rx_dropped == 0);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A vector device has the fourteen counters of the real driver, in its order") {
  Bench bench(sched::SettleMode::seams);
  std::string names;
  bench.vector().for_each_statistic(
      [&names](std::string_view name, std::uint64_t) { names += std::string(name) + " "; });
  CHECK(names ==
        "rx_queue_max rx_queue_running_average tx_queue_max tx_queue_running_average "
        "rx_encaps_errors tx_timeout_count tx_restart_queue tx_kicks tx_flow_control_xon "
        "tx_flow_control_xoff rx_csum_offload_good rx_csum_offload_errors sg_ok sg_linearized ");
}

TEST_CASE(
    "The queue counters keep the maximum, and half of the last average and half of the rest") {
  transports::VectorStatistics statistics;
  for (const std::uint64_t messages : {10, 3, 64, 1}) {
    statistics.count_sent(messages);
    statistics.count_received(messages);
  }
  // 10 >> 1, 8 >> 1, 68 >> 1, 35 >> 1
  CHECK(statistics.tx_queue_max == 64);
  CHECK(statistics.tx_queue_running_average == 17);
  CHECK(statistics.rx_queue_max == 64);
  CHECK(statistics.rx_queue_running_average == 17);
}

TEST_CASE("tx-usecs is in whole ticks, and at least one") {
  struct Row {
    int hz;
    std::uint64_t set, told;
  };
  const auto row = GENERATE(values<Row>({{100, 20'000, 20'000},
                                         {100, 19'999, 10'000},
                                         {100, 1, 10'000},
                                         {1000, 2'500, 2'000},
                                         {1000, 0, 1'000}}));
  Bench bench(sched::SettleMode::seams, {.hz = row.hz});
  auto& driver = bench.vector();
  CHECK(driver.transmit_usecs() == 2'000'000u / static_cast<unsigned>(row.hz));  // two jiffies
  driver.set_transmit_usecs(row.set);
  CHECK(driver.transmit_usecs() == row.told);
}

}  // namespace
}  // namespace tapestry::tests::no_queue_test
