// The operations that scenarios/costs/closures.yaml names: each builds a machine with the simulated
// devices, runs the operation on it, and says what it took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/cost_table.hpp"
#include "sched/scheduler.hpp"

namespace tapestry::tests::closure {

struct MicroRun {
  const sched::CostTable& costs;
  sched::SettleMode mode;
  std::vector<std::string> arguments;  // behind the name
  std::int64_t count;                  // messages of one call, directions of one round trip
};

// Picoseconds for the whole operation. Throws std::runtime_error for an unknown name.
std::int64_t run_micro_scenario(const std::string& name, const MicroRun& run);

// The parts, by what they are about.
std::int64_t system_call(const MicroRun& run);
std::int64_t device_write(const MicroRun& run);
std::int64_t ping_pong(const MicroRun& run);
std::int64_t device_interrupt(const MicroRun& run);
std::int64_t timer_interrupt(const MicroRun& run);
std::int64_t guest_signal(const MicroRun& run);
std::int64_t guest_read_and_write(const MicroRun& run);

std::int64_t udp_send(const MicroRun& run);
std::int64_t udp_receive(const MicroRun& run);
std::int64_t udp_send_many(const MicroRun& run);
std::int64_t udp_receive_many(const MicroRun& run);

std::int64_t tcp_stream(const MicroRun& run);

std::int64_t tap_write(const MicroRun& run);
std::int64_t tap_write_to_packet_socket(const MicroRun& run);
std::int64_t tap_read(const MicroRun& run);
std::int64_t packet_send_to_tap(const MicroRun& run);
std::int64_t packet_send_many_over_veth(const MicroRun& run);
std::int64_t packet_receive_many(const MicroRun& run);

}  // namespace tapestry::tests::closure
