// The metrics that runs report, by name.
#include <algorithm>

#include "app/scenario/expectation.hpp"

namespace tapestry::app {

const std::vector<MetricHelp>& metric_table() {
  static const std::vector<MetricHelp> table = {
      {"throughput_bps", "payload bits delivered per second"},
      {"packets_per_second", "datagrams or frames delivered per second"},
      {"transactions_per_second", "requests answered per second"},
      {"latency_min_ns", "the shortest round trip, or way of a replayed frame"},
      {"latency_mean_ns", "their mean"},
      {"latency_p50_ns", "the time that half of them stay within"},
      {"latency_p90_ns", "that 90% stay within"},
      {"latency_p99_ns", "that 99% stay within"},
      {"latency_p999_ns", "that 99.9% stay within"},
      {"latency_max_ns", "the longest"},
      {"call_mean_ns", "mean time of one read or write, in workload syscall"},
      {"ns_per_packet", "pktgen's whole time over the packets that the device took"},
      {"alloc_ns", "pktgen's time to make and fill buffers, interrupts in it included"},
      {"alloc_percent", "the same, of its whole time"},
      {"transmit_ns", "pktgen's time in the device's transmit path, likewise"},
      {"idle_ns", "pktgen's time of waiting for a place, a delay or its last packet"},
      {"errors", "packets of pktgen's that the device or its queue dropped"},
      {"doorbells", "that cards were rung for packets to send; of pktgen"},
      {"packets_per_doorbell", "packets of pktgen's for one of them, on average"},
      {"packets", "packets delivered while measured"},
      {"bytes", "payload bytes delivered while measured"},
      {"lost", "packets sent and not delivered"},
      {"syscalls", "system calls that the guest's device makes on its host"},
      {"packets_per_syscall", "packets moved by one of them, on average"},
      {"bytes_per_syscall", "bytes of frames moved by one of them, on average"},
      {"syscalls_per_packet", "the inverse of packets_per_syscall"},
      {"interrupts", "interrupts taken by all machines"},
      {"packets_per_interrupt", "frames from wires and hosts, to one interrupt of any machine"},
      {"interrupts_per_packet", "the inverse of packets_per_interrupt"},
      {"batch_mean", "packets of one poll, transmit or call that moved any, on average"},
      {"context_switches", "switches between threads, on all machines"},
      {"time_squeeze", "rounds of NET_RX cut short with work left"},
      {"squeezed_by_budget", "those of them that had done netdev_budget packets"},
      {"squeezed_by_time", "those of them that had taken netdev_budget_usecs"},
      {"drops", "packets dropped, for whatever reason"},
      {"connections", "TCP connections that opened"},
      {"tcp_timeouts", "retransmission timeouts of TCP, on all machines"},
      {"tcp_retransmits", "TCP segments sent again, by all machines"},
      {"longest_silence_ns", "the longest time in which a TCP stream delivered nothing"},
      {"duration_ns", "virtual time that was measured"},
  };
  return table;
}

std::string share_metric(const std::string& machine, sched::Work work) {
  std::string cost{sched::work_name(work)};
  std::replace(cost.begin(), cost.end(), '-', '_');
  return machine + "_share_" + cost + "_percent";
}

std::vector<std::string> metric_names(const std::vector<std::string>& machine_names) {
  std::vector<std::string> names;
  for (const MetricHelp& metric : metric_table())
    names.emplace_back(metric.name);
  for (const std::string& machine : machine_names) {
    for (const char* const context : {"", "hardirq_", "softirq_", "task_", "ksoftirqd_"}) {
      names.push_back(machine + "_cpu_" + context + "percent");
    }
    for (const char* const figure : {"_softnet_processed", "_softnet_dropped", "_interrupts"})
      names.push_back(machine + figure);
    for (std::size_t work = 0; work < sched::kWorkCount; ++work)
      names.push_back(share_metric(machine, static_cast<sched::Work>(work)));
  }
  return names;
}

}  // namespace tapestry::app
