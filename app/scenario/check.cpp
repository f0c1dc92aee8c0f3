// What only the whole shows. Runs on a scenario whose attributes are read and whose names are
// resolved.
#include <algorithm>
#include <string>
#include <variant>

#include "app/scenario/decode.hpp"

namespace tapestry::app {
namespace {

class Checker {
 public:
  Checker(Scenario& scenario, Diagnostics& diagnostics)
      : scenario_(scenario), diagnostics_(diagnostics) {}

  void run() {
    for (const Machine& machine : scenario_.machines)
      check_machine(machine);
    if (!diagnostics_.empty()) return;  // who is whose host decides all that follows
    for (std::size_t i = 0; i < scenario_.devices.size(); ++i)
      check_addresses(i);
    for (std::size_t i = 0; i < scenario_.devices.size(); ++i) {
      std::visit([this, i](const auto& kind) { check_device(i, kind); }, scenario_.devices[i].kind);
    }
    for (const Link& link : scenario_.links)
      check_link(link);
    for (const Workload& workload : scenario_.workloads) {
      check_start(workload);
      std::visit([this, &workload](const auto& kind) { check_workload(workload, kind); },
                 workload.kind);
    }
  }

 private:
  void report(Position at, std::string text, std::string hint = {}) {
    diagnostics_.add(at, std::move(text), std::move(hint));
  }
  template <class Thing>
  void report(const Reference<Thing>& reference, const std::string& text, std::string hint = {}) {
    report(reference.at, reference.path + ": " + text, std::move(hint));
  }

  const Machine& machine(const Reference<Machine>& reference) const {
    return scenario_.machines[reference.index];
  }
  const Device& device(const Reference<Device>& reference) const {
    return scenario_.devices[reference.index];
  }

  // ---- Machines ----

  void check_machine(const Machine& guest) {
    if (!guest.host) return;
    std::size_t steps = 0;
    std::string chain = guest.name;
    for (const Machine* at = &guest; at->host; at = &machine(*at->host)) {
      chain += " -> " + at->host->name;
      if (machine(*at->host).name == guest.name || ++steps > scenario_.machines.size()) {
        report(*guest.host, "a machine cannot run on itself: " + chain);
        return;
      }
    }
    if (guest.pin)
      check_cpu(*guest.pin, *guest.host, "machines." + guest.name + ".pin", guest.host->at);
    if (guest.poll_pin)
      check_cpu(*guest.poll_pin, *guest.host, "machines." + guest.name + ".poll-pin",
                guest.host->at);
  }

  void check_cpu(int cpu, const Reference<Machine>& where, const std::string& attribute,
                 Position at) {
    const int cpus = machine(where).cpus;
    if (cpu < cpus) return;
    report(at, attribute + ": " + where.name + " has no CPU " + std::to_string(cpu),
           "its CPUs are 0" + (cpus > 1 ? " to " + std::to_string(cpus - 1) : std::string()));
  }
  void check_cpu(const std::optional<int>& cpu, const Reference<Machine>& where,
                 const std::string& attribute) {
    if (cpu) check_cpu(*cpu, where, attribute, where.at);
  }

  // ---- Devices ----

  void check_addresses(std::size_t index) {
    const Device& mine = scenario_.devices[index];
    for (std::size_t i = 0; i < index; ++i) {
      const Device& other = scenario_.devices[i];
      if (mine.address && other.address && mine.address->address == other.address->address) {
        report(mine.at, path_of(mine) + ": " + mine.address->address.text() +
                            " is already the address of " + other.name);
      }
      if (mine.mac && other.mac && *mine.mac == *other.mac) {
        report(mine.at, path_of(mine) + ": " + mine.mac->text() +
                            " is already the MAC address of " + other.name);
      }
    }
  }

  static std::string path_of(const Device& device) { return device.machine.path; }

  // Who is attached must be a guest, and to something of its own host.
  bool is_on_host(std::size_t index, const Reference<Device>& attach) {
    const Device& mine = scenario_.devices[index];
    const Machine& guest = machine(mine.machine);
    if (!guest.host) {
      report(mine.at,
             path_of(mine) + ": only a guest has such a device, and " + quote(guest.name) +
                 " has no host",
             "its machine needs platform: uml or lkl and host: NAME");
      return false;
    }
    if (device(attach).machine.name != guest.host->name) {
      report(attach, quote(attach.name) + " is not a device of " + guest.host->name +
                         ", the host of " + guest.name);
      return false;
    }
    for (std::size_t i = 0; i < index; ++i) {
      const Reference<Device>* const other = attachment_of(scenario_.devices[i]);
      if (other == nullptr || other->name != attach.name) continue;
      report(attach,
             quote(attach.name) + " is already attached to by " + scenario_.devices[i].name);
      return false;
    }
    return true;
  }

  static const Reference<Device>* attachment_of(const Device& device) {
    if (const auto* legacy = std::get_if<LegacyTapDevice>(&device.kind)) return &legacy->attach;
    if (const auto* vector = std::get_if<VectorDevice>(&device.kind)) return &vector->attach;
    if (const auto* virtio = std::get_if<LklVirtioDevice>(&device.kind)) return &virtio->attach;
    return nullptr;
  }

  void must_be_native(std::size_t index, const std::string& what) {
    const Device& mine = scenario_.devices[index];
    if (machine(mine.machine).platform == Platform::native) return;
    report(mine.at,
           path_of(mine) + ": " + what + " belongs to a machine on platform native, and " +
               quote(mine.machine.name) + " is a guest",
           "a guest has devices of kind legacy-tap, vector or lkl-virtio");
  }

  void check_device(std::size_t index, const TapDevice&) { must_be_native(index, "a tap"); }

  void check_device(std::size_t index, const LegacyTapDevice& legacy) {
    if (!is_on_host(index, legacy.attach)) return;
    if (!std::holds_alternative<TapDevice>(device(legacy.attach).kind)) {
      report(legacy.attach, quote(legacy.attach.name) + " is not a tap");
    }
  }

  void check_device(std::size_t index, const VectorDevice& vector) {
    if (!is_on_host(index, vector.attach)) return;
    const DeviceKind& kind = device(vector.attach).kind;
    if (vector.transport == Transport::raw) {
      if (std::holds_alternative<VethDevice>(kind)) return;
      report(vector.attach,
             "transport raw attaches to a veth, and " + quote(vector.attach.name) + " is none");
    } else if (!std::holds_alternative<TapDevice>(kind)) {
      report(vector.attach,
             "this transport attaches to a tap, and " + quote(vector.attach.name) + " is none");
    }
  }

  void check_device(std::size_t index, const LklVirtioDevice& virtio) {
    const Device& mine = scenario_.devices[index];
    if (!is_on_host(index, virtio.attach)) return;
    if (machine(mine.machine).platform != Platform::lkl) {
      report(mine.at, path_of(mine) + ": lkl-virtio belongs to a machine on platform lkl");
    }
    if (!std::holds_alternative<TapDevice>(device(virtio.attach).kind)) {
      report(virtio.attach, quote(virtio.attach.name) + " is not a tap");
    }
    check_virtio_queue(mine, virtio);
  }

  void check_virtio_queue(const Device& mine, const LklVirtioDevice& virtio) {
    const VirtioOffloads& offloads = virtio.offloads;
    const int depth = virtio.queue_depth;
    constexpr int kBigBuffer = 19;  // descriptors of a buffer for frames of 64 KiB
    if ((depth & (depth - 1)) != 0) {
      report(mine.at,
             path_of(mine) + ".queue-depth: " + std::to_string(depth) + " is not a power of two");
    } else if (depth < kBigBuffer && offloads.guest_tso4 && !offloads.mrg_rxbuf) {
      report(mine.at,
             path_of(mine) + ".queue-depth: with guest_tso4 a receive buffer takes " +
                 std::to_string(kBigBuffer) + " descriptors",
             "make it deeper, or add mrg_rxbuf");
    }
    if (offloads.host_tso4 && !offloads.csum)
      report(mine.at, path_of(mine) + ".offloads: host_tso4 needs csum");
    if (offloads.guest_tso4 && !offloads.guest_csum)
      report(mine.at, path_of(mine) + ".offloads: guest_tso4 needs guest_csum");
  }

  void check_device(std::size_t index, const VethDevice& veth) {
    must_be_native(index, "a veth");
    const Device& mine = scenario_.devices[index];
    const Device& peer = device(veth.peer);
    const auto* const back = std::get_if<VethDevice>(&peer.kind);
    if (peer.name == mine.name) {
      report(veth.peer, "a veth cannot be its own peer");
    } else if (back == nullptr || back->peer.name != mine.name) {
      report(veth.peer, quote(peer.name) + " does not name " + quote(mine.name) + " as its peer",
             "both ends are veths and name each other");
    } else if (peer.machine.name != mine.machine.name) {
      report(veth.peer, "both ends of a pair of veths belong to one machine");
    }
  }

  void check_device(std::size_t index, const NicDevice& nic) {
    must_be_native(index, "a nic");
    scenario_.links[nic.link.index].ends.push_back(index);
    const Device& mine = scenario_.devices[index];
    check_ring(mine, "rx", nic.rx);
    check_ring(mine, "tx", nic.tx);
    if (nic.tso && nic.checksum == Checksum::software)
      report(mine.at, path_of(mine) + ": a card that cuts segments also fills in their checksums",
             "add checksum: offload");
    if (nic.adaptive_rx && (nic.rx_usecs.count() != 0 || nic.tx_usecs.count() != 0))
      report(mine.at,
             path_of(mine) + ": rx-usecs and tx-usecs have no effect with adaptive-rx: true",
             "remove the one or the other");
  }

  void check_ring(const Device& nic, const std::string& ring, int descriptors) {
    if ((descriptors & (descriptors - 1)) == 0) return;
    int below = 1;
    while (below * 2 < descriptors)
      below *= 2;
    report(nic.at,
           path_of(nic) + "." + ring + ": a ring of " + std::to_string(descriptors) +
               " descriptors is not a power of two",
           "near are " + std::to_string(below) + " and " + std::to_string(below * 2));
  }

  void check_device(std::size_t index, const BridgeDevice& bridge) {
    must_be_native(index, "a bridge");
    for (const Reference<Device>& port : bridge.ports)
      check_port(index, port);
  }

  void check_port(std::size_t index, const Reference<Device>& reference) {
    const Device& mine = scenario_.devices[index];
    const Device& port = device(reference);
    const bool fits = std::holds_alternative<TapDevice>(port.kind) ||
                      std::holds_alternative<VethDevice>(port.kind) ||
                      std::holds_alternative<NicDevice>(port.kind);
    if (port.machine.name != mine.machine.name) {
      report(reference, quote(port.name) + " is a device of another machine");
    } else if (!fits) {
      report(reference, quote(port.name) + " cannot be a port", "ports are taps, veths and nics");
    } else if (port.address) {
      report(reference, quote(port.name) + " is a port and cannot have an address",
             "give the address to " + mine.name);
    }
    for (std::size_t i = 0; i < index; ++i) {
      const auto* const other = std::get_if<BridgeDevice>(&scenario_.devices[i].kind);
      if (other == nullptr) continue;
      for (const Reference<Device>& taken : other->ports)
        if (taken.name == port.name)
          report(reference,
                 quote(port.name) + " is already a port of " + scenario_.devices[i].name);
    }
  }

  void check_link(const Link& link) {
    if (link.ends.size() == 2) return;
    std::string named;
    for (const std::size_t end : link.ends) {
      named += (named.empty() ? "" : ", ") + scenario_.devices[end].name;
    }
    report(link.at,
           "links." + link.name + ": a link has two ends, but " +
               (named.empty() ? std::string("no nic names it") : "these nics name it: " + named));
  }

  // ---- Workloads ----

  void check_start(const Workload& workload) {
    if (!scenario_.stop || workload.start <= *scenario_.stop) return;
    report(workload.at,
           "workloads." + workload.name + ": starts at " + core::format_duration(workload.start) +
               ", after the stop at " + core::format_duration(*scenario_.stop),
           "let it start earlier, or stop later");
  }

  // Both machines have a device in one network; there is no routing.
  void check_path(const Reference<Machine>& from, const Reference<Machine>& to) {
    if (from.name == to.name) {
      return report(to, "a machine cannot send to itself: there is no loopback device");
    }
    for (const Device& near : scenario_.devices) {
      if (near.machine.name != from.name || !near.address) continue;
      for (const Device& far : scenario_.devices) {
        if (far.machine.name != to.name || !far.address) continue;
        if (near.address->contains(far.address->address) &&
            far.address->contains(near.address->address)) {
          return;
        }
      }
    }
    report(from, "no network connects " + from.name + " and " + to.name,
           "give a device of each an address with the same prefix, such as 10.77.0.1/24");
  }

  void check_workload(const Workload&, const ReplayWorkload& replay) {
    for (std::size_t i = 0; i < replay.sides.size(); ++i) {
      const Reference<Machine>& side = replay.sides[i].machine;
      const bool has_device =
          std::any_of(scenario_.devices.begin(), scenario_.devices.end(),
                      [&side](const Device& device) { return device.machine.name == side.name; });
      if (!has_device) report(side, quote(side.name) + " has no device to send frames from");
    }
  }

  void check_workload(const Workload& workload, const SyscallWorkload& syscall) {
    check_cpu(syscall.cpu, syscall.on, "workloads." + workload.name + ".cpu");
  }

  void check_workload(const Workload& workload, const PktgenWorkload& pktgen) {
    check_path(pktgen.from, pktgen.to);
    check_cpu(pktgen.from_cpu, pktgen.from, "workloads." + workload.name + ".from-cpu");
    for (const Device& device : scenario_.devices) {
      if (device.machine.name != pktgen.from.name || !device.address) continue;
      const auto most = static_cast<std::size_t>(device.mtu) + 14;
      if (pktgen.size.count() > most)
        report(workload.at,
               "workloads." + workload.name + ".size: " + std::to_string(pktgen.size.count()) +
                   " bytes are more than the MTU of " + device.name + " and its header",
               "at most " + std::to_string(most) + "B");
      break;
    }
  }

  void check_workload(const Workload& workload, const PingWorkload& ping) {
    check_path(ping.from, ping.to);
    check_cpu(ping.from_cpu, ping.from, "workloads." + workload.name + ".from-cpu");
  }

  template <class Flow>
  void check_workload(const Workload& workload, const Flow& flow) {
    check_path(flow.from, flow.to);
    check_cpu(flow.from_cpu, flow.from, "workloads." + workload.name + ".from-cpu");
    check_cpu(flow.to_cpu, flow.to, "workloads." + workload.name + ".to-cpu");
  }

  Scenario& scenario_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_rules(Scenario& scenario, Diagnostics& diagnostics) {
  Checker(scenario, diagnostics).run();
}

}  // namespace tapestry::app
