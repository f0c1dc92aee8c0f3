// What belongs to the whole file, and the list of all attributes.
#include "app/scenario/fields.hpp"

namespace tapestry::app {
namespace {

template <class Owner>
Field<Owner> metric_part(std::string name, std::string MetricName::*part, std::string help) {
  Field<Owner> made;
  made.attribute = attribute_of(std::move(name), AttributeType::name,
                                {.required = true, .help = std::move(help)});
  made.read = [part](const Value& value, const Attribute& attribute, Owner& owner,
                     Diagnostics& diagnostics) {
    read_member(value, attribute, owner.name.*part, diagnostics);
  };
  return made;
}

template <class T>
Field<PublishedEntry> figure(std::string name, T Published::*member, Declared declared) {
  Field<Published> inner = field(std::move(name), member, std::move(declared));
  Field<PublishedEntry> made;
  made.attribute = inner.attribute;
  made.read = [read = inner.read](const Value& value, const Attribute& attribute,
                                  PublishedEntry& entry, Diagnostics& diagnostics) {
    read(value, attribute, entry.published, diagnostics);
  };
  return made;
}

Field<AnswerEntry> expectation_part(std::string name, std::string ExpectEntry::*member,
                                    Declared declared) {
  Field<ExpectEntry> inner = field(std::move(name), member, std::move(declared));
  Field<AnswerEntry> made;
  made.attribute = inner.attribute;
  made.read = [read = inner.read](const Value& value, const Attribute& attribute,
                                  AnswerEntry& entry, Diagnostics& diagnostics) {
    read(value, attribute, entry.when, diagnostics);
  };
  return made;
}

template <class Owner>
AttributeGroup group(std::string title, std::string place, std::string help,
                     const Fields<Owner>& fields) {
  std::string section = place.substr(0, place.find_first_of(".["));
  AttributeGroup made{
      std::move(title), std::move(section), std::move(place), {}, std::move(help), {}};
  append_attributes(fields, made.attributes);
  return made;
}

template <class Kind>
AttributeGroup device_group(std::size_t index) {
  const KindHelp& kind = kDeviceKinds[index];
  const std::string word(kind.word);
  AttributeGroup made{"devices, kind: " + word, "devices", "devices.MACHINE.INTERFACE", word,
                      std::string(kind.help),   {}};
  made.attributes.push_back(selector("kind", kDeviceKinds));
  append_attributes(kind_fields<Kind>(), made.attributes);
  append_attributes(device_fields(word), made.attributes);
  return made;
}

template <class Kind>
AttributeGroup workload_group(std::size_t index) {
  const KindHelp& kind = kWorkloadKinds[index];
  AttributeGroup made{"workloads, kind: " + std::string(kind.word),
                      "workloads",
                      "workloads.NAME",
                      std::string(kind.word),
                      std::string(kind.help),
                      {}};
  made.attributes.push_back(selector("kind", kWorkloadKinds));
  append_attributes(kind_fields<Kind>(), made.attributes);
  append_attributes(workload_fields(), made.attributes);
  return made;
}

AttributeGroup machine_group(Platform platform) {
  const KindHelp& kind = kPlatforms[static_cast<std::size_t>(platform)];
  AttributeGroup made{"machines, platform: " + std::string(kind.word),
                      "machines",
                      "machines.NAME",
                      std::string(kind.word),
                      std::string(kind.help),
                      {}};
  made.attributes.push_back(selector("platform", kPlatforms));
  append_attributes(machine_fields(platform), made.attributes);
  return made;
}

std::vector<AttributeGroup> all_groups() {
  AttributeGroup whole =
      group("the scenario", "", "what the file says of itself and of every run", heading_fields());
  append_attributes(run_fields(), whole.attributes);
  std::vector<AttributeGroup> groups = {
      std::move(whole),
      machine_group(Platform::native),
      machine_group(Platform::uml),
      machine_group(Platform::lkl),
      group("machines, sysctl", "machines.NAME.sysctl",
            "kernel settings; absent: the kernel's default", sysctl_fields()),
      device_group<TapDevice>(0),
      device_group<LegacyTapDevice>(1),
      device_group<VectorDevice>(2),
      device_group<VethDevice>(3),
      device_group<NicDevice>(4),
      device_group<BridgeDevice>(5),
      device_group<LklVirtioDevice>(6),
      group("links", "links.NAME", "a wire between two nics", link_fields()),
      workload_group<ReplayWorkload>(0),
      workload_group<UdpStreamWorkload>(1),
      workload_group<UdpRequestResponseWorkload>(2),
      workload_group<PingWorkload>(3),
      workload_group<SyscallWorkload>(4),
      workload_group<TcpStreamWorkload>(5),
      workload_group<TcpMaertsWorkload>(6),
      workload_group<TcpRequestResponseWorkload>(7),
      workload_group<TcpConnectWorkload>(8),
      workload_group<PktgenWorkload>(9),
      group("captures", "captures[N]", "where frames can be captured", capture_fields()),
      group("published", "published[N]", "a figure that somebody measured on the real thing",
            published_fields()),
      group("expect", "expect[N]", "what the results are expected to show", expect_fields()),
      group("answers", "answers[N]", "of a lesson: what may be answered, and when it is right",
            answer_fields()),
  };
  return groups;
}

}  // namespace

const Fields<Heading>& heading_fields() {
  static const Fields<Heading> fields = {
      word_field("schema", &Heading::schema, {"tapestry/1"},
                 {.required = true, .help = "the language that the file is written in"}),
      field("title", &Heading::title, {.required = true, .help = "one line"}),
      field("about", &Heading::about, {.help = "what it shows and why"}),
      field("question", &Heading::question,
            {.help = "of a lesson: what to predict; its answers are below"}),
  };
  return fields;
}

const Fields<Scenario>& run_fields() {
  static const Fields<Scenario> fields = {
      field(
          "seed", &Scenario::seed,
          {.assumed = "1", .high = "9223372036854775807", .help = "of everything that is random"}),
      field("costs", &Scenario::costs,
            {.required = true,
             .help = "the cost table: costs/NAME.yaml beside the scenario, or a path to one"}),
      field("stop", &Scenario::stop,
            {.high = "24h",
             .help = "when a run ends at the latest; absent: when its workload is done"}),
  };
  return fields;
}

const Fields<Capture>& capture_fields() {
  static const Fields<Capture> fields = {
      field("at", &Capture::device, {.required = true, .help = "the device, as MACHINE.INTERFACE"}),
      field("snaplen", &Capture::snaplen,
            {.low = "1B", .high = "256KiB", .help = "bytes kept of each frame; absent: all"}),
      field(
          "checksums", &Capture::checksums,
          {.assumed = "complete", .help = "as-seen: also those that a device has yet to fill in"}),
  };
  return fields;
}

const Fields<PublishedEntry>& published_fields() {
  static const Fields<PublishedEntry> fields = {
      metric_part<PublishedEntry>("variant", &MetricName::variant, "the variant that models it"),
      metric_part<PublishedEntry>("workload", &MetricName::workload, "and the workload"),
      metric_part<PublishedEntry>("metric", &MetricName::metric, "the metric in the results"),
      figure("value", &Published::value,
             {.required = true, .help = "the figure, in the metric's unit"}),
      figure("low", &Published::low, {.help = "the smallest of several runs"}),
      figure("high", &Published::high, {.help = "the largest of several runs"}),
      figure("source", &Published::source,
             {.required = true, .help = "who measured it, where, how"}),
      figure("disclaimer", &Published::disclaimer, {.help = "what its author warns of"}),
      figure("fitted", &Published::fitted,
             {.assumed = "false",
              .help = "a cost was chosen so that this figure comes out; else it is predicted"}),
  };
  return fields;
}

const Fields<ExpectEntry>& expect_fields() {
  static const Fields<ExpectEntry> fields = {
      field(
          "that", &ExpectEntry::that,
          {.required = true, .help = "such as tap.udp.throughput_bps > legacy.udp.throughput_bps"}),
      field("because", &ExpectEntry::because, {.help = "the reason to expect it"}),
  };
  return fields;
}

const Fields<AnswerEntry>& answer_fields() {
  static const Fields<AnswerEntry> fields = {
      field("answer", &AnswerEntry::answer, {.required = true, .help = "one line"}),
      expectation_part("that", &ExpectEntry::that,
                       {.required = true, .help = "what the results say when it is right"}),
      expectation_part("because", &ExpectEntry::because,
                       {.help = "why, told to whoever gave this answer"}),
  };
  return fields;
}

const std::vector<AttributeGroup>& attribute_groups() {
  static const std::vector<AttributeGroup> groups = all_groups();
  return groups;
}

}  // namespace tapestry::app
