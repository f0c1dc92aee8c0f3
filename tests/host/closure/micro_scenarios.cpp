#include "tests/host/closure/micro_scenarios.hpp"

#include <map>
#include <stdexcept>

namespace tapestry::tests::closure {

std::int64_t run_micro_scenario(const std::string& name, const MicroRun& run) {
  static const std::map<std::string, std::int64_t (*)(const MicroRun&)> kScenarios{
      {"system-call", &system_call},
      {"device-write", &device_write},
      {"ping-pong", &ping_pong},
      {"device-interrupt", &device_interrupt},
      {"timer-interrupt", &timer_interrupt},
      {"guest-signal", &guest_signal},
      {"guest-read-and-write", &guest_read_and_write},
      {"udp-send-and-receive", &udp_send},
      {"udp-receive", &udp_receive},
      {"udp-sendmmsg", &udp_send_many},
      {"udp-recvmmsg", &udp_receive_many},
      {"tap-write", &tap_write},
      {"tap-write-to-packet-socket", &tap_write_to_packet_socket},
      {"tap-read", &tap_read},
      {"packet-send-to-tap", &packet_send_to_tap},
      {"packet-sendmmsg-over-veth", &packet_send_many_over_veth},
      {"packet-recvmmsg", &packet_receive_many},
      {"tcp-stream", &tcp_stream}};
  const auto found = kScenarios.find(name);
  if (found == kScenarios.end()) throw std::runtime_error("no micro-scenario " + name);
  return found->second(run);
}

}  // namespace tapestry::tests::closure
