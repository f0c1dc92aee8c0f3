// Cost tables: what a charge costs, what the reader refuses, and whether the page about the
// shipped ones tells the truth.
#include "sched/cost_table.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/sched/cost_closures.hpp"

using namespace tapestry::sched;
using tapestry::core::kForever;
using tapestry::core::Nanos;
using namespace tapestry::testing;

namespace {

// A good table, one line for each kind of work.
std::string good_table() {
  std::string text = "name: little\ncosts:\n";
  for (std::size_t index = 0; index < kWorkCount; ++index)
    text += "  " + std::string{work_name(static_cast<Work>(index))} +
            ": {fixed: 1ns, basis: measured, source: here}\n";
  return text;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = good_table();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto table = parse_cost_table(text, "t.yaml");
  return table ? "no error" : table.error().message;
}

// 1500 ps is "1.5", as the table in docs/costs.md writes nanoseconds; `digits` after the point.
std::string decimal(std::int64_t units, int digits) {
  std::string text = std::to_string(units);
  text.insert(0, static_cast<std::size_t>(std::max(0, digits + 1 - static_cast<int>(text.size()))),
              '0');
  text.insert(text.size() - static_cast<std::size_t>(digits), ".");
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string figure(const Cost& cost) {
  std::string text;
  const auto add = [&](std::int64_t units, int digits, const char* of) {
    if (units == 0) return;
    text += (text.empty() ? "" : " + ") + decimal(units, digits) + of;
  };
  add(cost.fixed_ps, 3, "");
  add(cost.per_item_ps, 3, " an item");
  add(cost.per_byte_fs, 6, " a byte");
  return text;
}

std::string read_document(const std::string& name) {
  std::ifstream file(std::string{TAPESTRY_SOURCE_ROOT} + "/docs/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("A charge is rounded half up to whole nanoseconds, once") {
  CostTable table = CostTable::zero();
  table.set(Work::copy, Cost{400, 350, 31'180});
  struct Row {
    std::int64_t items, bytes, nanos;
  };
  const Row rows[] = {{0, 0, 0},      // 0.400
                      {1, 0, 1},      // 0.750
                      {3, 0, 1},      // 1.450
                      {3, 1, 1},      // 1.481
                      {3, 2, 2},      // 1.512
                      {1, 1514, 48},  // 47.956
                      {64, 64, 25}};  // 24.795
  for (const Row& row : rows) {
    CAPTURE(row.items, row.bytes);
    CHECK(table.cost(Work::copy, row.items, row.bytes) == Nanos{row.nanos});
  }
  CHECK(table.cost(Work::copy) == Nanos{1});
}

TEST_CASE("Large amounts cost what they should, and saturate instead of wrapping") {
  CostTable table = CostTable::zero();
  table.set(Work::copy, Cost{kMaxFixedPs, kMaxPerItemPs, kMaxPerByteFs});
  const std::int64_t million = 1 << 20;
  const std::int64_t gigabyte = 1 << 30;
  const auto expected = [](std::int64_t items, std::int64_t bytes) {
    return Nanos{1'000'000'000 + items * 1'000'000 + bytes * 1'000};
  };
  CHECK(table.cost(Work::copy, million, gigabyte) == expected(million, gigabyte));
  CHECK(table.cost(Work::copy, million + 1, gigabyte) == expected(million + 1, gigabyte));
  CHECK(table.cost(Work::copy, million, gigabyte + 1) == expected(million, gigabyte + 1));
  CHECK(table.cost(Work::copy, INT64_MAX, INT64_MAX) == kForever);
}

TEST_CASE("The zero table takes time only for work that loops repeat") {
  for (const CostTable& table : {CostTable::zero(), shipped_cost_table("zero")}) {
    CHECK(table.name() == "zero");
    for (std::size_t index = 0; index < kWorkCount; ++index) {
      const Work work = static_cast<Work>(index);
      CAPTURE(work_name(work));
      CHECK(table.cost(work, 64, 65536) == Nanos{repeats_until_change(work) ? 1 : 0});
    }
  }
}

TEST_CASE("Every kind of work has its own name and is found by it") {
  std::set<std::string_view> names;
  for (std::size_t index = 0; index < kWorkCount; ++index) {
    const Work work = static_cast<Work>(index);
    CHECK(names.insert(work_name(work)).second);
    CHECK(work_from_name(work_name(work)) == work);
    CHECK_FALSE(std::string{kernel_symbol(work)}.empty());
    CHECK_FALSE(work_covers(work).empty());
  }
  CHECK_FALSE(work_from_name("packet_alloc"));
}

TEST_CASE("The reader keeps figures, basis, source and range exactly") {
  const auto table = parse_cost_table(
      with("  copy: {fixed: 1ns, basis: measured, source: here}",
           "  copy:\n    fixed: [0.5ns, 1.5us, 2ms]\n    per-item: 22.3ns\n"
           "    per-byte: [0.01ns, 0.03118ns, 73.3ps]\n    basis: estimated\n    source: 'a: b'"),
      "t.yaml");
  REQUIRE(table.ok());
  CHECK(table->name() == "little");
  const CostEntry& entry = table->entry(Work::copy);
  CHECK(entry.cost == Cost{1'500'000, 22'300, 31'180});
  CHECK(entry.basis == Basis::estimated);
  CHECK(entry.source == "a: b");
  REQUIRE(entry.range);
  CHECK(entry.range->low == Cost{500, 22'300, 10'000});
  CHECK(entry.range->high == Cost{2'000'000'000, 22'300, 73'300});
  CHECK_FALSE(table->entry(Work::syscall).range);
}

TEST_CASE("What a cost table may not say is refused where it stands") {
  const std::string entry = "  syscall: {fixed: 1ns, basis: measured, source: here}\n";
  struct Row {
    std::string text, error;
  };
  const Row rows[] = {
      {"", "t.yaml:1:1: error: a cost table is one YAML document"},
      {"- 1", "t.yaml:1:1: error: a cost table is a mapping with the keys name and costs"},
      {"name: a\n", "t.yaml:1:1: error: a cost table has costs"},
      {"name: a\ncosts: 3",
       "t.yaml:2:8: error: costs is a mapping from kinds of work to their cost"},
      {std::string(100'000, '['), "t.yaml:1:1: error: nested too deeply"},
      {with("  syscall:", "  ? [a]\n  :"),
       "t.yaml:3:5: error: a key is a word\n"
       "t.yaml:3:3: error: no cost for 'syscall'"},
      {"name: [a\n", "t.yaml:2:1: error: end of sequence flow not found"},
      {good_table() + "---\nname: b\n", "t.yaml:1:1: error: a cost table is one YAML document"},
      {with("name: little", "name: [x]"), "t.yaml:1:7: error: a cost table has a name"},
      {with("name: little\n", ""), "t.yaml:1:1: error: a cost table has a name"},
      {with("costs:", "cost:"),
       "t.yaml:2:1: error: unknown key 'cost'; did you mean 'costs'?\n"
       "t.yaml:1:1: error: a cost table has costs"},
      {with("name: little", "name: a\nname: b"), "t.yaml:2:1: error: 'name' stands here twice"},
      {with(entry, ""), "t.yaml:3:3: error: no cost for 'syscall'"},
      {with("  syscall:", "  sycall:"),
       "t.yaml:3:3: error: unknown work 'sycall'; did you mean 'syscall'?\n"
       "t.yaml:3:3: error: no cost for 'syscall'"},
      {with(entry, entry + entry), "t.yaml:4:3: error: 'syscall' stands here twice"},
      {with(entry, "  syscall: 1ns\n"),
       "t.yaml:3:3: error: 'syscall' needs its figures, basis and source"},
      {with("fixed: 1ns, ", ""),
       "t.yaml:3:3: error: 'syscall' has no figure: fixed, per-item or per-byte"},
      {with("basis: measured, ", ""), "t.yaml:3:3: error: 'syscall' does not say its basis"},
      {with(", source: here", ""), "t.yaml:3:3: error: 'syscall' does not say its source"},
      {with("source: here", "source: ''"), "t.yaml:3:50: error: 'syscall' does not say its source"},
      {with("measured", "mesured"),
       "t.yaml:3:32: error: unknown basis 'mesured'; did you mean 'measured'?"},
      {with("measured", "estimated"),
       "t.yaml:3:3: error: 'syscall' is estimated and needs a range: [low, figure, high]"},
      {with("fixed", "fixd"),
       "t.yaml:3:13: error: unknown key 'fixd'; did you mean 'fixed'?\n"
       "t.yaml:3:3: error: 'syscall' has no figure: fixed, per-item or per-byte"},
      {with("1ns", "{a: b}"), "t.yaml:3:20: error: fixed is a time, or [low, time, high]"},
      {with("1ns", "[1ns, 2ns]"), "t.yaml:3:20: error: fixed is a time, or [low, time, high]"},
      {with("1ns", "[3ns, 2ns, 4ns]"), "t.yaml:3:20: error: the range is not in ascending order"},
      {with("  spin: {fixed: 1ns", "  spin: {fixed: 0.999ns"),
       "error: 'spin' is repeated by loops and costs at least 1ns, fixed"}};
  for (const Row& row : rows) {
    CAPTURE(row.text.substr(0, 200));
    const std::string error = error_of(row.text);
    if (row.error.substr(0, 6) == "error:")
      CHECK(error.find(row.error) != std::string::npos);
    else
      CHECK(error == row.error);
  }
}

TEST_CASE("A quantity of time is exact, has a unit, and fits") {
  struct Row {
    std::string text, fault;
  };
  const std::string expected = "expected a time with its unit, as 175.8ns or 2us";
  const Row rows[] = {{"175", expected},
                      {"ns", expected},
                      {"1.ns", expected},
                      {".5ns", expected},
                      {"1.2.3ns", expected},
                      {"-1ns", expected},
                      {"1e3ns", expected},
                      {"1 ns", expected},
                      {"1sec", expected},
                      {"0.0001ns", "finer than a picosecond"},
                      {"0.5fs", "finer than a femtosecond"},
                      {"9999999999ms", "too long a time"},
                      {"1001ms", "too long a time"}};
  for (const Row& row : rows)
    CHECK(error_of(with("1ns", "'" + row.text + "'")) ==
          "t.yaml:3:20: error: fixed '" + row.text + "': " + row.fault);
  for (const char* good : {"0ns", "1ps", "0.001ns", "1000ms", "999999.999us"})
    CHECK(error_of(with("1ns", good)) == "no error");
}

TEST_CASE("A file that is not there is refused by name") {
  const auto table = load_cost_table("no/such/table.yaml");
  REQUIRE_FALSE(table.ok());
  CHECK(table.error().message == "no/such/table.yaml:1:1: error: cannot be read");
}

TEST_CASE("The shipped tables load under their own names") {
  for (const char* name : {"epyc-guest", "xeon-2018", "xeon-2014", "zero"})
    CHECK(shipped_cost_table(name).name() == name);
}

TEST_CASE("The times of the aggregates are those of their sources") {
  int points = 0;
  for (const char* list : {"closures", "predictions"})
    for (const Closure& closure : load_closures(list))
      for (const ClosurePoint& point : closure.points) {
        std::string source = closure.source;
        if (const std::size_t at = source.find("{}"); at != std::string::npos)
          source.replace(at, 2, std::to_string(point.count));
        CAPTURE(closure.name, source);
        CHECK(published_time_ps(source) == point.time_ps);
        ++points;
      }
  CHECK(points > 70);
}

TEST_CASE("docs/costs.md shows every entry and every aggregate as the files have them") {
  const std::string page = read_document("costs.md");
  const CostTable guest = shipped_cost_table("epyc-guest");
  const CostTable server = shipped_cost_table("xeon-2018");
  for (std::size_t index = 0; index < kWorkCount; ++index) {
    const Work work = static_cast<Work>(index);
    const CostEntry& entry = guest.entry(work);
    const std::string start = "\n| " + std::string{work_name(work)} + " | " + figure(entry.cost) +
                              " | " + std::string{basis_name(entry.basis)};
    CAPTURE(start);
    const std::size_t at = page.find(start);
    REQUIRE(at != std::string::npos);
    const std::string row = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    const std::string end = " | " + figure(server.entry(work).cost) + " |";
    CHECK(row.substr(row.size() - std::min(row.size(), end.size())) == end);
  }
  for (const char* list : {"closures", "predictions"})
    for (const Closure& closure : load_closures(list)) {
      CAPTURE(closure.name);
      CHECK(page.find("\n| " + closure.name) != std::string::npos);
    }
}
