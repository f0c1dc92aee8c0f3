#include "app/results/metrics.hpp"

#include "net/tcp/tcp.hpp"

namespace tapestry::app {

namespace {

host::charged::PortFigures& operator+=(host::charged::PortFigures& sum,
                                       const host::charged::PortFigures& port) {
  sum.send_calls += port.send_calls;
  sum.send_frames += port.send_frames;
  sum.send_bytes += port.send_bytes;
  sum.receive_calls += port.receive_calls;
  sum.receive_frames += port.receive_frames;
  sum.receive_bytes += port.receive_bytes;
  sum.empty_receives += port.empty_receives;
  sum.partial_sends += port.partial_sends;
  sum.send_would_block += port.send_would_block;
  sum.send_no_buffers += port.send_no_buffers;
  sum.send_failed += port.send_failed;
  sum.truncated_frames += port.truncated_frames;
  sum.send_sizes += port.send_sizes;
  sum.receive_sizes += port.receive_sizes;
  return sum;
}

void count_napi(Counters& counters, const irq::Napi& napi) {
  counters.polls += napi.figures().polls - napi.figures().empty_polls;
  counters.poll_packets += napi.figures().packets;
}

// Not so a machine's virtual devices.
bool interrupts_somebody(std::string_view kind) {
  return kind != "tun" && kind != "veth" && kind != "bridge";
}

}  // namespace

Counters Counters::read(RunWorld& run) {
  Counters counters;
  counters.at = run.world().timeline().now();
  for (kernel::Machine* machine : run.machines()) {
    counters.usage.push_back(machine->usage());
    counters.system_calls.push_back(machine->system_calls());
    std::uint64_t interrupts = 0;
    for (const auto& line : machine->interrupts().lines())
      interrupts += line->delivered();
    counters.interrupts.push_back(interrupts);
    counters.softnet_processed.push_back(0);
    counters.softnet_dropped.push_back(0);
    counters.ksoftirqd.push_back(core::Nanos{0});
    counters.tcp_timeouts += machine->stack().tcp().figures().timeouts;
    counters.tcp_retransmits += machine->stack().tcp().figures().retrans_segs;
    for (std::size_t cpu = 0; cpu < machine->scheduler().cpus(); ++cpu) {
      counters.context_switches += machine->scheduler().cpu(cpu).context_switches();
      const irq::SoftnetFigures& softnet = machine->napi().figures(cpu);
      counters.time_squeeze += softnet.time_squeeze;
      counters.squeezed_by_budget += softnet.squeezed_by_budget;
      counters.squeezed_by_time += softnet.squeezed_by_time;
      counters.softnet_processed.back() += softnet.processed;
      counters.softnet_dropped.back() += softnet.dropped;
      if (const sched::Thread* thread = machine->softirqs().thread(cpu))
        counters.ksoftirqd.back() += thread->cpu_time();
    }
  }
  for (net::Device* device : run.hardware().devices()) {
    device->driver().for_each_napi([&](const irq::Napi& napi) { count_napi(counters, napi); });
    if (interrupts_somebody(device->driver().kind()))
      counters.wire_packets += device->figures().rx_packets;
  }
  for (const host::charged::PacketIo& port : run.hardware().ports())
    counters.port += port.figures();
  for (host::sim::Nic& card : run.hardware().cards())
    counters.doorbells += card.figures().tx_doorbells;
  counters.batches = batches_of(run, counters.port);
  counters.ledger = run.world().packets().close();
  counters.busy = BusyTimes::read(run);
  return counters;
}

}  // namespace tapestry::app
