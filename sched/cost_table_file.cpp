// Reads a cost table from YAML: every kind of work once, each with its figures, basis and source.
//
// The reader goes on after a fault, so that one run of the program names them all.
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <vector>

#include "sched/cost_table.hpp"

namespace tapestry::sched {

namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;  // a full table has 20 KiB

// How many single-character changes lead from one word to the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t change = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[to.size()];
}

template <typename Names>
std::string nearest(std::string_view name, const Names& names) {
  const auto best = std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  return std::string{*best};
}

std::vector<std::string_view> all_work_names() {
  std::vector<std::string_view> names;
  for (std::size_t index = 0; index < kWorkCount; ++index)
    names.push_back(work_name(static_cast<Work>(index)));
  return names;
}

constexpr std::array<std::string_view, 5> kBasisNames{"measured", "published", "derived",
                                                      "estimated", "fitted"};
constexpr std::array<std::string_view, 3> kTableKeys{"name", "about", "costs"};
constexpr std::array<std::string_view, 5> kEntryKeys{"fixed", "per-item", "per-byte", "basis",
                                                     "source"};

struct Unit {
  std::string_view name;
  std::int64_t femtos;
};
constexpr std::array<Unit, 5> kUnits{{{"fs", 1},
                                      {"ps", 1'000},
                                      {"ns", 1'000'000},
                                      {"us", 1'000'000'000},
                                      {"ms", 1'000'000'000'000}}};

struct Femtos {
  std::int64_t count = 0;
  const char* fault = nullptr;  // null: `count` is the quantity
};

constexpr const char* kExpectedTime = "expected a time with its unit, as 175.8ns or 2us";

// Exact: a figure that is no whole number of femtoseconds is a fault.
Femtos parse_femtos(std::string_view text) {
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == std::string_view::npos || unit_at == 0 || unit_at > 16) return {0, kExpectedTime};
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& candidate) {
    return candidate.name == text.substr(unit_at);
  });
  if (unit == kUnits.end()) return {0, kExpectedTime};
  std::int64_t digits = 0;
  std::int64_t divisor = 0;  // 0: before the decimal point
  for (const char c : text.substr(0, unit_at)) {
    if (c == '.') {
      if (divisor != 0) return {0, kExpectedTime};
      divisor = 1;
      continue;
    }
    digits = digits * 10 + (c - '0');
    divisor *= 10;
  }
  if (text.front() == '.' || text[unit_at - 1] == '.') return {0, kExpectedTime};
  std::int64_t femtos = 0;
  if (__builtin_mul_overflow(digits, unit->femtos, &femtos)) return {0, "too long a time"};
  if (divisor > 1 && femtos % divisor != 0) return {0, "finer than a femtosecond"};
  return {divisor > 1 ? femtos / divisor : femtos, nullptr};
}

class TableReader {
 public:
  explicit TableReader(std::string file_name) : file_name_(std::move(file_name)) {}

  core::Result<CostTable> read(const std::string& text) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      if (documents.size() != 1)
        fault(YAML::Mark{}, "a cost table is one YAML document");
      else
        read_table(documents.front());
    } catch (const YAML::DeepRecursion& exception) {
      fault(exception.mark, "nested too deeply");
    } catch (const YAML::Exception& exception) {
      fault(exception.mark, exception.msg);
    }
    if (errors_.empty()) return std::move(table_);
    return core::Error{errors_};
  }

 private:
  // One of the three figures of a cost: where it goes, its smallest unit, its bound.
  struct Figure {
    std::string_view key;
    std::int64_t Cost::*member;
    std::int64_t femtos_per_unit;
    std::int64_t most;
  };
  static constexpr std::array<Figure, 3> kFigures{
      {{"fixed", &Cost::fixed_ps, 1000, kMaxFixedPs},
       {"per-item", &Cost::per_item_ps, 1000, kMaxPerItemPs},
       {"per-byte", &Cost::per_byte_fs, 1, kMaxPerByteFs}}};

  void fault(const YAML::Mark& mark, const std::string& text) {
    if (!errors_.empty()) errors_ += '\n';
    errors_ += file_name_ + ":" + std::to_string(std::max(mark.line, 0) + 1) + ":" +
               std::to_string(std::max(mark.column, 0) + 1) + ": error: " + text;
  }
  void fault(const YAML::Node& node, const std::string& text) { fault(node.Mark(), text); }

  // The values of a mapping by key, in the order of `keys`; absent ones are undefined.
  template <std::size_t kCount>
  std::array<YAML::Node, kCount> members(const YAML::Node& node,
                                         const std::array<std::string_view, kCount>& keys) {
    std::array<YAML::Node, kCount> values;
    std::array<bool, kCount> seen{};
    values.fill(YAML::Node{YAML::NodeType::Undefined});
    for (const auto& pair : node) {
      const std::string key = scalar(pair.first);
      const auto at =
          static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
      if (!pair.first.IsScalar()) {
        fault(pair.first, "a key is a word");
      } else if (at == kCount) {
        fault(pair.first, "unknown key '" + key + "'; did you mean '" + nearest(key, keys) + "'?");
      } else if (seen[at]) {
        fault(pair.first, "'" + key + "' stands here twice");
      } else {
        seen[at] = true;
        values[at].reset(pair.second);
      }
    }
    return values;
  }

  static std::string scalar(const YAML::Node& node) { return node.IsScalar() ? node.Scalar() : ""; }
  static bool present(const YAML::Node& node) { return node.IsDefined(); }

  void read_table(const YAML::Node& root) {
    if (!root.IsMap()) return fault(root, "a cost table is a mapping with the keys name and costs");
    const auto [name, about, costs] = members(root, kTableKeys);
    if (!present(name) || scalar(name).empty())
      fault(present(name) ? name : root, "a cost table has a name");
    else
      table_.rename(scalar(name));
    if (present(about) && !about.IsScalar()) fault(about, "about is text");
    if (!present(costs)) return fault(root, "a cost table has costs");
    if (!costs.IsMap()) return fault(costs, "costs is a mapping from kinds of work to their cost");
    read_costs(costs);
  }

  void read_costs(const YAML::Node& costs) {
    std::array<bool, kWorkCount> seen{};
    for (const auto& pair : costs) {
      const std::string name = scalar(pair.first);
      const std::optional<Work> work = work_from_name(name);
      if (!work) {
        fault(pair.first, !pair.first.IsScalar() ? "a key is a word"
                                                 : "unknown work '" + name + "'; did you mean '" +
                                                       nearest(name, all_work_names()) + "'?");
        continue;
      }
      bool& again = seen[static_cast<std::size_t>(*work)];
      if (again) fault(pair.first, "'" + name + "' stands here twice");
      again = true;
      if (pair.second.IsMap())
        read_entry(*work, pair.first, pair.second);
      else
        fault(pair.first, "'" + name + "' needs its figures, basis and source");
    }
    for (std::size_t index = 0; index < kWorkCount; ++index)
      if (!seen[index])
        fault(costs, "no cost for '" + std::string{work_name(static_cast<Work>(index))} + "'");
  }

  void read_entry(Work work, const YAML::Node& key, const YAML::Node& node) {
    const std::string name{work_name(work)};
    const std::size_t faults_before = errors_.size();
    const auto values = members(node, kEntryKeys);
    CostEntry entry;
    CostRange range;
    bool any_figure = false;
    bool any_range = false;
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      if (!present(values[i])) continue;
      any_figure = true;
      any_range |= read_figure(kFigures[i], values[i], entry.cost, range);
    }
    if (!any_figure) fault(key, "'" + name + "' has no figure: fixed, per-item or per-byte");
    read_basis(name, key, values[3], entry);
    if (scalar(values[4]).empty())
      fault(present(values[4]) ? values[4] : key, "'" + name + "' does not say its source");
    entry.source = scalar(values[4]);
    if (any_range) entry.range = range;
    if (scalar(values[3]) == basis_name(Basis::estimated) && any_figure && !any_range)
      fault(key, "'" + name + "' is estimated and needs a range: [low, figure, high]");
    if (errors_.size() != faults_before) return;
    if (repeats_until_change(work) && entry.cost.fixed_ps < 1000)
      return fault(key, "'" + name + "' is repeated by loops and costs at least 1ns, fixed");
    table_.set(work, std::move(entry));
  }

  void read_basis(const std::string& name, const YAML::Node& key, const YAML::Node& node,
                  CostEntry& entry) {
    const std::string word = scalar(node);
    const auto at = std::find(kBasisNames.begin(), kBasisNames.end(), word);
    if (word.empty())
      fault(present(node) ? node : key, "'" + name + "' does not say its basis");
    else if (at == kBasisNames.end())
      fault(node,
            "unknown basis '" + word + "'; did you mean '" + nearest(word, kBasisNames) + "'?");
    else
      entry.basis = static_cast<Basis>(at - kBasisNames.begin());
  }

  // A time, or [low, time, high]; true if there is a range.
  bool read_figure(const Figure& figure, const YAML::Node& node, Cost& cost, CostRange& range) {
    if (node.IsScalar()) {
      cost.*figure.member = quantity(figure, node);
      range.low.*figure.member = range.high.*figure.member = cost.*figure.member;
      return false;
    }
    if (!node.IsSequence() || node.size() != 3) {
      fault(node, std::string{figure.key} + " is a time, or [low, time, high]");
      return false;
    }
    const std::int64_t low = range.low.*figure.member = quantity(figure, node[0]);
    const std::int64_t middle = cost.*figure.member = quantity(figure, node[1]);
    const std::int64_t high = range.high.*figure.member = quantity(figure, node[2]);
    if (low > middle || middle > high) fault(node, "the range is not in ascending order");
    return true;
  }

  std::int64_t quantity(const Figure& figure, const YAML::Node& node) {
    const std::string text = scalar(node);
    const Femtos parsed = parse_femtos(text);
    const std::string where = std::string{figure.key} + " '" + text + "': ";
    if (parsed.fault != nullptr) return fault(node, where + parsed.fault), 0;
    if (parsed.count % figure.femtos_per_unit != 0)
      return fault(node, where + "finer than a picosecond"), 0;
    const std::int64_t units = parsed.count / figure.femtos_per_unit;
    if (units > figure.most) return fault(node, where + "too long a time"), 0;
    return units;
  }

  std::string file_name_;
  CostTable table_;
  std::string errors_;
};

}  // namespace

core::Result<CostTable> parse_cost_table(const std::string& yaml_text,
                                         const std::string& file_name) {
  if (yaml_text.size() > kMaxFileBytes)
    return core::Error{file_name + ":1:1: error: a cost table has at most 1 MiB"};
  return TableReader{file_name}.read(yaml_text);
}

core::Result<CostTable> load_cost_table(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return core::Error{path + ":1:1: error: cannot be read"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_cost_table(text, path);
}

}  // namespace tapestry::sched
