// What the typed scenario holds: units parsed, defaults filled in, names resolved.
#include "app/scenario/decode.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::decode_test {

using namespace app;
using namespace std::chrono_literals;

TEST_CASE("defaults are filled in", "[app][scenario]") {
  const LoadedScenario loaded = load(small_scenario());
  REQUIRE(said(loaded).empty());
  const Scenario& scenario = loaded.scenario->variants.front();
  CHECK(scenario.seed == 1);
  CHECK_FALSE(scenario.stop);
  CHECK(scenario.costs_path == (kRoot / "scenarios/costs/zero.yaml").string());

  const Machine& host = scenario.machines[0];
  CHECK(host.platform == Platform::native);
  CHECK(host.kernel == "6.18");
  CHECK(host.cpus == 2);
  CHECK(host.hz == 250);
  CHECK(host.preempt == Preempt::voluntary);
  CHECK_FALSE(host.host);
  const Machine& guest = scenario.machines[1];
  CHECK(guest.platform == Platform::uml);
  CHECK(guest.cpus == 1);
  CHECK(guest.hz == 100);
  CHECK(guest.preempt == Preempt::none);
  CHECK(guest.host->index == 0);
  CHECK_FALSE(guest.pin);

  const Device& tap = scenario.devices[0];
  CHECK(tap.interface == "tap0");
  CHECK(tap.machine.index == 0);
  CHECK(tap.address->address.text() == "10.77.0.1");
  CHECK(tap.mtu == 1500);
  CHECK(tap.txqueuelen == 1000);
  CHECK_FALSE(std::get<TapDevice>(tap.kind).sndbuf);
  const auto& vector = std::get<VectorDevice>(scenario.devices[1].kind);
  CHECK(vector.attach.index == 0);
  CHECK(vector.depth == 64);
  CHECK(vector.gro);
  CHECK(vector.vec);
  CHECK(vector.napi);
  CHECK(vector.behaviour == Behaviour::contract);
  CHECK_FALSE(vector.coalesce);

  const auto& udp = std::get<UdpStreamWorkload>(scenario.workloads[0].kind);
  CHECK(udp.from.index == 1);
  CHECK(udp.to.index == 0);
  CHECK(udp.size == core::Bytes{1472});
  CHECK(udp.duration == 1ms);
  CHECK(udp.warmup == 0ms);
  CHECK(udp.sessions == 1);
  CHECK(udp.calls_per_datagram == 1);
  CHECK_FALSE(udp.rate);
}

TEST_CASE("every attribute of a scenario arrives where it belongs", "[app][scenario]") {
  const LoadedScenario loaded = load(R"(schema: tapestry/1
title: everything
about: |
  two
  lines
seed: 42
costs: costs/zero.yaml
stop: 10s
machines:
  a: {platform: native, kernel: 4.18, cpus: 4, hz: 1000, preempt: full,
      sysctl: {net.core.netdev_budget: 600}}
  b: {platform: native, kernel: "2.6.22"}
devices:
  a.eth0: {kind: nic, link: wire, rx: 512, tx: 128, rx-usecs: 50us, tx-usecs: 1ms,
           checksum: offload,
           mtu: 9000,
           address: 10.0.0.1/30, mac: 02:00:00:00:00:01, txqueuelen: 10}
  b.eth0.5: {kind: nic, link: wire, address: 10.0.0.2/30}
  b.tap0: {kind: tap, sndbuf: 1MiB, offloads: [csum, tso4, tso6, ecn]}
links:
  wire: {rate: 10Gbit, delay: 1us, queue: 100, loss: 0.1%}
workloads:
  stream: {kind: udp-stream, from: a, to: b, size: 64B, sessions: 2, duration: 2s, warmup: 10ms,
           rate: 1Gbit,
           calls-per-datagram: 3, from-cpu: 3, to-cpu: 0, start: 5ms}
  rr: {kind: udp-rr, from: b, to: a, request: 64B, response: 1KiB, duration: 1s, to-cpu: 1}
  ping: {kind: ping, from: a, to: b, size: 0B, count: 3, interval: 0ms}
  call: {kind: syscall, machine: a, size: 16KiB, count: 7, cpu: 2}
  slow: {kind: replay, file: captures/uml-mixed.pcap, timing: scaled, scale: 2.5, loop: 3,
         sides: {10.77.0.2: a, 3e:30:db:47:2a:7a: b}}
  fast: {kind: replay, file: captures/uml-mixed.pcap, timing: fixed, rate: 1Gbit,
         sides: {10.77.0.2: a}}
captures:
  - {at: a.eth0}
  - {at: b.eth0.5, snaplen: 64B, checksums: as-seen}
)");
  REQUIRE(said(loaded) == std::vector<std::string>{});
  CHECK(loaded.scenario->about == "two\nlines\n");
  const Scenario& scenario = loaded.scenario->variants.front();
  CHECK(scenario.seed == 42);
  CHECK(scenario.stop == 10s);
  CHECK(scenario.costs_path == (kRoot / "scenarios/costs/zero.yaml").string());
  CHECK(scenario.machines[0].kernel == "4.18");
  CHECK(scenario.machines[0].sysctl.netdev_budget == 600);
  CHECK_FALSE(scenario.machines[0].sysctl.dev_weight);

  const auto& nic = std::get<NicDevice>(scenario.devices[0].kind);
  CHECK(nic.rx == 512);
  CHECK(nic.tx == 128);
  CHECK(nic.rx_usecs == 50us);
  CHECK(nic.tx_usecs == 1ms);
  CHECK(nic.checksum == Checksum::offload);
  CHECK(scenario.devices[0].mac->text() == "02:00:00:00:00:01");
  CHECK(scenario.devices[1].interface == "eth0.5");
  CHECK(scenario.devices[1].machine.name == "b");
  const auto& tap = std::get<TapDevice>(scenario.devices[2].kind);
  CHECK(tap.sndbuf == core::Bytes{1024 * 1024});
  CHECK((tap.offloads.csum && tap.offloads.tso4 && tap.offloads.tso6 && tap.offloads.tso_ecn));

  const Link& wire = scenario.links[0];
  CHECK(wire.rate == core::BitRate{10'000'000'000});
  CHECK(wire.delay == 1us);
  CHECK(wire.loss.parts_per_billion == 1'000'000);
  CHECK(wire.ends == std::vector<std::size_t>{0, 1});

  const auto& stream = std::get<UdpStreamWorkload>(scenario.workloads[0].kind);
  CHECK(scenario.workloads[0].start == 5ms);
  CHECK(stream.rate == core::BitRate{1'000'000'000});
  CHECK(stream.calls_per_datagram == 3);
  CHECK(stream.from_cpu == 3);
  CHECK(stream.to_cpu == 0);
  CHECK(std::get<UdpRequestResponseWorkload>(scenario.workloads[1].kind).response ==
        core::Bytes{1024});
  CHECK(std::get<PingWorkload>(scenario.workloads[2].kind).interval == 0ms);
  CHECK(std::get<SyscallWorkload>(scenario.workloads[3].kind).count == 7);
  const auto& slow = std::get<ReplayWorkload>(scenario.workloads[4].kind);
  CHECK(slow.path == (kRoot / "scenarios/captures/uml-mixed.pcap").string());
  CHECK(slow.scale.millionths == 2'500'000);
  CHECK(slow.loop == 3);
  REQUIRE(slow.sides.size() == 2);
  CHECK(std::get<net::Ipv4Address>(slow.sides[0].source).text() == "10.77.0.2");
  CHECK(slow.sides[1].machine.index == 1);
  CHECK(std::get<ReplayWorkload>(scenario.workloads[5].kind).timing == ReplayTiming::fixed);

  CHECK_FALSE(scenario.captures[0].snaplen);
  CHECK(scenario.captures[1].device.index == 1);
  CHECK(scenario.captures[1].snaplen == core::Bytes{64});
  CHECK(scenario.captures[1].checksums == CaptureChecksums::as_seen);
}

TEST_CASE("rates and sizes mean the same wherever they stand", "[app][scenario]") {
  const auto rate_of = [](const std::string& rate) {
    const LoadedScenario loaded = load(small_scenario(), {"workloads.udp.rate=" + rate});
    REQUIRE(said(loaded).empty());
    return std::get<UdpStreamWorkload>(loaded.scenario->variants[0].workloads[0].kind)
        .rate->bits_per_second();
  };
  for (const char* const ten_gigabits : {"10Gbps", "10gbit", "10Gbit", "1.25GB/s"}) {
    CHECK(rate_of(ten_gigabits) == 10'000'000'000);
  }
  const auto sndbuf_of = [](const std::string& size) {
    const LoadedScenario loaded = load(small_scenario(), {"devices.host.tap0.sndbuf=" + size});
    REQUIRE(said(loaded).empty());
    return std::get<TapDevice>(loaded.scenario->variants[0].devices[0].kind).sndbuf->count();
  };
  for (const char* const decimal : {"64k", "64K", "64kB", "64KB"})
    CHECK(sndbuf_of(decimal) == 64'000);
  for (const char* const binary : {"64Ki", "64KiB"})
    CHECK(sndbuf_of(binary) == 65'536);
}

TEST_CASE("quantities without or with a wrong unit are refused", "[app][scenario]") {
  for (const char* const argument :
       {"workloads.udp.rate=10", "workloads.udp.rate=10 Gb ps", "workloads.udp.rate=1e400bps",
        "workloads.udp.rate=-1Mbps", "workloads.udp.size=100us", "workloads.udp.size=1500",
        "workloads.udp.duration=5", "workloads.udp.duration=1.5ns",
        "workloads.udp.duration=-1ms"}) {
    INFO(argument);
    const LoadedScenario loaded = load(small_scenario(), {argument});
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics[0].at.column == static_cast<int>(std::string(argument).find('=')) + 2);
  }
}

TEST_CASE("private notes may stand in every map", "[app][scenario]") {
  const LoadedScenario loaded = load(R"(schema: tapestry/1
x-note: anything
title: notes
costs: zero
machines:
  x-note: {any: [thing]}
  host: {platform: native, kernel: "6.18", x-bios: 1.10, sysctl: {x-why: tested}}
devices:
  x-note:
  host.tap0: {kind: tap, x-colour: red}
links: {x-note: none}
workloads: {x-note: none}
captures: [{at: host.tap0, x-note: none}]
variants: {x-note: none, v: {x-note: none, devices: {x-note: ~}}}
published: [{variant: v, x-note: none, workload: w, metric: drops, value: 1, source: s}]
)");
  CHECK(said(loaded) ==
        std::vector<std::string>{
            "file:15:50: error: published[0].workload: there is no workload 'w' in variant v"});
}

TEST_CASE("what is missing is named with what it is for", "[app][scenario]") {
  const LoadedScenario loaded = load(replaced(small_scenario(), "attach: host.tap0, ", ""));
  CHECK(said(loaded) ==
        std::vector<std::string>{"file:9:15: error: devices.guest.vec0: 'attach' is missing"});
  CHECK(hint_of(loaded) == "attach is a name: the host's tap, or for raw the host's veth");
  const LoadedScenario empty =
      load(replaced(small_scenario(), "{kind: tap,", "{kind: tap, mtu: ,"));
  CHECK(said(empty) ==
        std::vector<std::string>{"file:8:26: error: devices.host.tap0.mtu: the value is missing"});
  CHECK(hint_of(empty) == "write a whole number, or remove the line for the default, 1500");
}

TEST_CASE("many faults are found in one go", "[app][scenario]") {
  std::string text = small_scenario();
  text = replaced(text, "cpus: 2", "cpus: two");
  text = replaced(text, "kind: tap", "kind: tapp");
  text = replaced(text, "attach: host.tap0", "attach: host.tap7, gro: yes");
  text = replaced(text, "duration: 1ms", "duration: 1, sise: 3B");
  CHECK(said(load(text)).size() == 6);
}

}  // namespace tapestry::tests::decode_test
