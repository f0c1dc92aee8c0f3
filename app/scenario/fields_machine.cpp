// Machines: kernels, their CPUs and their settings.
#include "app/scenario/fields.hpp"
#include "kernel/era.hpp"

namespace tapestry::app {
namespace {

// The eras whose switches are documented; see docs/eras.md.
const std::vector<std::string>& eras() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::string_view name : kernel::era_names())
      all.emplace_back(name);
    return all;
  }();
  return names;
}

Field<Machine> kernel_field() {
  return word_field<Machine>(
      "kernel", &Machine::kernel, eras(),
      {.required = true,
       .help = "the Linux release whose behaviour it has; costs do not depend on it"});
}

// A kernel is built with one of four tick rates.
Field<Machine> hz_field(std::string assumed) {
  Field<Machine> made = field(
      "hz", &Machine::hz, {.assumed = std::move(assumed), .help = "ticks per second (CONFIG_HZ)"});
  made.attribute.choices = {"100", "250", "300", "1000"};
  return made;
}

Field<Machine> preempt_field(std::string assumed) {
  return field(
      "preempt", &Machine::preempt,
      {.assumed = std::move(assumed), .help = "when a running thread gives way in the kernel"});
}

Field<Machine> sysctl_field() {
  Field<Machine> made;
  made.attribute =
      attribute_of("sysctl", AttributeType::map,
                   {.help = "kernel settings under their sysctl names, as plain numbers"});
  made.read = [](const Value& value, const Attribute&, Machine& machine, Diagnostics& diagnostics) {
    if (!value.is_map()) {
      diagnostics.add(value.at,
                      value.path + ": expected a map of settings, found " + describe(value));
      return;
    }
    std::vector<std::string> known;
    append_names(sysctl_fields(), known);
    check_keys(value, known, "sysctl", diagnostics);
    read_fields(value, sysctl_fields(), machine.sysctl, diagnostics);
  };
  return made;
}

}  // namespace

const Fields<Machine>& machine_fields(Platform platform) {
  static const Fields<Machine> native = {
      kernel_field(),
      field("cpus", &Machine::cpus,
            {.assumed = "1", .low = "1", .high = "64", .help = "number of CPUs"}),
      field("costs", &Machine::costs,
            {.help = "a cost table of its own and its guests', named as for the scenario; absent: "
                     "the scenario's"}),
      hz_field("250"),
      preempt_field("voluntary"),
      sysctl_field(),
  };
  static const Fields<Machine> uml = {
      kernel_field(),
      field("host", &Machine::host, {.required = true, .help = "the machine it is a process of"}),
      field("pin", &Machine::pin,
            {.low = "0", .high = "63", .help = "the host CPU it is bound to; absent: any"}),
      field("cpus", &Machine::cpus,
            {.assumed = "1", .low = "1", .high = "1", .help = "always 1: UML has no SMP"}),
      hz_field("100"),
      preempt_field("none"),
      sysctl_field(),
  };
  static const Fields<Machine> lkl = {
      kernel_field(),
      field("host", &Machine::host, {.required = true, .help = "the machine it is a process of"}),
      field("pin", &Machine::pin,
            {.low = "0",
             .high = "63",
             .help = "the host CPU that its threads are bound to; absent: any"}),
      field("poll-pin", &Machine::poll_pin,
            {.low = "0",
             .high = "63",
             .help = "the host CPU of its poll and timer threads; absent: as the others"}),
      field("cpus", &Machine::cpus,
            {.assumed = "1", .low = "1", .high = "1", .help = "always 1: LKL has no SMP"}),
      hz_field("100"),
      preempt_field("none"),
      sysctl_field(),
  };
  switch (platform) {
    case Platform::native:
      return native;
    case Platform::uml:
      return uml;
    case Platform::lkl:
      break;
  }
  return lkl;
}

const Fields<Sysctls>& sysctl_fields() {
  static const Fields<Sysctls> fields = {
      field("net.core.netdev_budget", &Sysctls::netdev_budget,
            {.low = "1", .high = "1000000", .help = "packets per NET_RX softirq; 300 in Linux"}),
      field("net.core.netdev_budget_usecs", &Sysctls::netdev_budget_usecs,
            {.low = "1",
             .high = "10000000",
             .help = "microseconds per NET_RX softirq; two jiffies in Linux"}),
      field("net.core.dev_weight", &Sysctls::dev_weight,
            {.low = "1", .high = "10000", .help = "packets per poll of the backlog; 64 in Linux"}),
      field("net.core.netdev_max_backlog", &Sysctls::netdev_max_backlog,
            {.low = "1", .high = "1000000", .help = "packets in a CPU's backlog; 1000 in Linux"}),
      field("net.core.rmem_default", &Sysctls::rmem_default,
            {.low = "2304",
             .high = "268435456",
             .help = "bytes a socket may receive ahead; 212992 in Linux"}),
      field("net.core.wmem_default", &Sysctls::wmem_default,
            {.low = "4608",
             .high = "268435456",
             .help = "bytes a socket may have in flight; 212992 in Linux"}),
  };
  return fields;
}

}  // namespace tapestry::app
