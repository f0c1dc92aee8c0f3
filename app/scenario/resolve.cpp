// Every name of a machine, device or link becomes the index of what it names.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/scenario/decode.hpp"
#include "app/scenario/names.hpp"

namespace tapestry::app {
namespace {

class Resolver {
 public:
  Resolver(Scenario& scenario, Diagnostics& diagnostics)
      : scenario_(scenario), diagnostics_(diagnostics) {
    for (std::size_t i = 0; i < scenario.machines.size(); ++i)
      machines_.add(scenario.machines[i].name, i);
    for (std::size_t i = 0; i < scenario.devices.size(); ++i)
      devices_.add(scenario.devices[i].name, i);
    for (std::size_t i = 0; i < scenario.links.size(); ++i)
      links_.add(scenario.links[i].name, i);
  }

  void run() {
    for (Machine& machine : scenario_.machines)
      resolve(machine.host);
    for (Device& device : scenario_.devices) {
      resolve(device.machine);
      std::visit([this](auto& kind) { resolve_device(kind); }, device.kind);
    }
    for (Workload& workload : scenario_.workloads) {
      std::visit([this](auto& kind) { resolve_workload(kind); }, workload.kind);
    }
    for (Capture& capture : scenario_.captures)
      resolve(capture.device);
  }

 private:
  struct Names {
    std::map<std::string, std::size_t> index;
    std::vector<std::string> in_order;

    void add(const std::string& name, std::size_t position) {
      index.emplace(name, position);
      in_order.push_back(name);
    }
  };

  const Names& names_of(const Reference<Machine>&) const { return machines_; }
  const Names& names_of(const Reference<Device>&) const { return devices_; }
  const Names& names_of(const Reference<Link>&) const { return links_; }
  static const char* kind_of(const Reference<Machine>&) { return "machine"; }
  static const char* kind_of(const Reference<Device>&) { return "device"; }
  static const char* kind_of(const Reference<Link>&) { return "link"; }

  template <class Thing>
  void resolve(Reference<Thing>& reference) {
    if (reference.name.empty()) return;  // could not be read, which is reported already
    const Names& names = names_of(reference);
    if (scenario_.machines.empty()) return;  // likewise: there is no scenario without a machine
    const auto found = names.index.find(reference.name);
    if (found != names.index.end()) {
      reference.index = found->second;
      return;
    }
    const std::string kind = kind_of(reference);
    diagnostics_.add(reference.at,
                     reference.path + ": there is no " + kind + " " + quote(reference.name),
                     suggest(reference.name, names.in_order, kind + "s"));
  }

  template <class Thing>
  void resolve(std::optional<Reference<Thing>>& reference) {
    if (reference) resolve(*reference);
  }

  void resolve_device(TapDevice&) {}
  void resolve_device(LegacyTapDevice& device) { resolve(device.attach); }
  void resolve_device(VectorDevice& device) { resolve(device.attach); }
  void resolve_device(VethDevice& device) { resolve(device.peer); }
  void resolve_device(LklVirtioDevice& device) { resolve(device.attach); }
  void resolve_device(NicDevice& device) { resolve(device.link); }
  void resolve_device(BridgeDevice& device) {
    for (Reference<Device>& port : device.ports)
      resolve(port);
  }

  void resolve_workload(ReplayWorkload& replay) {
    for (ReplaySide& side : replay.sides)
      resolve(side.machine);
  }
  void resolve_workload(SyscallWorkload& syscall) { resolve(syscall.on); }
  template <class Flow>
  void resolve_workload(Flow& flow) {
    resolve(flow.from);
    resolve(flow.to);
  }

  Scenario& scenario_;
  Diagnostics& diagnostics_;
  Names machines_;
  Names devices_;
  Names links_;
};

}  // namespace

void resolve_names(Scenario& scenario, Diagnostics& diagnostics) {
  Resolver(scenario, diagnostics).run();
}

}  // namespace tapestry::app
