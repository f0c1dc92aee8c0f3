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
  return sum;
}

void count_napi(Counters& counters, const irq::Napi& napi) {
  counters.polls += napi.figures().polls - napi.figures().empty_polls;
  counters.poll_packets += napi.figures().packets;
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
    counters.tcp_timeouts += machine->stack().tcp().figures().timeouts;
    counters.tcp_retransmits += machine->stack().tcp().figures().retrans_segs;
    for (std::size_t cpu = 0; cpu < machine->scheduler().cpus(); ++cpu) {
      counters.context_switches += machine->scheduler().cpu(cpu).context_switches();
      counters.time_squeeze += machine->napi().figures(cpu).time_squeeze;
    }
  }
  for (net::Device* device : run.hardware().devices()) {
    device->driver().for_each_napi([&](const irq::Napi& napi) { count_napi(counters, napi); });
  }
  for (const host::charged::PacketIo& port : run.hardware().ports())
    counters.port += port.figures();
  for (host::sim::Nic& card : run.hardware().cards())
    counters.doorbells += card.figures().tx_doorbells;
  counters.ledger = run.world().packets().close();
  counters.busy = BusyTimes::read(run);
  return counters;
}

}  // namespace tapestry::app
