#include "app/run/capture_requests.hpp"

#include <algorithm>
#include <filesystem>
#include <variant>

#include "app/run/captures.hpp"

namespace tapestry::app {

namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // as many as Linux follows (MAXSYMLINKS)

// Where the bytes go, however it is spelt: also through a link to what is not there yet.
fs::path place_of(fs::path path) {
  std::error_code failure;
  for (int i = 0; i < kLinksMax && fs::is_symlink(path, failure); ++i) {
    const fs::path target = fs::read_symlink(path, failure);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  const fs::path place = fs::weakly_canonical(fs::absolute(path, failure), failure);
  return failure ? path : place;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code failure;
  return place_of(one) == place_of(other) || fs::equivalent(one, other, failure);
}

std::vector<std::string> inputs_of(const ScenarioFile& file, const std::string& scenario_path) {
  std::vector<std::string> paths = {scenario_path};
  for (const Scenario& scenario : file.variants) {
    paths.push_back(scenario.costs_path);
    for (const Machine& machine : scenario.machines)
      if (!machine.costs_path.empty()) paths.push_back(machine.costs_path);
    for (const Workload& workload : scenario.workloads)
      if (const auto* replay = std::get_if<ReplayWorkload>(&workload.kind))
        paths.push_back(replay->path);
  }
  return paths;
}

std::string point_of(const CaptureRequest& request, const Scenario& scenario) {
  if (!request.device.empty() || scenario.devices.empty()) return request.device;
  const std::size_t index = scenario.captures.empty() ? 0 : scenario.captures.front().device.index;
  return scenario.devices[index].name;
}

bool has_point(const ScenarioFile& file, const std::string& device) {
  if (device.empty() || device == kDropPoint) return true;
  return std::any_of(file.variants.begin(), file.variants.end(), [&](const Scenario& scenario) {
    return std::any_of(scenario.devices.begin(), scenario.devices.end(),
                       [&](const Device& known) { return known.name == device; });
  });
}

std::string fault_of(const ScenarioFile& file, const std::string& scenario,
                     const CaptureRequest& request) {
  if (!has_point(file, request.device))
    return "the scenario has no device called " + request.device;
  if (request.path.empty()) return "--pcap " + request.device + "=: no file is named";
  if (request.device == kDropPoint && !request.path.ends_with(".pcapng"))
    return request.path + ": only a .pcapng file has room for the reasons of drops";
  for (const std::string& input : inputs_of(file, scenario))
    if (is_same_file(request.path, input)) return request.path + ": the run reads this file";
  return {};
}

std::string fault_of_both(const ScenarioFile& file, const CaptureRequest& one,
                          const CaptureRequest& other) {
  if (!is_same_file(one.path, other.path)) return {};
  if (one.path != other.path) return one.path + " and " + other.path + " are one file";
  if (!one.path.ends_with(".pcapng"))
    return one.path + ": a pcap file has one point; name it .pcapng";
  for (const Scenario& scenario : file.variants)
    if (point_of(one, scenario) == point_of(other, scenario))
      return one.path + ": " + point_of(one, scenario) + " is captured twice";
  return {};
}

}  // namespace

std::vector<std::string> capture_faults(const ScenarioFile& file, const std::string& scenario,
                                        const std::vector<CaptureRequest>& requests) {
  std::vector<std::string> faults;
  const auto note = [&faults](std::string fault) {
    if (!fault.empty()) faults.push_back(std::move(fault));
  };
  for (auto request = requests.begin(); request != requests.end(); ++request) {
    note(fault_of(file, scenario, *request));
    for (auto other = requests.begin(); other != request; ++other)
      note(fault_of_both(file, *other, *request));
  }
  return faults;
}

}  // namespace tapestry::app
