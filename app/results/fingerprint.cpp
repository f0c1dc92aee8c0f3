#include "app/results/metrics.hpp"
#include "core/fingerprint.hpp"

namespace tapestry::app {

namespace {

void add_outcome(core::Fingerprint& print, const workloads::Outcome& outcome) {
  for (const workloads::FlowResult& flow : outcome.flows) {
    print.add(flow.name);
    for (const std::uint64_t value : {flow.sent_packets, flow.sent_bytes, flow.received_packets,
                                      flow.received_bytes, flow.out_of_order})
      print.add(value);
  }
  print.add(outcome.window.count());
  print.add(outcome.window_packets);
  print.add(outcome.window_bytes);
  print.add(outcome.transactions.value_or(0));
  print.add(outcome.calls.value_or(0));
  print.add(outcome.call_time.count());
  print.add(core::nanos_since_start(outcome.finished_at));
  if (!outcome.latency) return;
  outcome.latency->for_each([&](std::uint64_t highest, std::uint64_t count) {
    print.add(highest);
    print.add(count);
  });
}

void add_ledger(core::Fingerprint& print, const core::Balance& ledger) {
  const auto add = [&](const core::Tally& tally) {
    print.add(tally.packets);
    print.add(tally.bytes);
  };
  for (const core::Tally& tally : ledger.created) add(tally);
  for (const core::Tally& tally : ledger.ended) add(tally);
  for (const core::Tally& tally : ledger.dropped) add(tally);
  add(ledger.truncated);
  add(ledger.in_flight);
}

void add_machine(core::Fingerprint& print, kernel::Machine& machine, const sched::Usage& usage) {
  print.add(machine.name());
  print.add(machine.system_calls());
  for (std::size_t kind = 0; kind < sched::kContextKinds; ++kind)
    for (std::size_t work = 0; work < sched::kWorkCount; ++work)
      print.add(usage.of(static_cast<sched::ContextKind>(kind), static_cast<sched::Work>(work)).count());
  print.add(usage.guest().count());
  print.add(usage.stolen().count());
  for (const auto& line : machine.interrupts().lines()) {
    print.add(line->raised());
    print.add(line->delivered());
  }
  for (std::size_t cpu = 0; cpu < machine.scheduler().cpus(); ++cpu) {
    print.add(machine.scheduler().cpu(cpu).context_switches());
    const irq::SoftnetFigures& softnet = machine.napi().figures(cpu);
    for (const std::uint64_t value : {softnet.processed, softnet.dropped, softnet.time_squeeze})
      print.add(value);
    for (std::size_t vector = 0; vector < irq::kVectors; ++vector)
      print.add(machine.softirqs().runs(cpu, static_cast<irq::Vector>(vector)));
  }
}

void add_device(core::Fingerprint& print, net::Device& device) {
  print.add(device.name());
  const net::DeviceFigures& figures = device.figures();
  for (const std::uint64_t value :
       {figures.rx_packets, figures.rx_bytes, figures.rx_dropped, figures.rx_errors,
        figures.tx_packets, figures.tx_bytes, figures.tx_dropped, figures.tx_errors})
    print.add(value);
  device.driver().for_each_statistic(
      [&](std::string_view, std::uint64_t value) { print.add(value); });
}

}  // namespace

std::string fingerprint_of(RunWorld& run, const RunResult& result, const Counters& after) {
  core::Fingerprint print;
  print.add(core::nanos_since_start(after.at));
  print.add(static_cast<std::uint64_t>(result.finished));
  add_outcome(print, result.outcome);
  add_ledger(print, after.ledger);
  for (std::size_t machine = 0; machine < run.machines().size(); ++machine)
    add_machine(print, *run.machines()[machine], after.usage[machine]);
  for (net::Device* device : run.hardware().devices()) add_device(print, *device);
  const host::charged::PortFigures& port = after.port;
  for (const std::uint64_t value :
       {port.send_calls, port.send_frames, port.send_bytes, port.receive_calls, port.receive_frames,
        port.receive_bytes, port.empty_receives, port.partial_sends, port.truncated_frames})
    print.add(value);
  return print.hex();
}

}  // namespace tapestry::app
