#include "app/builder/workload_factory.hpp"

#include "workloads/ping.hpp"
#include "workloads/pktgen.hpp"
#include "workloads/replay.hpp"
#include "workloads/system_calls.hpp"
#include "workloads/tcp_request_response.hpp"
#include "workloads/tcp_stream.hpp"
#include "workloads/udp_request_response.hpp"
#include "workloads/udp_stream.hpp"

namespace tapestry::app {

namespace {

struct Factory {
  const Scenario& scenario;
  const std::vector<kernel::Machine*>& machines;
  Hardware& hardware;

  // The machine's first device with an address is where it is reached.
  std::optional<std::size_t> addressed_device(std::size_t machine) const {
    for (std::size_t i = 0; i < scenario.devices.size(); ++i)
      if (scenario.devices[i].machine.index == machine && scenario.devices[i].address) return i;
    return std::nullopt;
  }

  core::Result<workloads::Place> place(const Reference<Machine>& machine,
                                       std::optional<int> cpu) const {
    const auto device = addressed_device(machine.index);
    if (!device)
      return core::Error{"machine " + machine.name + " has no device with an address to use"};
    workloads::Place place{
        *machines[machine.index], scenario.devices[*device].address->address, {}};
    if (cpu) place.cpu = static_cast<std::size_t>(*cpu);
    return place;
  }

  template <typename Options>
  core::Result<std::pair<workloads::Place, workloads::Place>> ends(const Options& options) const {
    auto from = place(options.from, options.from_cpu);
    if (!from) return from.error();
    auto to = place(options.to, options.to_cpu);
    if (!to) return to.error();
    return std::pair{*from, *to};
  }

  core::Result<MadeWorkload> operator()(const UdpStreamWorkload& options) const {
    auto both = ends(options);
    if (!both) return both.error();
    workloads::UdpStreamOptions made{
        .payload_bytes = options.size.count(),
        .sessions = options.sessions,
        .window = {.warmup = options.warmup, .duration = options.duration},
        .rate = options.rate,
        .calls_per_datagram = options.calls_per_datagram,
    };
    return MadeWorkload{std::make_unique<workloads::UdpStream>(both->first, both->second, made),
                        {}};
  }

  core::Result<MadeWorkload> operator()(const UdpRequestResponseWorkload& options) const {
    auto both = ends(options);
    if (!both) return both.error();
    workloads::UdpRequestResponseOptions made{
        .request_bytes = options.request.count(),
        .response_bytes = options.response.count(),
        .sessions = options.sessions,
        .window = {.warmup = options.warmup, .duration = options.duration},
    };
    return MadeWorkload{
        std::make_unique<workloads::UdpRequestResponse>(both->first, both->second, made), {}};
  }

  template <bool kReversed>
  core::Result<MadeWorkload> operator()(const TcpBulkWorkload<kReversed>& options) const {
    auto both = ends(options);
    if (!both) return both.error();
    workloads::TcpStreamOptions made{
        .direction =
            kReversed ? workloads::TcpDirection::receive : workloads::TcpDirection::transmit,
        .send_bytes = options.send.count(),
        .receive_bytes = options.receive.count(),
        .sessions = options.sessions,
        .window = {.warmup = options.warmup, .duration = options.duration},
        .program = options.program == TcpProgram::iperf3 ? workloads::TcpProgram::iperf3
                                                         : workloads::TcpProgram::netperf,
        .no_delay = options.no_delay,
    };
    return MadeWorkload{std::make_unique<workloads::TcpStream>(both->first, both->second, made),
                        {}};
  }

  template <bool kConnectEach>
  core::Result<MadeWorkload> operator()(const TcpTransactionWorkload<kConnectEach>& options) const {
    auto both = ends(options);
    if (!both) return both.error();
    workloads::TcpRequestResponseOptions made{
        .request_bytes = options.request.count(),
        .response_bytes = options.response.count(),
        .sessions = options.sessions,
        .window = {.warmup = options.warmup, .duration = options.duration},
        .connect_each = kConnectEach,
        .no_delay = options.no_delay,
    };
    return MadeWorkload{
        std::make_unique<workloads::TcpRequestResponse>(both->first, both->second, made), {}};
  }

  core::Result<MadeWorkload> operator()(const PingWorkload& options) const {
    auto from = place(options.from, options.from_cpu);
    if (!from) return from.error();
    auto to = place(options.to, std::nullopt);
    if (!to) return to.error();
    workloads::PingOptions made{.payload_bytes = options.size.count(),
                                .count = options.count,
                                .interval = options.interval};
    return MadeWorkload{std::make_unique<workloads::Ping>(*from, to->address, made), {}};
  }

  core::Result<MadeWorkload> operator()(const PktgenWorkload& options) const {
    auto from = place(options.from, options.from_cpu);
    if (!from) return from.error();
    auto to = place(options.to, std::nullopt);
    if (!to) return to.error();
    workloads::PktgenOptions made{
        .count = static_cast<std::uint64_t>(options.count),
        .frame_bytes = options.size.count(),
        .clone_skb = static_cast<std::uint64_t>(options.clone_skb),
        .burst = static_cast<std::size_t>(options.burst),
        .delay = options.delay,
        .mode = options.mode == PktgenMode::queue_xmit ? workloads::PktgenMode::queue_xmit
                                                       : workloads::PktgenMode::start_xmit,
    };
    // `place` has seen to it that they are there.
    net::Device& near = hardware.device(*addressed_device(options.from.index));
    net::Device& far = hardware.device(*addressed_device(options.to.index));
    return MadeWorkload{std::make_unique<workloads::Pktgen>(workloads::Pktgen::End{*from, near},
                                                            workloads::Pktgen::End{*to, far}, made),
                        {}};
  }

  core::Result<MadeWorkload> operator()(const SyscallWorkload& options) const {
    workloads::Place on{*machines[options.on.index], {}, {}};
    if (options.cpu) on.cpu = static_cast<std::size_t>(*options.cpu);
    return MadeWorkload{std::make_unique<workloads::SystemCalls>(
                            on, workloads::SystemCallsOptions{.bytes = options.size.count(),
                                                              .count = options.count}),
                        {}};
  }

  core::Result<MadeWorkload> operator()(const ReplayWorkload& options) const {
    auto file = workloads::read_capture(options.path);
    if (!file) return file.error();
    std::vector<workloads::ReplaySide> sides;
    for (const ReplaySide& side : options.sides) {
      const auto device = addressed_device(side.machine.index);
      if (!device)
        return core::Error{"machine " + side.machine.name +
                           " has no device with an address to replay on"};
      sides.push_back({side.source, *machines[side.machine.index], hardware.device(*device)});
    }
    workloads::ReplayOptions made{.scale_millionths = options.scale.millionths,
                                  .loop = options.loop};
    if (options.timing == ReplayTiming::scaled)
      made.timing = workloads::ReplayOptions::Timing::scaled;
    if (options.timing == ReplayTiming::fixed)
      made.timing = workloads::ReplayOptions::Timing::fixed;
    if (options.rate) made.rate = *options.rate;
    std::string warning = file->warning;
    return MadeWorkload{
        std::make_unique<workloads::Replay>(std::move(sides), std::move(*file), made),
        std::move(warning)};
  }
};

}  // namespace

core::Result<MadeWorkload> make_workload(const Scenario& scenario, const Workload& workload,
                                         const std::vector<kernel::Machine*>& machines,
                                         Hardware& hardware) {
  return std::visit(Factory{scenario, machines, hardware}, workload.kind);
}

}  // namespace tapestry::app
