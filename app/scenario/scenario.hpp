// A scenario as plain values: what a file says, with its units parsed, its defaults filled in, its
// ranges checked and its names resolved. Nothing here refers back to YAML, and whoever builds a
// world from it needs no further checks.
//
// A file holds one base and, under `variants`, named changes to it. Loading merges each variant
// over the base, so that a ScenarioFile holds one complete Scenario per variant, in the order of
// the file; a file without variants has a single one named "base". One run is one variant with one
// of its workloads.
//
// What every attribute means, its default and its range are declared once, in
// app/scenario/fields_*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/scenario/diagnostic.hpp"
#include "app/scenario/expectation.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "net/address.hpp"

namespace tapestry::app {

struct Machine;
struct Device;
struct Link;

// A name that was found: the index into the vector of the same Scenario that holds all Things.
template <class Thing>
struct Reference {
  std::string name;       // as written
  std::size_t index = 0;  // into Scenario::machines, ::devices or ::links
  Position at;            // where it is written, and in which attribute: for messages
  std::string path;
};

// A part of a whole, exact: 1% is 10,000,000.
struct Share {
  std::uint64_t parts_per_billion = 0;
};

// A positive factor, exact: 1 is 1,000,000.
struct Factor {
  std::uint64_t millionths = 1'000'000;
};

// ---- Machines ----

enum class Platform : std::uint8_t { native, uml, lkl };
enum class Preempt : std::uint8_t { none, voluntary, full };

// Kernel settings under their sysctl names. Absent means: what the machine's kernel has by default.
struct Sysctls {
  std::optional<int> netdev_budget;        // net.core.netdev_budget, packets
  std::optional<int> netdev_budget_usecs;  // net.core.netdev_budget_usecs
  std::optional<int> dev_weight;           // net.core.dev_weight, packets
  std::optional<int> netdev_max_backlog;   // net.core.netdev_max_backlog, packets
  std::optional<int> rmem_default;         // net.core.rmem_default, bytes
  std::optional<int> wmem_default;         // net.core.wmem_default, bytes
};

struct Machine {
  std::string name;
  Platform platform = Platform::native;
  std::string kernel;  // an era, such as "6.1"
  int cpus = 1;        // always 1 on uml and lkl
  int hz = 0;
  Preempt preempt = Preempt::none;
  Sysctls sysctl;
  std::optional<Reference<Machine>> host;  // absent on native, present on guests; never a cycle
  std::optional<int> pin;       // the host CPU that the guest's threads are bound to; absent: any
  std::optional<int> poll_pin;  // lkl: of its poll and timer threads; absent: as the others
  // Its own cost table, as written, and the file to open. Empty: that of its host, else the
  // scenario's.
  std::string costs;
  std::string costs_path;
  Position at;
};

// ---- Devices ----

// What the last user of a persistent tap left switched on: the tap keeps it, whoever opens it next.
struct TapOffloads {
  bool csum = false;
  bool tso4 = false;
  bool tso6 = false;
  bool tso_ecn = false;
};

struct TapDevice {  // a tap of this machine: a network device on one side, a descriptor on the
                    // other
  std::optional<core::Bytes> sndbuf;  // absent: unlimited
  TapOffloads offloads;
};

struct LegacyTapDevice {     // UML's first tap driver: one call per packet
  Reference<Device> attach;  // a tap of the machine's host
};

enum class Transport : std::uint8_t { tap, hybrid, raw };
enum class Behaviour : std::uint8_t {
  contract,  // keeps the NAPI contract
  uml_6_1    // with the oddities of the real driver
};

struct VectorDevice {  // UML's vector driver
  Transport transport = Transport::tap;
  Reference<Device> attach;  // of the machine's host: a tap for tap and hybrid, a veth for raw
  int depth = 0;             // messages per queue
  bool gro = false;
  bool vec = false;   // false: one packet per call in both directions, whatever the transport
  bool napi = false;  // false: the driver as it was before it used NAPI
  Behaviour behaviour = Behaviour::contract;
  std::optional<core::Nanos> coalesce;  // absent: two jiffies of the machine
};

// VIRTIO_NET_F_*, as an LKL program is told them.
struct VirtioOffloads {
  bool csum = false;
  bool guest_csum = false;
  bool host_tso4 = false;
  bool guest_tso4 = false;
  bool mrg_rxbuf = false;
};

struct LklVirtioDevice {     // LKL's virtio network device and the driver on top of it
  Reference<Device> attach;  // a tap of the machine's host
  int queue_depth = 0;       // descriptors of each queue, a power of two
  VirtioOffloads offloads;
};

struct VethDevice {
  Reference<Device> peer;  // names this device in turn
};

enum class Checksum : std::uint8_t { software, offload };

struct NicDevice {  // a network card: one ring pair, a doorbell, one interrupt line
  Reference<Link> link;
  int rx = 0;  // descriptors, a power of two
  int tx = 0;
  core::Nanos rx_usecs{};  // interrupt moderation, as in ethtool -C
  core::Nanos tx_usecs{};
  bool adaptive_rx = false;  // the driver chooses the moderation; rx_usecs and tx_usecs are 0 then
  Checksum checksum = Checksum::software;
  bool tso = false;  // only with Checksum::offload
  bool gro = false;
  bool napi = false;  // false: receives in the interrupt handler, onto the backlog
};

struct BridgeDevice {
  std::vector<Reference<Device>> ports;  // of its own machine: taps, veths, nics without an address
};

using DeviceKind = std::variant<TapDevice, LegacyTapDevice, VectorDevice, VethDevice, NicDevice,
                                BridgeDevice, LklVirtioDevice>;

struct Device {
  std::string name;       // "guest.vec0"
  std::string interface;  // "vec0"
  Reference<Machine> machine;
  std::optional<net::Ipv4Prefix> address;
  std::optional<net::MacAddress> mac;  // absent: chosen by whoever builds the world
  int mtu = 0;                         // bytes
  int txqueuelen = 0;                  // packets; 0 on veth and bridge, which have no queue
  DeviceKind kind;
  Position at;
};

// ---- Links ----

struct Link {
  std::string name;
  core::BitRate rate;
  core::Nanos delay{};
  int queue = 0;  // packets, in each direction
  Share loss;     // of the frames, in each direction
  std::vector<std::size_t>
      ends;  // the two nics that name this link, as indices into Scenario::devices
  Position at;
};

// ---- Workloads ----

enum class ReplayTiming : std::uint8_t { original, scaled, fixed };

// Who sends the frames with this source: an IPv4 address (also in ARP) or a MAC address.
struct ReplaySide {
  std::variant<net::Ipv4Address, net::MacAddress> source;
  Reference<Machine> machine;
};

struct ReplayWorkload {
  std::string file;  // as written
  std::string path;  // the file to open: `file`, seen from the scenario's own folder
  ReplayTiming timing = ReplayTiming::original;
  Factor scale;                       // scaled: each gap between frames times this
  std::optional<core::BitRate> rate;  // fixed: the rate of frame bytes; present exactly then
  int loop = 1;
  std::vector<ReplaySide> sides;
};

struct UdpStreamWorkload {
  Reference<Machine> from;
  Reference<Machine> to;
  core::Bytes size;  // UDP payload
  int sessions = 1;
  core::Nanos duration{};
  core::Nanos warmup{};  // before `duration`; not measured
  std::optional<core::BitRate>
      rate;                    // payload bits per second and session; absent: as fast as it goes
  int calls_per_datagram = 1;  // system calls the sender makes for each datagram, the send included
  std::optional<int> from_cpu;  // where the sender's process is pinned
  std::optional<int> to_cpu;
};

struct UdpRequestResponseWorkload {
  Reference<Machine> from;
  Reference<Machine> to;
  core::Bytes request;
  core::Bytes response;
  int sessions = 1;
  core::Nanos duration{};
  core::Nanos warmup{};
  std::optional<int> from_cpu;
  std::optional<int> to_cpu;
};

struct PingWorkload {
  Reference<Machine> from;
  Reference<Machine> to;
  core::Bytes size;  // ICMP payload
  int count = 0;
  core::Nanos interval{};
  std::optional<int> from_cpu;
};

struct SyscallWorkload {  // as dd does it: reads of /dev/zero and writes to /dev/null, in turn
  Reference<Machine> on;
  core::Bytes size;
  int count = 0;  // of reads, and of writes
  std::optional<int> cpu;
};

enum class TcpProgram : std::uint8_t { netperf, iperf3 };

// netperf's TCP_STREAM, in which `from` sends, and TCP_MAERTS, in which it receives; `from`
// connects.
template <bool kReversed>
struct TcpBulkWorkload {
  Reference<Machine> from;
  Reference<Machine> to;
  core::Bytes send;     // of each send call
  core::Bytes receive;  // of each receive call
  int sessions = 1;
  core::Nanos duration{};
  core::Nanos warmup{};
  TcpProgram program = TcpProgram::netperf;
  bool no_delay = false;
  std::optional<int> from_cpu;
  std::optional<int> to_cpu;
};
using TcpStreamWorkload = TcpBulkWorkload<false>;
using TcpMaertsWorkload = TcpBulkWorkload<true>;

// netperf's TCP_RR, and TCP_CRR with a connection for each request.
template <bool kConnectEach>
struct TcpTransactionWorkload {
  Reference<Machine> from;
  Reference<Machine> to;
  core::Bytes request;
  core::Bytes response;
  int sessions = 1;
  core::Nanos duration{};
  core::Nanos warmup{};
  bool no_delay = false;
  std::optional<int> from_cpu;
  std::optional<int> to_cpu;
};
using TcpRequestResponseWorkload = TcpTransactionWorkload<false>;
using TcpConnectWorkload = TcpTransactionWorkload<true>;

enum class PktgenMode : std::uint8_t { start_xmit, queue_xmit };

struct PktgenWorkload {  // frames as fast as a device takes them, from a kernel thread
  Reference<Machine> from;
  Reference<Machine> to;
  PktgenMode mode = PktgenMode::start_xmit;
  int count = 0;
  core::Bytes size;  // of a frame, without check sequence
  int clone_skb = 0;
  int burst = 1;
  core::Nanos delay{};
  std::optional<int> from_cpu;
};

using WorkloadKind =
    std::variant<ReplayWorkload, UdpStreamWorkload, UdpRequestResponseWorkload, PingWorkload,
                 SyscallWorkload, TcpStreamWorkload, TcpMaertsWorkload, TcpRequestResponseWorkload,
                 TcpConnectWorkload, PktgenWorkload>;

struct Workload {
  std::string name;
  core::Nanos start{};
  WorkloadKind kind;
  Position at;
};

// ---- Captures ----

enum class CaptureChecksums : std::uint8_t {
  complete,  // checksums that a device would have filled in are filled in
  as_seen    // the bytes as they are at this point
};

struct Capture {
  Reference<Device> device;
  std::optional<core::Bytes> snaplen;  // absent: whole frames
  CaptureChecksums checksums = CaptureChecksums::complete;
};

// ---- The whole ----

struct Scenario {
  std::string variant;
  std::uint64_t seed = 0;
  std::string costs;       // the name of the cost table, as written
  std::string costs_path;  // the file to open
  std::optional<core::Nanos>
      stop;  // the run ends at this instant at the latest; everything due then runs
  std::vector<Machine>
      machines;  // all in the order of the file, the base before what a variant adds
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<Workload> workloads;
  std::vector<Capture> captures;
};

// One of the answers to a lesson's question: it is the right one if the results say so.
struct Answer {
  std::string text;
  Expectation when;
};

struct ScenarioFile {
  std::string title;
  std::string about;
  std::string question;            // of a lesson; else empty
  std::vector<Answer> answers;     // to it: of 2 to 9, those that hold are right
  std::vector<Scenario> variants;  // at least one
  std::vector<Published> published;
  std::vector<Expectation> expectations;
};

}  // namespace tapestry::app
