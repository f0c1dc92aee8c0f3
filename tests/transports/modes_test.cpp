// However often charges are paid, a UML driver does the same at the same instants.
#include <array>

#include "tests/transports/driver_bench.hpp"

namespace tapestry::tests::modes_test {
namespace {

// Traffic both ways with a host that refuses in between, as numbers: every call, every frame, every
// counter, and when it was all over.
std::vector<std::int64_t> history(sched::SettleMode mode, host::IoCapabilities port, bool legacy,
                                  transports::VectorOptions options) {
  Bench bench(mode, {.port = port, .byte_queue_limits = true});
  if (legacy)
    bench.legacy();
  else
    bench.vector(options);
  bench.process([&] {
    for (std::uint32_t number = 1; number <= 60; ++number)
      (void)bench.device.transmit(make_frame(bench.world.packets, number, 60 + 20 * number));
  });
  bench.world.at(70'000, [&] { bench.fake.would_block_for(core::Nanos{20'000}); });
  bench.world.at(130'000, [&] { bench.fake.no_buffers_for(core::Nanos{20'000}); });
  for (std::uint32_t i = 0; i < 40; ++i)
    bench.arrive_at(40'000 + 3'001 * i, 1 + 3 * i, 3);
  bench.world.run();
  CHECK(ledger_is_closed(bench.world));

  std::vector<std::int64_t> numbers{bench.world.now_ns()};
  const auto add = [&numbers](std::uint64_t value) {
    numbers.push_back(static_cast<std::int64_t>(value));
  };
  for (const FakePort::SendCall& call : bench.fake.send_calls()) {
    numbers.push_back(core::nanos_since_start(call.at));
    add(call.offered);
    add(call.result.count);
  }
  add(bench.fake.receive_calls());
  for (const std::uint32_t number : bench.received)
    add(number);
  bench.device.driver().for_each_statistic(
      [&add](std::string_view, std::uint64_t value) { add(value); });
  const net::DeviceFigures& figures = bench.device.figures();
  for (const std::uint64_t figure :
       {figures.tx_packets, figures.tx_dropped, figures.rx_packets, figures.rx_dropped})
    add(figure);
  return numbers;
}

TEST_CASE("A UML driver does the same at the same instants in every settle mode") {
  struct Kind {
    const char* name;
    host::IoCapabilities port;
    bool legacy;
  };
  const auto kind = GENERATE(values<Kind>({{"legacy", kLegacy, true},
                                           {"tap", kTap, false},
                                           {"hybrid", kHybrid, false},
                                           {"raw", kRaw, false}}));
  const bool napi = GENERATE(true, false);
  const auto behaviour = GENERATE(Behaviour::contract, Behaviour::uml_6_1);
  if (kind.legacy && !(napi && behaviour == Behaviour::contract)) {
    SUCCEED("the legacy driver has neither option");
    return;
  }
  CAPTURE(kind.name, napi, behaviour == Behaviour::contract);
  const transports::VectorOptions options{.depth = 16, .napi = napi, .behaviour = behaviour};
  const auto always = history(sched::SettleMode::always, kind.port, kind.legacy, options);
  CHECK(history(sched::SettleMode::seams, kind.port, kind.legacy, options) == always);
  CHECK(history(sched::SettleMode::random, kind.port, kind.legacy, options) == always);
}

}  // namespace
}  // namespace tapestry::tests::modes_test
