// Everything that two equal runs must agree on, by name; the fingerprint hashes it.
#include <fmt/format.h>

#include "app/results/metrics.hpp"
#include "core/fingerprint.hpp"

namespace tapestry::app {

namespace {

class Collection {
 public:
  explicit Collection(std::vector<NamedCounter>& into) : into_(into) {}

  template <typename Number>
  void add(std::string name, Number value) {
    into_.push_back({std::move(name), static_cast<std::int64_t>(value)});
  }
  void add(std::string name, core::Nanos value) { add(std::move(name), value.count()); }
  void add(const std::string& name, const core::Tally& tally) {
    add(name + ".packets", tally.packets);
    add(name + ".bytes", tally.bytes);
  }

 private:
  std::vector<NamedCounter>& into_;
};

void add_outcome(Collection& all, const workloads::Outcome& outcome) {
  for (const workloads::FlowResult& flow : outcome.flows) {
    all.add(flow.name + ".sent_packets", flow.sent_packets);
    all.add(flow.name + ".sent_bytes", flow.sent_bytes);
    all.add(flow.name + ".received_packets", flow.received_packets);
    all.add(flow.name + ".received_bytes", flow.received_bytes);
    all.add(flow.name + ".out_of_order", flow.out_of_order);
  }
  all.add("window_ns", outcome.window);
  all.add("window_packets", outcome.window_packets);
  all.add("window_bytes", outcome.window_bytes);
  all.add("transactions", outcome.transactions.value_or(0));
  all.add("calls", outcome.calls.value_or(0));
  all.add("call_time_ns", outcome.call_time);
  all.add("finished_at_ns", core::nanos_since_start(outcome.finished_at));
  if (outcome.pktgen) {
    all.add("pktgen packets", outcome.pktgen->packets);
    all.add("pktgen errors", outcome.pktgen->errors);
    all.add("pktgen idle_ns", outcome.pktgen->idle);
    all.add("pktgen alloc_ns", outcome.pktgen->alloc);
    all.add("pktgen transmit_ns", outcome.pktgen->transmit);
  }
  if (!outcome.latency) return;
  outcome.latency->for_each([&](std::uint64_t highest, std::uint64_t count) {
    all.add(fmt::format("latency[{}]", highest), count);
  });
}

void add_ledger(Collection& all, const core::Balance& ledger) {
  for (std::size_t i = 0; i < core::kOrigins; ++i)
    all.add(fmt::format("created by {}", core::name_of(static_cast<core::Origin>(i))),
            ledger.created[i]);
  for (std::size_t i = 0; i < core::kOutcomes; ++i)
    all.add(std::string(core::name_of(static_cast<core::Outcome>(i))), ledger.ended[i]);
  for (std::size_t i = 0; i < core::kDropReasons; ++i)
    if (ledger.dropped[i].packets != 0)
      all.add(std::string(core::name_of(static_cast<core::DropReason>(i))), ledger.dropped[i]);
  all.add("truncated", ledger.truncated);
  all.add("in flight", ledger.in_flight);
}

void add_usage(Collection& all, const std::string& machine, const sched::Usage& usage) {
  for (std::size_t kind = 0; kind < sched::kContextKinds; ++kind) {
    for (std::size_t work = 0; work < sched::kWorkCount; ++work) {
      const auto context = static_cast<sched::ContextKind>(kind);
      const core::Nanos spent = usage.of(context, static_cast<sched::Work>(work));
      if (spent.count() != 0)
        all.add(fmt::format("{} {} {}", machine, sched::context_name(context),
                            sched::work_name(static_cast<sched::Work>(work))),
                spent);
    }
  }
  all.add(machine + " guest", usage.guest());
  all.add(machine + " steal", usage.stolen());
}

void add_machine(Collection& all, kernel::Machine& machine) {
  const std::string& name = machine.name();
  all.add(name + " system calls", machine.system_calls());
  for (const auto& line : machine.interrupts().lines()) {
    all.add(fmt::format("{} irq {} raised", name, line->name()), line->raised());
    all.add(fmt::format("{} irq {} delivered", name, line->name()), line->delivered());
  }
  for (std::size_t cpu = 0; cpu < machine.scheduler().cpus(); ++cpu) {
    const std::string& cpu_name = machine.scheduler().cpu(cpu).name();
    all.add(cpu_name + " context switches", machine.scheduler().cpu(cpu).context_switches());
    const irq::SoftnetFigures& softnet = machine.napi().figures(cpu);
    all.add(cpu_name + " softnet processed", softnet.processed);
    all.add(cpu_name + " softnet dropped", softnet.dropped);
    all.add(cpu_name + " softnet time_squeeze", softnet.time_squeeze);
    for (std::size_t vector = 0; vector < irq::kVectors; ++vector)
      all.add(fmt::format("{} softirq {}", cpu_name,
                          irq::vector_name(static_cast<irq::Vector>(vector))),
              machine.softirqs().runs(cpu, static_cast<irq::Vector>(vector)));
  }
}

void add_device(Collection& all, net::Device& device) {
  const net::DeviceFigures& figures = device.figures();
  const std::string name = device.name() + " ";
  all.add(name + "rx_packets", figures.rx_packets);
  all.add(name + "rx_bytes", figures.rx_bytes);
  all.add(name + "rx_dropped", figures.rx_dropped);
  all.add(name + "rx_errors", figures.rx_errors);
  all.add(name + "tx_packets", figures.tx_packets);
  all.add(name + "tx_bytes", figures.tx_bytes);
  all.add(name + "tx_dropped", figures.tx_dropped);
  all.add(name + "tx_errors", figures.tx_errors);
  device.driver().for_each_statistic([&](std::string_view statistic, std::uint64_t value) {
    all.add(name + std::string(statistic), value);
  });
}

void add_port(Collection& all, const host::charged::PortFigures& port) {
  all.add("port send_calls", port.send_calls);
  all.add("port send_frames", port.send_frames);
  all.add("port send_bytes", port.send_bytes);
  all.add("port receive_calls", port.receive_calls);
  all.add("port receive_frames", port.receive_frames);
  all.add("port receive_bytes", port.receive_bytes);
  all.add("port empty_receives", port.empty_receives);
  all.add("port partial_sends", port.partial_sends);
  all.add("port truncated_frames", port.truncated_frames);
}

}  // namespace

std::vector<NamedCounter> collect(RunWorld& run, const RunResult& result, const Counters& after) {
  std::vector<NamedCounter> counters;
  Collection all(counters);
  all.add("ended_at_ns", core::nanos_since_start(after.at));
  all.add("finished", result.finished ? 1 : 0);
  add_outcome(all, result.outcome);
  add_ledger(all, after.ledger);
  for (std::size_t i = 0; i < run.machines().size(); ++i) {
    add_usage(all, run.machines()[i]->name(), after.usage[i]);
    add_machine(all, *run.machines()[i]);
  }
  for (net::Device* device : run.hardware().devices())
    add_device(all, *device);
  add_port(all, after.port);
  return counters;
}

std::string fingerprint_of(const std::vector<NamedCounter>& counters) {
  core::Fingerprint print;
  for (const NamedCounter& counter : counters) {
    print.add(counter.name);
    print.add(counter.value);
  }
  return print.hex();
}

}  // namespace tapestry::app
