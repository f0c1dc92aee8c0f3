// Devices and links.
#include <string>

#include "app/scenario/fields.hpp"
#include "core/packet_containers.hpp"
#include "net/device.hpp"

namespace tapestry::app {
namespace {

// A list of words, each of which switches one flag of a struct on.
template <class Owner, class Flags>
Field<Owner> flags_field(std::string name, Flags Owner::*member,
                         std::vector<std::pair<std::string, bool Flags::*>> flags,
                         Declared declared) {
  Field<Owner> made;
  made.attribute = attribute_of(std::move(name), AttributeType::choices, std::move(declared));
  for (const auto& [word, flag] : flags)
    made.attribute.choices.push_back(word);
  made.read = [member, flags = std::move(flags)](const Value& value, const Attribute& attribute,
                                                 Owner& owner, Diagnostics& diagnostics) {
    if (!value.is_list()) {
      diagnostics.add(value.at, value.path + ": expected a list such as [" +
                                    attribute.choices.front() + "], found " + describe(value));
      return;
    }
    for (const Value& item : value.items) {
      const auto index = read_choice(item, attribute, diagnostics);
      if (!index) continue;
      bool& flag = (owner.*member).*flags[*index].second;
      if (flag) diagnostics.add(item.at, item.path + ": " + quote(item.text) + " is listed twice");
      flag = true;
    }
  };
  return made;
}

Fields<Device> common_device_fields() {
  return {
      field("address", &Device::address, {.help = "its IPv4 address and prefix; absent: none"}),
      field("mac", &Device::mac, {.help = "its MAC address; absent: one of its own"}),
      field("mtu", &Device::mtu,
            {.assumed = "1500",
             .low = "68",
             .high = std::to_string(net::kMtuMaxBytes),
             .help = "largest IP packet, in bytes"}),
  };
}

}  // namespace

const Fields<Device>& device_fields(std::string_view kind) {
  static const Fields<Device> without_queue = common_device_fields();
  static const Fields<Device> with_queue = [] {
    Fields<Device> fields = common_device_fields();
    fields.push_back(
        field("txqueuelen", &Device::txqueuelen,
              {.assumed = "1000",
               .low = "1",
               .high = "100000",
               .help = "packets in its queueing discipline, and in a tap's read queue"}));
    return fields;
  }();
  return kind == "veth" || kind == "bridge" ? without_queue : with_queue;
}

template <>
const Fields<TapDevice>& kind_fields<TapDevice>() {
  static const Fields<TapDevice> fields = {
      field("sndbuf", &TapDevice::sndbuf,
            {.assumed = "unlimited",
             .low = "2KiB",
             .high = "1GiB",
             .unlimited = "unlimited",
             .help = "bytes its writer may have in flight"}),
      flags_field("offloads", &TapDevice::offloads,
                  {{"csum", &TapOffloads::csum},
                   {"tso4", &TapOffloads::tso4},
                   {"tso6", &TapOffloads::tso6},
                   {"ecn", &TapOffloads::tso_ecn}},
                  {.help = "what an earlier user left switched on; absent: nothing"}),
  };
  return fields;
}

template <>
const Fields<LegacyTapDevice>& kind_fields<LegacyTapDevice>() {
  static const Fields<LegacyTapDevice> fields = {
      field("attach", &LegacyTapDevice::attach, {.required = true, .help = "the host's tap"}),
  };
  return fields;
}

template <>
const Fields<VectorDevice>& kind_fields<VectorDevice>() {
  static const Fields<VectorDevice> fields = {
      field(
          "transport", &VectorDevice::transport,
          {.required = true,
           .help =
               "tap: single-packet calls and offloads; hybrid: also recvmmsg; raw: also sendmmsg"}),
      field("attach", &VectorDevice::attach,
            {.required = true, .help = "the host's tap, or for raw the host's veth"}),
      field("depth", &VectorDevice::depth,
            {.assumed = "64",
             .low = "1",
             .high = std::to_string(core::PacketBatch::kCapacityMax),
             .help = "messages in each of its two queues"}),
      field("gro", &VectorDevice::gro,
            {.assumed = "true", .help = "receive buffers of 64 KiB for merged packets"}),
      field("vec", &VectorDevice::vec, {.assumed = "true", .help = "false: one packet per call"}),
      field("napi", &VectorDevice::napi,
            {.assumed = "true", .help = "false: the driver as it was before NAPI (2018 to 2022)"}),
      field("behaviour", &VectorDevice::behaviour,
            {.assumed = "contract", .help = "uml-6.1: with the oddities of the real driver"}),
      field("coalesce", &VectorDevice::coalesce,
            {.low = "1us",
             .high = "10s",
             .help = "how long a promise of more may hold packets back; absent: two jiffies"}),
  };
  return fields;
}

template <>
const Fields<VethDevice>& kind_fields<VethDevice>() {
  static const Fields<VethDevice> fields = {
      field("peer", &VethDevice::peer,
            {.required = true, .help = "the other end, which names this one"}),
  };
  return fields;
}

template <>
const Fields<NicDevice>& kind_fields<NicDevice>() {
  static const Fields<NicDevice> fields = {
      field("link", &NicDevice::link, {.required = true, .help = "the link it is plugged into"}),
      field("rx", &NicDevice::rx,
            {.assumed = "256",
             .low = "8",
             .high = "4096",
             .help = "receive descriptors, a power of two"}),
      field("tx", &NicDevice::tx,
            {.assumed = "256",
             .low = "8",
             .high = "4096",
             .help = "transmit descriptors, a power of two"}),
      field("rx-usecs", &NicDevice::rx_usecs,
            {.assumed = "0us", .high = "100ms", .help = "delay of the receive interrupt"}),
      field("tx-usecs", &NicDevice::tx_usecs,
            {.assumed = "0us", .high = "100ms", .help = "delay of the transmit interrupt"}),
      field("checksum", &NicDevice::checksum,
            {.assumed = "software", .help = "who computes and checks checksums"}),
      field("adaptive-rx", &NicDevice::adaptive_rx,
            {.assumed = "false",
             .help = "the driver chooses the delay of interrupts itself, after ixgbe"}),
      field("tso", &NicDevice::tso,
            {.assumed = "false", .help = "the card cuts TCP packets into segments"}),
      field("gro", &NicDevice::gro,
            {.assumed = "true", .help = "TCP segments are merged as they are received"}),
      field("napi", &NicDevice::napi,
            {.assumed = "true",
             .help = "false: received in the interrupt handler, onto the backlog; no gro"}),
  };
  return fields;
}

template <>
const Fields<BridgeDevice>& kind_fields<BridgeDevice>() {
  static const Fields<BridgeDevice> fields = {
      field("ports", &BridgeDevice::ports,
            {.required = true, .help = "taps, veths and nics of its machine"}),
  };
  return fields;
}

template <>
const Fields<LklVirtioDevice>& kind_fields<LklVirtioDevice>() {
  static const Fields<LklVirtioDevice> fields = {
      field("attach", &LklVirtioDevice::attach, {.required = true, .help = "the host's tap"}),
      field("queue-depth", &LklVirtioDevice::queue_depth,
            {.assumed = "128",
             .low = "1",
             .high = "32768",
             .help = "descriptors of each of its two queues, a power of two"}),
      flags_field("offloads", &LklVirtioDevice::offloads,
                  {{"csum", &VirtioOffloads::csum},
                   {"guest_csum", &VirtioOffloads::guest_csum},
                   {"host_tso4", &VirtioOffloads::host_tso4},
                   {"guest_tso4", &VirtioOffloads::guest_tso4},
                   {"mrg_rxbuf", &VirtioOffloads::mrg_rxbuf}},
                  {.help = "VIRTIO_NET_F_*: those of the guest are set on the tap; absent: none"}),
  };
  return fields;
}

const Fields<Link>& link_fields() {
  static const Fields<Link> fields = {
      field("rate", &Link::rate,
            {.required = true, .low = "1kbit", .high = "1Tbit", .help = "in each direction"}),
      field("delay", &Link::delay, {.assumed = "0us", .high = "10s", .help = "from end to end"}),
      field(
          "queue", &Link::queue,
          {.assumed = "1000", .low = "1", .high = "100000", .help = "packets, in each direction"}),
      field("loss", &Link::loss, {.assumed = "0%", .help = "of the frames, at random by the seed"}),
  };
  return fields;
}

}  // namespace tapestry::app
