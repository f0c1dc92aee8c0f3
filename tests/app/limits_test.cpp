// What a scenario may say, said at both ends of its range: it runs, or is refused where it stands.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "app/run/runner.hpp"
#include "app/scenario/attribute.hpp"
#include "app/scenario/loader.hpp"

namespace tapestry::tests::limits_test {

using namespace app;

namespace {

const std::string kHere = std::string(TAPESTRY_SOURCE_ROOT) + "/scenarios/limits.yaml";

const std::string kEveryKind =
    "schema: tapestry/1\ntitle: limits\ncosts: xeon-2018\n"
    "machines:\n"
    "  host: {platform: native, kernel: \"6.1\", cpus: 2}\n"
    "  far: {platform: native, kernel: \"6.1\", cpus: 2}\n"
    "  guest: {platform: uml, kernel: \"6.1\", host: host, pin: 0}\n"
    "  lib: {platform: lkl, kernel: \"6.1\", host: host, pin: 0}\n"
    "links:\n  wire: {rate: 10Gbit, delay: 1us}\n"
    "devices:\n"
    "  host.eth0: {kind: nic, link: wire, checksum: offload, tso: true, gro: true}\n"
    "  far.eth0: {kind: nic, link: wire, checksum: offload, tso: true, gro: true, "
    "address: 10.0.0.3/24}\n"
    "  host.tap0: {kind: tap}\n"
    "  host.tap1: {kind: tap}\n"
    "  host.tap2: {kind: tap}\n"
    "  host.br0: {kind: bridge, ports: [host.eth0, host.tap0, host.tap1, host.tap2], "
    "address: 10.0.0.1/24}\n"
    "  host.ve0: {kind: veth, peer: host.ve1, address: 10.1.0.1/24}\n"
    "  host.ve1: {kind: veth, peer: host.ve0}\n"
    "  guest.vec0: {kind: vector, transport: tap, attach: host.tap0, address: 10.0.0.4/24}\n"
    "  guest.vec1: {kind: vector, transport: raw, attach: host.ve1, address: 10.1.0.4/24}\n"
    "  guest.eth0: {kind: legacy-tap, attach: host.tap2}\n"
    "  lib.eth0: {kind: lkl-virtio, attach: host.tap1, "
    "offloads: [csum, guest_csum, host_tso4, guest_tso4, mrg_rxbuf], address: 10.0.0.5/24}\n"
    "workloads:\n"
    "  out: {kind: udp-stream, from: guest, to: far, duration: 300us}\n"
    "  in: {kind: tcp-maerts, from: lib, to: far, duration: 300us}\n";

struct Place {
  std::string kind;  // of the attribute's group
  std::vector<std::string> paths;
};

const std::vector<Place> kPlaces = {
    {"tap", {"devices.host.tap0"}},
    {"vector", {"devices.guest.vec0", "devices.guest.vec1"}},
    {"legacy-tap", {"devices.guest.eth0"}},
    {"veth", {"devices.host.ve0"}},
    {"nic", {"devices.host.eth0", "devices.far.eth0"}},
    {"bridge", {"devices.host.br0"}},
    {"lkl-virtio", {"devices.lib.eth0"}},
};

// Aborts if a value that was let in is too much for what it is for.
bool runs_or_is_refused(const std::string& assignment) {
  LoadOptions options;
  options.overrides = {assignment};
  const LoadedScenario loaded = parse_scenario(kEveryKind, kHere, options);
  if (!loaded.scenario) return !loaded.diagnostics.empty();
  return run_scenario(*loaded.scenario, {}).ending == Ending::complete;
}

}  // namespace

TEST_CASE("every attribute of a device, at both ends of its range, runs or is refused", "[app]") {
  std::size_t tried = 0;
  for (const AttributeGroup& group : attribute_groups()) {
    if (group.section != "devices") continue;
    for (const Place& place : kPlaces) {
      if (place.kind != group.kind) continue;
      for (const Attribute& attribute : group.attributes) {
        for (const std::string& value : {attribute.low, attribute.high}) {
          if (value.empty()) continue;
          for (const std::string& path : place.paths) {
            const std::string assignment = path + "." + attribute.name + "=" + value;
            CAPTURE(assignment);
            CHECK(runs_or_is_refused(assignment));
            ++tried;
          }
        }
      }
    }
  }
  CHECK(tried > 40);
}

}  // namespace tapestry::tests::limits_test
