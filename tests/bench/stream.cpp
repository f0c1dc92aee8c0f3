// The whole simulator on its hottest path: a UDP stream of 1472 bytes over a 10 Gb/s link between
// two machines, both with driver, rings, interrupts, NAPI, stack and CPU accounting, payload copied
// at both ends.
//
//   stream [PACKETS] [checked] [timers=N] [pcap=FILE] [settle=always]
//
// Prints CPU nanoseconds per packet, packets per CPU second, and the peak of resident memory.
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "host/charged/doorbell.hpp"
#include "host/sim/link.hpp"
#include "host/sim/nic.hpp"
#include "kernel/world.hpp"
#include "observe/capture.hpp"
#include "observe/pcap_writer.hpp"
#include "transports/nic/nic.hpp"
#include "workloads/udp_stream.hpp"

namespace {

using namespace tapestry;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct End {
  End(kernel::World& world, const sched::CostTable& costs, const char* name, std::uint32_t number,
      bool checked)
      : machine(world.add_machine({.name = name,
                                   .era = *kernel::era_of("6.1"),
                                   .cpus = 2,
                                   .hz = 250,
                                   .host = nullptr,
                                   .stack = {},
                                   .softirq = {}},
                                  costs)),
        device(machine.stack().add_device({.name = "eth0", .mac = net::MacAddress::local(number)})),
        card(world.timeline(), world.packets(),
             {.receive_interval = std::chrono::microseconds(20),
              .transmit_interval = std::chrono::microseconds(20),
              .transmit_checksum = !checked,
              .receive_checksum = !checked}),
        transmit(card.port().transmit_doorbell, machine.scheduler()),
        receive(card.port().receive_doorbell, machine.scheduler()),
        driver({device, machine.stack().allocator(), machine.interrupts(), machine.napi(),
                machine.tasklets(), machine.jiffies()},
               {card.port().transmit_ring, card.port().receive_ring, transmit, receive},
               {.transmit_checksum = !checked, .receive_checksum = !checked}) {
    device.set_driver(driver);
    card.set_line(driver.line());
    machine.stack().set_address(device, {address(number), 24});
    machine.scheduler().spawn({.name = "up"},
                              [this] { machine.system_call([this] { device.open(); }); });
  }
  static net::Ipv4Address address(std::uint32_t number) { return {0x0a010100u + number}; }

  kernel::Machine& machine;
  net::Device& device;
  host::sim::Nic card;
  host::charged::Doorbell transmit;
  host::charged::Doorbell receive;
  transports::Nic driver;
};

void idle_timer(void*, std::uint64_t) {}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t packets = 400'000;
  bool checked = false;
  std::size_t timers = 0;
  std::string pcap;
  auto mode = sched::SettleMode::seams;
  std::string table = "scenarios/costs/xeon-2018.yaml";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "checked")
      checked = true;
    else if (argument == "settle=always")
      mode = sched::SettleMode::always;
    else if (argument.starts_with("timers="))
      timers = std::strtoull(argument.c_str() + 7, nullptr, 10);
    else if (argument.starts_with("pcap="))
      pcap = argument.substr(5);
    else if (argument.starts_with("costs="))
      table = argument.substr(6);
    else
      packets = std::strtoull(argument.c_str(), nullptr, 10);
  }
  const auto costs = sched::load_cost_table(table);
  if (!costs) {
    std::fprintf(stderr, "%s\n", costs.error().message.c_str());
    return 3;
  }
  kernel::World world({.seed = 1, .settle_mode = mode});
  host::sim::Link link(world.timeline(), world.packets(), "wire", {});
  End left(world, *costs, "left", 1, checked);
  End right(world, *costs, "right", 2, checked);
  left.card.connect(link, host::sim::Link::End::a);
  right.card.connect(link, host::sim::Link::End::b);
  world.run_until(core::kStart + std::chrono::milliseconds(1));
  std::deque<sched::Timer> idle;
  for (std::size_t i = 0; i < timers; ++i) {
    idle.emplace_back(&idle_timer, nullptr);
    idle.back().arm_uncharged(
        left.machine.scheduler().cpu(i % 2),
        world.timeline().now() + std::chrono::hours(1) + core::Nanos{static_cast<std::int64_t>(i)});
  }
  std::unique_ptr<observe::Capture> capture;
  if (!pcap.empty()) {
    auto writer = observe::PcapWriter::create(pcap);
    if (!writer) return 3;
    capture = std::make_unique<observe::Capture>(
        right.device, std::shared_ptr<observe::CaptureFile>(std::move(*writer)), 0,
        observe::CaptureOptions{});
  }
  // 1,538 bytes of slot at 10 Gb/s: 1,230.4 ns.
  const auto duration = core::Nanos{static_cast<std::int64_t>(packets) * 12304 / 10};
  workloads::UdpStream stream({left.machine, End::address(1), 0},
                              {right.machine, End::address(2), 1},
                              {.window = {.warmup = {}, .duration = duration}, .rate = {}});
  const double begun = cpu_seconds();
  stream.start(world.timeline().now());
  world.run_until(world.timeline().now() + duration + std::chrono::seconds(1));
  const double spent = cpu_seconds() - begun;
  const workloads::Outcome outcome = stream.outcome();
  const std::uint64_t received = outcome.flows[0].received_packets;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "stream packets=%lu lost=%lu cpu_s=%.4f ns_per_packet=%.1f packets_per_cpu_s=%.0f "
      "maxrss_kb=%ld "
      "rx_irqs=%lu finished=%d\n",
      received, outcome.flows[0].sent_packets - received, spent,
      spent * 1e9 / static_cast<double>(received), static_cast<double>(received) / spent,
      usage.ru_maxrss, right.driver.line().delivered(), stream.finished());
  for (sched::Timer& timer : idle)
    timer.cancel_uncharged();
  world.unwind();
  return stream.finished() ? 0 : 1;
}
