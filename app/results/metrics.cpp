#include "app/results/metrics.hpp"

#include <algorithm>

namespace tapestry::app {

namespace {

using sched::ContextKind;

struct Summary {
  RunResult result;
  const Counters& before;
  const Counters& after;

  void set(const std::string& name, std::uint64_t value) {
    result.metrics[name] = static_cast<std::int64_t>(value);
  }
  void set(const std::string& name, core::Nanos value) { result.metrics[name] = value.count(); }
  void set_ratio(const std::string& name, double numerator, double denominator) {
    if (denominator > 0) result.metrics[name] = numerator / denominator;
  }
  double per_second(std::uint64_t count) const {
    return static_cast<double>(count) * 1e9 / static_cast<double>(result.outcome.window.count());
  }
};

void add_traffic(Summary& summary) {
  const workloads::Outcome& outcome = summary.result.outcome;
  summary.set("duration_ns", outcome.window);
  if (outcome.connections) summary.set("connections", *outcome.connections);
  if (outcome.longest_silence) summary.set("longest_silence_ns", *outcome.longest_silence);
  if (outcome.calls) {
    summary.set_ratio("call_mean_ns", static_cast<double>(outcome.call_time.count()),
                      static_cast<double>(*outcome.calls));
    return;
  }
  summary.set("packets", outcome.window_packets);
  summary.set("bytes", outcome.window_bytes);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const workloads::FlowResult& flow : outcome.flows) {
    sent += flow.sent_packets;
    received += flow.received_packets;
  }
  // A stream's sends and receives are calls, of different sizes.
  if (!outcome.connections) summary.set("lost", sent > received ? sent - received : 0);
  if (outcome.window.count() > 0) {
    summary.result.metrics["throughput_bps"] = summary.per_second(outcome.window_bytes * 8);
    summary.result.metrics["packets_per_second"] = summary.per_second(outcome.window_packets);
    if (outcome.transactions)
      summary.result.metrics["transactions_per_second"] = summary.per_second(*outcome.transactions);
  }
  if (!outcome.latency || outcome.latency->count() == 0) return;
  const workloads::Latency& latency = *outcome.latency;
  summary.set("latency_min_ns", latency.min());
  summary.set("latency_mean_ns", latency.mean());
  summary.set("latency_p50_ns", latency.percentile(50'000));
  summary.set("latency_p90_ns", latency.percentile(90'000));
  summary.set("latency_p99_ns", latency.percentile(99'000));
  summary.set("latency_p999_ns", latency.percentile(99'900));
  summary.set("latency_max_ns", latency.max());
}

void add_pktgen(Summary& summary, const workloads::PktgenFigures& pktgen) {
  const auto total = static_cast<double>(pktgen.total.count());
  const auto packets = static_cast<double>(pktgen.packets);
  const std::uint64_t doorbells = summary.after.doorbells - summary.before.doorbells;
  summary.set("errors", pktgen.errors);
  summary.set("alloc_ns", pktgen.alloc);
  summary.set("transmit_ns", pktgen.transmit);
  summary.set("idle_ns", pktgen.idle);
  summary.set_ratio("alloc_percent", static_cast<double>(pktgen.alloc.count()) * 100.0, total);
  summary.set_ratio("ns_per_packet", total, packets);
  summary.set("doorbells", doorbells);
  summary.set_ratio("packets_per_doorbell", packets, static_cast<double>(doorbells));
}

void add_port(Summary& summary) {
  const host::charged::PortFigures& port = summary.after.port;
  const host::charged::PortFigures& was = summary.before.port;
  const std::uint64_t calls = port.calls() - was.calls();
  if (calls > 0) {
    const std::uint64_t frames =
        port.send_frames + port.receive_frames - was.send_frames - was.receive_frames;
    const std::uint64_t bytes =
        port.send_bytes + port.receive_bytes - was.send_bytes - was.receive_bytes;
    const std::uint64_t empty = port.empty_receives - was.empty_receives;
    summary.set("syscalls", calls);
    summary.set_ratio("packets_per_syscall", static_cast<double>(frames),
                      static_cast<double>(calls));
    summary.set_ratio("bytes_per_syscall", static_cast<double>(bytes), static_cast<double>(calls));
    summary.set_ratio("syscalls_per_packet", static_cast<double>(calls),
                      static_cast<double>(frames));
    summary.set_ratio("batch_mean", static_cast<double>(frames),
                      static_cast<double>(calls - empty));
  } else {
    summary.set_ratio("batch_mean",
                      static_cast<double>(summary.after.poll_packets - summary.before.poll_packets),
                      static_cast<double>(summary.after.polls - summary.before.polls));
  }
}

// Of frames that came in from a wire or a host.
void add_interrupts(Summary& summary, std::uint64_t interrupts) {
  summary.set("interrupts", interrupts);
  const auto frames = static_cast<double>(summary.after.wire_packets - summary.before.wire_packets);
  summary.set_ratio("packets_per_interrupt", frames, static_cast<double>(interrupts));
  summary.set_ratio("interrupts_per_packet", static_cast<double>(interrupts), frames);
}

void add_softirqs(Summary& summary, std::size_t machine, const std::string& name) {
  const auto since = [&](const std::vector<std::uint64_t> Counters::*counter) {
    return (summary.after.*counter)[machine] - (summary.before.*counter)[machine];
  };
  summary.set(name + "_interrupts", since(&Counters::interrupts));
  summary.set(name + "_softnet_processed", since(&Counters::softnet_processed));
  summary.set(name + "_softnet_dropped", since(&Counters::softnet_dropped));
}

void add_machine(Summary& summary, std::size_t machine, const std::string& name,
                 double elapsed_ns) {
  if (elapsed_ns <= 0) return;
  const sched::Usage usage = summary.after.usage[machine] - summary.before.usage[machine];
  const auto percent = [&](core::Nanos spent) {
    return static_cast<double>(spent.count()) * 100.0 / elapsed_ns;
  };
  const double task = percent(usage.of(ContextKind::user) + usage.of(ContextKind::system));
  auto& metrics = summary.result.metrics;
  metrics[name + "_cpu_percent"] = percent(usage.busy());
  metrics[name + "_cpu_task_percent"] = task;
  metrics[name + "_cpu_softirq_percent"] = percent(usage.of(ContextKind::softirq));
  metrics[name + "_cpu_ksoftirqd_percent"] =
      percent(summary.after.ksoftirqd[machine] - summary.before.ksoftirqd[machine]);
  metrics[name + "_cpu_hardirq_percent"] = percent(usage.of(ContextKind::hardirq));
  summary.result.cpu.push_back({.machine = name,
                                .user = percent(usage.of(ContextKind::user)),
                                .system = percent(usage.of(ContextKind::system)),
                                .softirq = percent(usage.of(ContextKind::softirq)),
                                .hardirq = percent(usage.of(ContextKind::hardirq)),
                                .idling = percent(usage.of(ContextKind::idle)),
                                .guest = percent(usage.guest()),
                                .steal = percent(usage.stolen())});
}

// What a profiler of the host sees of its guests: a process of theirs, by its program.
std::string guest_symbol(RunWorld& run, const kernel::Machine& host) {
  for (const kernel::Machine* machine : run.machines())
    if (machine->host() == &host)
      return machine->options().platform == kernel::PlatformKind::uml ? "[linux]" : "[lkl]";
  return "[guest]";
}

// Of a machine's busy time, the share of each cost that took any.
void add_shares(Summary& summary, const MachineUsage& machine) {
  const core::Nanos busy = machine.usage.busy();
  for (std::size_t work = 0; work < sched::kWorkCount; ++work) {
    const auto kind = static_cast<sched::Work>(work);
    if (const core::Nanos spent = machine.usage.of(kind); spent > core::Nanos{0})
      summary.set_ratio(share_metric(machine.machine, kind),
                        static_cast<double>(spent.count()) * 100.0,
                        static_cast<double>(busy.count()));
  }
}

void add_usage(Summary& summary, RunWorld& run) {
  for (std::size_t i = 0; i < run.machines().size(); ++i) {
    const kernel::Machine& machine = *run.machines()[i];
    summary.result.usage.push_back({.machine = machine.name(),
                                    .cpus = machine.options().cpus,
                                    .guest_symbol = guest_symbol(run, machine),
                                    .usage = summary.after.usage[i] - summary.before.usage[i]});
    add_shares(summary, summary.result.usage.back());
  }
}

void add_drops(Summary& summary) {
  std::uint64_t drops = 0;
  for (std::size_t reason = 0; reason < core::kDropReasons; ++reason) {
    const std::uint64_t packets = summary.after.ledger.dropped[reason].packets -
                                  summary.before.ledger.dropped[reason].packets;
    if (packets == 0) continue;
    drops += packets;
    summary.result.drops.emplace_back(core::name_of(static_cast<core::DropReason>(reason)),
                                      packets);
  }
  summary.set("drops", drops);
}

}  // namespace

RunResult summarise(RunWorld& run, const Counters& before, const Counters& after,
                    const std::vector<std::string>& machine_names) {
  Summary summary{{}, before, after};
  summary.result.outcome = run.workload().outcome();
  summary.result.finished = run.workload().finished();
  summary.result.warning = run.warning();
  if (!summary.result.finished) summary.result.waiting = run.world().blocked_threads();
  add_traffic(summary);
  if (summary.result.outcome.pktgen) add_pktgen(summary, *summary.result.outcome.pktgen);
  add_port(summary);
  std::uint64_t interrupts = 0;
  for (std::size_t machine = 0; machine < machine_names.size(); ++machine)
    interrupts += after.interrupts[machine] - before.interrupts[machine];
  add_interrupts(summary, interrupts);
  summary.set("context_switches", after.context_switches - before.context_switches);
  summary.set("time_squeeze", after.time_squeeze - before.time_squeeze);
  summary.set("squeezed_by_budget", after.squeezed_by_budget - before.squeezed_by_budget);
  summary.set("squeezed_by_time", after.squeezed_by_time - before.squeezed_by_time);
  summary.result.batches = batches_between(before.batches, after.batches);
  if (summary.result.outcome.connections) {
    summary.set("tcp_timeouts", after.tcp_timeouts - before.tcp_timeouts);
    summary.set("tcp_retransmits", after.tcp_retransmits - before.tcp_retransmits);
  }
  add_drops(summary);
  const core::Instant end = summary.result.finished ? summary.result.outcome.finished_at : after.at;
  summary.result.elapsed = end - run.origin();
  summary.result.busiest = BusyTimes::busiest(before.busy, after.busy, summary.result.elapsed);
  const auto elapsed_ns = static_cast<double>(summary.result.elapsed.count());
  add_usage(summary, run);
  for (std::size_t machine = 0; machine < machine_names.size(); ++machine)
    add_machine(summary, machine, machine_names[machine], elapsed_ns);
  for (std::size_t machine = 0; machine < machine_names.size(); ++machine)
    add_softirqs(summary, machine, machine_names[machine]);
  summary.result.counters = collect(run, summary.result, after);
  summary.result.fingerprint = fingerprint_of(summary.result.counters);
  return std::move(summary.result);
}

}  // namespace tapestry::app
