// The tables of all attributes. Each fields_*.cpp declares those of one part of a scenario.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/field.hpp"
#include "app/scenario/scenario.hpp"

namespace tapestry::app {

// ---- The words of enumerations, in the order of their values ----

template <>
struct Words<Platform> {
  static constexpr std::array<std::string_view, 3> kWords = {"native", "uml", "lkl"};
};
template <>
struct Words<Preempt> {
  static constexpr std::array<std::string_view, 3> kWords = {"none", "voluntary", "full"};
};
template <>
struct Words<Transport> {
  static constexpr std::array<std::string_view, 3> kWords = {"tap", "hybrid", "raw"};
};
template <>
struct Words<Behaviour> {
  static constexpr std::array<std::string_view, 2> kWords = {"contract", "uml-6.1"};
};
template <>
struct Words<Checksum> {
  static constexpr std::array<std::string_view, 2> kWords = {"software", "offload"};
};
template <>
struct Words<TcpProgram> {
  static constexpr std::array<std::string_view, 2> kWords = {"netperf", "iperf3"};
};
template <>
struct Words<PktgenMode> {
  static constexpr std::array<std::string_view, 2> kWords = {"start-xmit", "queue-xmit"};
};
template <>
struct Words<ReplayTiming> {
  static constexpr std::array<std::string_view, 3> kWords = {"original", "scaled", "fixed"};
};
template <>
struct Words<CaptureChecksums> {
  static constexpr std::array<std::string_view, 2> kWords = {"complete", "as-seen"};
};

// ---- Kinds: what selects a table, in the order of the variant's alternatives ----

struct KindHelp {
  std::string_view word;
  std::string_view help;
};

inline constexpr std::array<KindHelp, 3> kPlatforms = {{
    {"native", "a kernel on hardware of its own"},
    {"uml", "User-Mode Linux: a kernel that is a process of its host; interrupts are signals"},
    {"lkl", "the Linux Kernel Library: a kernel within a process of its host; its CPU is a lock"},
}};

inline constexpr std::array<KindHelp, 7> kDeviceKinds = {{
    {"tap", "a tap: a network device on one side, a descriptor for a guest on the other"},
    {"legacy-tap", "UML's first tap driver: one call per packet, no offloads"},
    {"vector",
     "UML's vector driver; may also be given as UML's own line, line: \"vec0:transport=...\""},
    {"veth", "one end of a pair of virtual Ethernet devices"},
    {"nic", "a network card: one ring pair, a doorbell, one interrupt line, offloads"},
    {"bridge", "a software bridge, whose ports are other devices of its machine"},
    {"lkl-virtio", "LKL's virtio network device on a tap, in the guest's own process"},
}};

inline constexpr std::array<KindHelp, 10> kWorkloadKinds = {{
    {"replay", "sends the frames of a capture, each from the side that sent it"},
    {"udp-stream", "sends UDP datagrams one way"},
    {"udp-rr", "UDP requests and responses in turn, one outstanding per session"},
    {"ping", "ICMP echo requests"},
    {"syscall", "reads of /dev/zero and writes to /dev/null, as dd makes them"},
    {"tcp-stream", "TCP one way, as fast as it goes: netperf's TCP_STREAM, from the one who asks"},
    {"tcp-maerts", "the same towards the one who asks: netperf's TCP_MAERTS"},
    {"tcp-rr", "requests and responses in turn on one connection: netperf's TCP_RR"},
    {"tcp-crr", "a connection for each request and response: netperf's TCP_CRR"},
    {"pktgen",
     "UDP frames as fast as a device takes them, from a kernel thread: net/core/pktgen.c"},
}};

// ---- Tables ----

// What the file says before and beside its sections.
struct Heading {
  std::string schema;
  std::string title;
  std::string about;
  std::string question;
};

struct PublishedEntry {
  MetricName name;
  Published published;
};

struct ExpectEntry {
  std::string that;
  std::string because;
};

struct AnswerEntry {
  std::string answer;
  ExpectEntry when;
};

const Fields<Heading>& heading_fields();
const Fields<Scenario>& run_fields();  // seed, costs, stop
const Fields<Machine>& machine_fields(Platform platform);
const Fields<Sysctls>& sysctl_fields();
const Fields<Device>& device_fields(std::string_view kind);
const Fields<Link>& link_fields();
const Fields<Workload>& workload_fields();
const Fields<Capture>& capture_fields();
const Fields<PublishedEntry>& published_fields();
const Fields<ExpectEntry>& expect_fields();
const Fields<AnswerEntry>& answer_fields();

// The attributes that only this kind of device or workload has.
template <class Kind>
const Fields<Kind>& kind_fields();

template <>
const Fields<TapDevice>& kind_fields<TapDevice>();
template <>
const Fields<LegacyTapDevice>& kind_fields<LegacyTapDevice>();
template <>
const Fields<VectorDevice>& kind_fields<VectorDevice>();
template <>
const Fields<VethDevice>& kind_fields<VethDevice>();
template <>
const Fields<NicDevice>& kind_fields<NicDevice>();
template <>
const Fields<BridgeDevice>& kind_fields<BridgeDevice>();
template <>
const Fields<LklVirtioDevice>& kind_fields<LklVirtioDevice>();
template <>
const Fields<ReplayWorkload>& kind_fields<ReplayWorkload>();
template <>
const Fields<UdpStreamWorkload>& kind_fields<UdpStreamWorkload>();
template <>
const Fields<UdpRequestResponseWorkload>& kind_fields<UdpRequestResponseWorkload>();
template <>
const Fields<PingWorkload>& kind_fields<PingWorkload>();
template <>
const Fields<SyscallWorkload>& kind_fields<SyscallWorkload>();
template <>
const Fields<TcpStreamWorkload>& kind_fields<TcpStreamWorkload>();
template <>
const Fields<TcpMaertsWorkload>& kind_fields<TcpMaertsWorkload>();
template <>
const Fields<TcpRequestResponseWorkload>& kind_fields<TcpRequestResponseWorkload>();
template <>
const Fields<TcpConnectWorkload>& kind_fields<TcpConnectWorkload>();
template <>
const Fields<PktgenWorkload>& kind_fields<PktgenWorkload>();

// The attribute that selects the kind: `kind` of devices and workloads, `platform` of machines.
template <std::size_t count>
Attribute selector(std::string name, const std::array<KindHelp, count>& kinds) {
  Attribute attribute = attribute_of(std::move(name), AttributeType::choice,
                                     {.required = true, .help = "selects the other attributes"});
  for (const KindHelp& kind : kinds)
    attribute.choices.emplace_back(kind.word);
  return attribute;
}

}  // namespace tapestry::app
