// Workloads: who sends what to whom.
#include "app/scenario/fields.hpp"
#include "app/scenario/names.hpp"

namespace tapestry::app {
namespace {

// {10.77.0.2: guest, 3e:30:db:47:2a:7a: guest}
Field<ReplayWorkload> sides_field() {
  Field<ReplayWorkload> made;
  made.attribute = attribute_of(
      "sides", AttributeType::map,
      {.required = true,
       .help = "source addresses, IPv4 or MAC, and the machine that sends their frames"});
  made.read = [](const Value& value, const Attribute& attribute, ReplayWorkload& replay,
                 Diagnostics& diagnostics) {
    if (!value.is_map()) {
      diagnostics.add(value.at, value.path + ": expected a map from addresses to machines, found " +
                                    describe(value));
      return;
    }
    for (const Value::Entry& entry : value.entries) {
      if (is_private_note(entry.key)) continue;
      ReplaySide side;
      if (const auto ipv4 = parse_ipv4_address(entry.key)) {
        side.source = *ipv4;
      } else if (const auto mac = parse_mac_address(entry.key)) {
        side.source = *mac;
      } else {
        diagnostics.add(entry.key_at, entry.value.path + ": " + quote(entry.key) +
                                          " is neither an IPv4 nor a MAC address");
        continue;
      }
      if (entry.value.is_empty()) {
        report_empty(entry, attribute, diagnostics);
        continue;
      }
      Attribute machine;
      machine.type = AttributeType::name;
      read_member(entry.value, machine, side.machine, diagnostics);
      replay.sides.push_back(std::move(side));
    }
  };
  return made;
}

template <class Owner>
Field<Owner> cpu_field(std::string name, std::optional<int> Owner::*member, std::string whose) {
  return field(std::move(name), member,
               {.low = "0",
                .high = "63",
                .help = "the CPU that " + std::move(whose) + " is bound to; absent: any"});
}

// What traffic between two processes has.
template <class Owner>
void append_flow_fields(Fields<Owner>& fields) {
  const Declared from = {.required = true, .help = "the machine that sends first"};
  fields.push_back(field("from", &Owner::from, from));
  fields.push_back(
      field("to", &Owner::to, {.required = true, .help = "the machine that answers or receives"}));
  fields.push_back(field("sessions", &Owner::sessions,
                         {.assumed = "1", .low = "1", .high = "1000", .help = "pairs of sockets"}));
  fields.push_back(field("duration", &Owner::duration,
                         {.required = true, .high = "1h", .help = "how long it is measured"}));
  fields.push_back(field("warmup", &Owner::warmup,
                         {.assumed = "0ms", .high = "1h", .help = "how long it runs before that"}));
  fields.push_back(cpu_field("from-cpu", &Owner::from_cpu, "the first sender's process"));
  fields.push_back(cpu_field("to-cpu", &Owner::to_cpu, "the other side's process"));
}

template <class Owner>
Field<Owner> no_delay_field() {
  return field("no-delay", &Owner::no_delay,
               {.assumed = "false", .help = "TCP_NODELAY: small segments don't wait for an ACK"});
}

template <class Owner>
Fields<Owner> bulk_fields() {
  Fields<Owner> made;
  append_flow_fields(made);
  made.push_back(field("send", &Owner::send,
                       {.assumed = "16KiB", .low = "1B", .high = "1MiB", .help = "a send call"}));
  made.push_back(
      field("receive", &Owner::receive,
            {.assumed = "128KiB", .low = "1B", .high = "1MiB", .help = "a receive call"}));
  made.push_back(field("program", &Owner::program,
                       {.assumed = "netperf",
                        .help = "whose system calls both ends make: netperf blocks in one, iperf3 "
                                "looks at the clock and selects"}));
  made.push_back(no_delay_field<Owner>());
  return made;
}

template <class Owner>
Fields<Owner> transaction_fields() {
  Fields<Owner> made;
  append_flow_fields(made);
  made.push_back(field("request", &Owner::request,
                       {.assumed = "1B", .low = "1B", .high = "1MiB", .help = "a request"}));
  made.push_back(field("response", &Owner::response,
                       {.assumed = "1B", .low = "1B", .high = "1MiB", .help = "a response"}));
  made.push_back(no_delay_field<Owner>());
  return made;
}

}  // namespace

const Fields<Workload>& workload_fields() {
  static const Fields<Workload> fields = {
      field("start", &Workload::start, {.assumed = "0s", .high = "1h", .help = "when it begins"}),
  };
  return fields;
}

template <>
const Fields<ReplayWorkload>& kind_fields<ReplayWorkload>() {
  static const Fields<ReplayWorkload> fields = {
      field("file", &ReplayWorkload::file,
            {.required = true, .help = "a pcap file, seen from the scenario's own folder"}),
      field(
          "timing", &ReplayWorkload::timing,
          {.assumed = "original",
           .help =
               "original: with the gaps of the capture; scaled: times `scale`; fixed: at `rate`"}),
      field("scale", &ReplayWorkload::scale,
            {.assumed = "1",
             .low = "0.000001",
             .high = "1000",
             .help = "2 is half as fast; timing: scaled"}),
      field("rate", &ReplayWorkload::rate,
            {.low = "1kbit", .high = "1Tbit", .help = "bits of frames per second; timing: fixed"}),
      field("loop", &ReplayWorkload::loop,
            {.assumed = "1", .low = "1", .high = "1000000", .help = "how many times"}),
      sides_field(),
  };
  return fields;
}

template <>
const Fields<UdpStreamWorkload>& kind_fields<UdpStreamWorkload>() {
  static const Fields<UdpStreamWorkload> fields = [] {
    Fields<UdpStreamWorkload> made;
    append_flow_fields(made);
    made.push_back(field(
        "size", &UdpStreamWorkload::size,
        {.assumed = "1472B", .low = "1B", .high = "65507B", .help = "payload of a datagram"}));
    made.push_back(field("rate", &UdpStreamWorkload::rate,
                         {.low = "1kbit",
                          .high = "1Tbit",
                          .help = "of payload, for each session; absent: as fast as possible"}));
    made.push_back(
        field("calls-per-datagram", &UdpStreamWorkload::calls_per_datagram,
              {.assumed = "1",
               .low = "1",
               .high = "100",
               .help = "system calls of the sender for each datagram, the send among them"}));
    return made;
  }();
  return fields;
}

template <>
const Fields<UdpRequestResponseWorkload>& kind_fields<UdpRequestResponseWorkload>() {
  static const Fields<UdpRequestResponseWorkload> fields = [] {
    Fields<UdpRequestResponseWorkload> made;
    append_flow_fields(made);
    made.push_back(
        field("request", &UdpRequestResponseWorkload::request,
              {.assumed = "1B", .low = "1B", .high = "65507B", .help = "payload of a request"}));
    made.push_back(
        field("response", &UdpRequestResponseWorkload::response,
              {.assumed = "1B", .low = "1B", .high = "65507B", .help = "payload of a response"}));
    return made;
  }();
  return fields;
}

template <>
const Fields<PingWorkload>& kind_fields<PingWorkload>() {
  static const Fields<PingWorkload> fields = {
      field("from", &PingWorkload::from, {.required = true, .help = "the machine that asks"}),
      field("to", &PingWorkload::to, {.required = true, .help = "the machine that answers"}),
      field("size", &PingWorkload::size,
            {.assumed = "56B", .high = "65507B", .help = "payload of a request"}),
      field("count", &PingWorkload::count,
            {.assumed = "10", .low = "1", .high = "1000000", .help = "number of requests"}),
      field("interval", &PingWorkload::interval,
            {.assumed = "1s", .high = "1h", .help = "between two requests"}),
      cpu_field("from-cpu", &PingWorkload::from_cpu, "the asking process"),
  };
  return fields;
}

template <>
const Fields<SyscallWorkload>& kind_fields<SyscallWorkload>() {
  static const Fields<SyscallWorkload> fields = {
      field("machine", &SyscallWorkload::on,
            {.required = true, .help = "the machine whose process it is"}),
      field("size", &SyscallWorkload::size,
            {.assumed = "1B", .low = "1B", .high = "1MiB", .help = "bytes of each read and write"}),
      field("count", &SyscallWorkload::count,
            {.assumed = "5000",
             .low = "1",
             .high = "10000000",
             .help = "number of reads, and of writes"}),
      cpu_field("cpu", &SyscallWorkload::cpu, "the process"),
  };
  return fields;
}

template <>
const Fields<TcpStreamWorkload>& kind_fields<TcpStreamWorkload>() {
  static const Fields<TcpStreamWorkload> fields = bulk_fields<TcpStreamWorkload>();
  return fields;
}

template <>
const Fields<TcpMaertsWorkload>& kind_fields<TcpMaertsWorkload>() {
  static const Fields<TcpMaertsWorkload> fields = bulk_fields<TcpMaertsWorkload>();
  return fields;
}

template <>
const Fields<TcpRequestResponseWorkload>& kind_fields<TcpRequestResponseWorkload>() {
  static const Fields<TcpRequestResponseWorkload> fields =
      transaction_fields<TcpRequestResponseWorkload>();
  return fields;
}

template <>
const Fields<TcpConnectWorkload>& kind_fields<TcpConnectWorkload>() {
  static const Fields<TcpConnectWorkload> fields = transaction_fields<TcpConnectWorkload>();
  return fields;
}

template <>
const Fields<PktgenWorkload>& kind_fields<PktgenWorkload>() {
  static const Fields<PktgenWorkload> fields = {
      field("from", &PktgenWorkload::from, {.required = true, .help = "the machine that sends"}),
      field("to", &PktgenWorkload::to,
            {.required = true, .help = "the machine that frames are for, and end at"}),
      field("mode", &PktgenWorkload::mode,
            {.assumed = "start-xmit",
             .help = "start-xmit: straight to the driver; queue-xmit: through the queueing "
                     "discipline, which ends a burst's promise of more"}),
      field("count", &PktgenWorkload::count,
            {.assumed = "1000", .low = "1", .high = "100000000", .help = "frames"}),
      field("size", &PktgenWorkload::size,
            {.assumed = "60B",
             .low = "58B",
             .high = "65535B",
             .help = "of a frame, without check sequence"}),
      field("clone-skb", &PktgenWorkload::clone_skb,
            {.assumed = "0",
             .low = "0",
             .high = "1000000",
             .help = "times that a buffer is sent before the next is made; 0 as 1"}),
      field(
          "burst", &PktgenWorkload::burst,
          {.assumed = "1",
           .low = "1",
           .high = "1024",
           .help = "references to the buffer that are handed over together, all but the last with "
                   "the promise of more"}),
      field("delay", &PktgenWorkload::delay,
            {.assumed = "0us", .high = "1s", .help = "from one hand-over to the next"}),
      cpu_field("from-cpu", &PktgenWorkload::from_cpu, "the sending thread"),
  };
  return fields;
}

}  // namespace tapestry::app
