#include "tests/sched/cost_closures.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace tapestry::testing {

namespace {

const std::string kRoot = TAPESTRY_SOURCE_ROOT;

std::int64_t picos(const std::string& nanos) {
  std::size_t used = 0;
  const double value = std::stod(nanos, &used);
  if (nanos.substr(used) != "ns" && used != nanos.size())
    throw std::runtime_error("a time in ns: " + nanos);
  return std::llround(value * 1000);
}

std::vector<Charge> read_charges(const YAML::Node& list) {
  std::vector<Charge> charges;
  for (const auto& node : list) {
    const auto work = sched::work_from_name(node[0].as<std::string>());
    if (!work) throw std::runtime_error("unknown work " + node[0].as<std::string>());
    Charge charge{*work};
    if (node.size() > 1) charge.items = node[1].as<std::int64_t>();
    if (node.size() > 2) charge.bytes = node[2].as<std::int64_t>();
    charges.push_back(charge);
  }
  return charges;
}

std::int64_t total_ns(const sched::CostTable& costs, const std::vector<Charge>& charges) {
  core::Nanos total{0};
  for (const Charge& charge : charges)
    total += costs.cost(charge.work, charge.items, charge.bytes);
  return total.count();
}

std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

// Which columns together name a row, and which one is its time, by file.
struct Layout {
  std::vector<std::size_t> key;
  std::size_t time;
};
const std::map<std::string, Layout> kLayouts{{"measured_micro_costs_epyc_guest.csv", {{0}, 1}},
                                             {"kernel_floors_epyc_guest.csv", {{0}, 1}},
                                             {"kernel_primitive_costs.csv", {{0}, 1}},
                                             {"cost_table.csv", {{0, 2}, 4}},
                                             {"udp_gso_2018.csv", {{0}, 6}},
                                             {"host_stack_cpu_breakdown.csv", {{0, 1, 5}, 7}},
                                             {"uml_results.csv", {{0, 1, 2}, 6}}};

std::int64_t row_time_ps(const std::string& file, const std::string& row) {
  const Layout& layout = kLayouts.at(file);
  std::ifstream in(kRoot + "/scenarios/published/" + file);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = split_csv(line);
    std::string key;
    for (const std::size_t column : layout.key)
      key += (key.empty() ? "" : " ") + fields[column];
    if (key == row) return picos(fields[layout.time]);
  }
  throw std::runtime_error(file + " has no row " + row);
}

}  // namespace

std::int64_t Closure::sum_ps(const sched::CostTable& costs, const ClosurePoint& point) const {
  const std::int64_t whole_ns = total_ns(costs, once) + point.count * total_ns(costs, each);
  return whole_ns * 1000 / (per_each ? point.count : 1);
}

std::vector<Closure> load_closures(const std::string& list) {
  std::vector<Closure> closures;
  const YAML::Node root = YAML::LoadFile(kRoot + "/scenarios/costs/closures.yaml");
  for (const auto& node : root[list]) {
    Closure closure;
    closure.name = node["name"].as<std::string>();
    closure.table = node["table"].as<std::string>();
    closure.source = node["source"].as<std::string>();
    closure.once = read_charges(node["once"]);
    closure.each = read_charges(node["each"]);
    for (const auto& word : node["path"])
      closure.path.push_back(word.as<std::string>());
    if (node["no-path"]) closure.no_path = node["no-path"].as<std::string>();
    closure.per_each = node["per"] && node["per"].as<std::string>() == "each";
    for (const auto& point : node["points"])
      closure.points.push_back(
          {point.first.as<std::int64_t>(), picos(point.second.as<std::string>())});
    if (node["low"]) closure.low_ps = picos(node["low"].as<std::string>());
    closures.push_back(std::move(closure));
  }
  return closures;
}

sched::CostTable shipped_cost_table(const std::string& name) {
  auto table = sched::load_cost_table(kRoot + "/scenarios/costs/" + name + ".yaml");
  if (!table) throw std::runtime_error(table.error().message);
  return *std::move(table);
}

std::int64_t published_time_ps(const std::string& source) {
  std::string file;
  std::int64_t sum = 0, sign = 1;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find(" + ", at), source.find(" - ", at));
    std::string row = source.substr(at, end == std::string::npos ? end : end - at);
    if (const std::size_t colon = row.find(".csv: "); colon != std::string::npos) {
      file = row.substr(0, colon + 4);
      row = row.substr(colon + 6);
    }
    sum += sign * row_time_ps(file, row);
    if (end == std::string::npos) break;
    sign = source[end + 1] == '+' ? 1 : -1;
    at = end + 3;
  }
  return sum;
}

}  // namespace tapestry::testing
