// Devices of all kinds, and UML's one-line notation for one of them.
#include <algorithm>
#include <array>
#include <utility>

#include "app/scenario/decode.hpp"
#include "app/scenario/fields.hpp"
#include "app/scenario/names.hpp"
#include "app/scenario/vector_line.hpp"

namespace tapestry::app {
namespace {

template <class Kind>
void decode_device_kind(const Value& map, std::string_view word, Device& device,
                        Diagnostics& diagnostics) {
  const Fields<Kind>& own = kind_fields<Kind>();
  const Fields<Device>& common = device_fields(word);
  std::vector<std::string> known = {"kind"};
  if (word == "vector") known.emplace_back("line");
  append_names(own, known);
  append_names(common, known);
  check_keys(map, known, "a device of kind " + std::string(word), diagnostics);
  Kind kind;
  read_fields(map, own, kind, diagnostics);
  read_fields(map, common, device, diagnostics);
  device.kind = std::move(kind);
}

using DecodeDevice = void (*)(const Value&, std::string_view, Device&, Diagnostics&);

// In the order of kDeviceKinds.
constexpr std::array<DecodeDevice, kDeviceKinds.size()> kDeviceDecoders = {
    decode_device_kind<TapDevice>,      decode_device_kind<LegacyTapDevice>,
    decode_device_kind<VectorDevice>,   decode_device_kind<VethDevice>,
    decode_device_kind<NicDevice>,      decode_device_kind<BridgeDevice>,
    decode_device_kind<LklVirtioDevice>};

// ---- line: "vec0:transport=tap,ifname=tap0,depth=128" ----

// The line names the host's interface; which machine is the host, the scenario knows.
std::string host_of(const Value& tree, std::string_view machine) {
  const Value::Entry* const machines = tree.find("machines");
  const Value::Entry* const found = machines == nullptr ? nullptr : machines->value.find(machine);
  const Value::Entry* const host = found == nullptr ? nullptr : found->value.find("host");
  return host == nullptr ? std::string() : host->value.text;
}

// An option of the line in the words of a scenario.
Value::Entry translate(const VectorOption& option, const std::string& host, const Value& line,
                       std::size_t shift) {
  std::string key = option.key;
  std::string text = option.value;
  if (key == "ifname") key = "attach", text = host + "." + text;
  if (key == "gro" || key == "vec") text = text == "1" ? "true" : "false";
  Position key_at = line.at;
  Position value_at = line.at;
  key_at.column += static_cast<int>(option.key_offset + shift);
  value_at.column += static_cast<int>(option.value_offset + shift);
  return {key, key_at, Value::scalar(std::move(text), value_at, line.path)};
}

// The device with its line replaced by what the line says; nothing if the line is faulty.
std::optional<Value> without_line(const Value& device, const Value::Entry& written,
                                  const std::string& host, std::string_view interface,
                                  Diagnostics& diagnostics) {
  const Value& line = written.value;
  if (!is_readable(line, attribute_of("line", AttributeType::text, {}), diagnostics)) {
    return std::nullopt;
  }
  const std::size_t shift = line.quoted ? 1 : 0;  // the opening quote
  const auto report = [&](std::size_t offset, std::string text, std::string hint) {
    Position at = line.at;
    at.column += static_cast<int>(offset + shift);
    diagnostics.add(at, line.path + ": " + std::move(text), std::move(hint));
    return std::nullopt;
  };
  const ParsedVectorLine parsed = parse_vector_line(line.text);
  if (!parsed.line) return report(parsed.offset, parsed.error, parsed.hint);
  if (parsed.line->index && "vec" + std::to_string(*parsed.line->index) != interface) {
    return report(0,
                  "the line is of vec" + std::to_string(*parsed.line->index) + ", the device is " +
                      quote(interface),
                  "name both alike");
  }
  Value whole = device;
  for (const VectorOption& option : parsed.line->options) {
    Value::Entry entry = translate(option, host, line, shift);
    if (const Value::Entry* const twice = device.find(entry.key)) {
      return report(option.key_offset,
                    quote(option.key) + " is in the line, and " + quote(entry.key) +
                        " also in line " + std::to_string(twice->key_at.line),
                    "keep one of them");
    }
    whole.entries.push_back(std::move(entry));
  }
  if (whole.find("kind") == nullptr) {
    whole.entries.push_back({"kind", line.at, Value::scalar("vector", line.at, line.path)});
  }
  return whole;
}

// ---- One device ----

void decode_attributes(const Value& map, Device& device, Diagnostics& diagnostics) {
  static const Attribute kind = selector("kind", kDeviceKinds);
  const Value::Entry* const chosen = map.find("kind");
  if (chosen == nullptr) return report_no_kind(map, "devices", kind, diagnostics);
  const auto index = read_choice(chosen->value, kind, diagnostics);
  if (!index) return;
  if (map.find("line") != nullptr && chosen->value.text != "vector") {
    diagnostics.add(map.find("line")->key_at,
                    map.path + ".line: only a vector device has a line, this one is of kind " +
                        chosen->value.text);
    return;
  }
  kDeviceDecoders[*index](map, chosen->value.text, device, diagnostics);
}

// Splits MACHINE.INTERFACE at its first dot; interfaces may contain further ones.
bool name_device(const Value::Entry& entry, Device& device, Diagnostics& diagnostics) {
  const std::size_t dot = entry.key.find('.');
  const std::string machine = entry.key.substr(0, dot);
  if (dot == std::string::npos || !is_name(machine)) {
    diagnostics.add(entry.key_at,
                    entry.value.path + ": " + quote(entry.key) + " cannot name a device",
                    "a device is named MACHINE.INTERFACE, such as guest.vec0");
    return false;
  }
  device.name = entry.key;
  device.interface = entry.key.substr(dot + 1);
  device.at = entry.key_at;
  device.machine = {machine, 0, entry.key_at, entry.value.path};
  if (!is_interface_name(device.interface)) {
    Position at = entry.key_at;
    at.column += static_cast<int>(dot) + 1;
    diagnostics.add(at,
                    entry.value.path + ": " + quote(device.interface) + " cannot name an interface",
                    "use letters, digits, '_', '-' and '.', 15 at most");
    return false;
  }
  return true;
}

}  // namespace

std::vector<Device> decode_devices(const Value& tree, Diagnostics& diagnostics) {
  std::vector<Device> devices;
  for (const Value::Entry* const entry : things_in(tree, "devices", diagnostics)) {
    Device device;
    if (!name_device(*entry, device, diagnostics)) continue;
    if (!entry->value.is_map()) {
      // reported already; the name remains
    } else if (const Value::Entry* const line = entry->value.find("line")) {
      const auto whole = without_line(entry->value, *line, host_of(tree, device.machine.name),
                                      device.interface, diagnostics);
      if (whole) decode_attributes(*whole, device, diagnostics);
    } else {
      decode_attributes(entry->value, device, diagnostics);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace tapestry::app
