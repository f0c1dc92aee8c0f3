// What each named kind of work costs.
//
// A cost is fixed + per item + per byte. The kinds of work are a disjoint split (sched/work.def):
// no kind contains another, so a path charges every kind it passes exactly once. Figures are loaded
// from YAML, never compiled in, and each says where it comes from (docs/costs.md).
//
// Integers only: picoseconds for fixed and per item, femtoseconds per byte. A charge is rounded
// half up to whole nanoseconds, because virtual time has no smaller unit: charge many items at once
// where the kernel does, and the fractions add up before they are rounded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/assert.hpp"
#include "core/result.hpp"
#include "core/time.hpp"

namespace tapestry::sched {

enum class Work : std::uint8_t {
#define TAPESTRY_WORK(identifier, name, symbol, covers) identifier,
#include "sched/work.def"
#undef TAPESTRY_WORK
  count_
};

inline constexpr std::size_t kWorkCount = static_cast<std::size_t>(Work::count_);

std::string_view work_name(Work work);    // the name in cost tables
const char* kernel_symbol(Work work);     // the Linux function behind it
std::string_view work_covers(Work work);  // one line: what is in it
std::optional<Work> work_from_name(std::string_view name);

// Work that a loop repeats until something changes. It costs at least 1 ns in every table, or such
// a loop would stay at one instant for ever.
bool repeats_until_change(Work work);

struct Cost {
  std::int64_t fixed_ps = 0;     // once per charge, 0 .. 1 s
  std::int64_t per_item_ps = 0;  // 0 .. 1 ms
  std::int64_t per_byte_fs = 0;  // 0 .. 1 us

  friend bool operator==(const Cost&, const Cost&) = default;
};

inline constexpr std::int64_t kMaxFixedPs = 1'000'000'000'000;
inline constexpr std::int64_t kMaxPerItemPs = 1'000'000'000;
inline constexpr std::int64_t kMaxPerByteFs = 1'000'000'000;

// How a figure came about. Estimated figures have a range; a result that hinges on one says so.
enum class Basis : std::uint8_t {
  measured,   // read off a micro-benchmark of exactly this work on the machine the table is named
              // after
  published,  // somebody else's figure for exactly this work
  derived,    // arithmetic on measured or published figures, shown in the source
  estimated,  // a judgement within a range
  fitted      // chosen so that a model meets data
};

std::string_view basis_name(Basis basis);

struct CostRange {
  Cost low;
  Cost high;
};

struct CostEntry {
  Cost cost;
  Basis basis = Basis::estimated;
  std::string source;
  std::optional<CostRange> range;
};

class CostTable {
 public:
  // Every kind of work at 0 ns, except work that repeats until something changes: 1 ns.
  static CostTable zero();

  const std::string& name() const { return name_; }
  const CostEntry& entry(Work work) const { return entries_[index_of(work)]; }

  // The time for `items` items of together `bytes` bytes; neither may be negative. Saturates at
  // kForever.
  core::Nanos cost(Work work, std::int64_t items = 1, std::int64_t bytes = 0) const {
    TAPESTRY_ASSERT(items >= 0 && bytes >= 0, "work comes in whole, non-negative amounts");
    const Rate& rate = rates_[index_of(work)];
    if (items <= kFastItems && bytes <= kFastBytes) [[likely]] {
      const std::int64_t total_fs =
          rate.fixed_fs + items * rate.per_item_fs + bytes * rate.per_byte_fs;
      return core::Nanos{(total_fs + kFemtosPerNano / 2) / kFemtosPerNano};
    }
    return wide_cost(rate, items, bytes);
  }

  // For loaders, calibrations and tests; a world takes its table as const. Asserts the bounds
  // above.
  void set(Work work, CostEntry entry);
  void set(Work work, Cost cost) {
    set(work, CostEntry{cost, Basis::derived, "set", std::nullopt});
  }
  void rename(std::string name) { name_ = std::move(name); }

 private:
  struct Rate {
    std::int64_t fixed_fs = 0;
    std::int64_t per_item_fs = 0;
    std::int64_t per_byte_fs = 0;
  };

  static constexpr std::int64_t kFemtosPerNano = 1'000'000;
  static constexpr std::int64_t kPicosPerNano = 1'000;
  // Below these, the sum of the largest permitted figures stays under 2^62 fs.
  static constexpr std::int64_t kFastItems = std::int64_t{1} << 20;
  static constexpr std::int64_t kFastBytes = std::int64_t{1} << 30;

  static std::size_t index_of(Work work) { return static_cast<std::size_t>(work); }
  static core::Nanos wide_cost(const Rate& rate, std::int64_t items, std::int64_t bytes);

  std::string name_ = "zero";
  std::array<Rate, kWorkCount> rates_{};
  std::array<CostEntry, kWorkCount> entries_{};
};

// The file format is described in docs/costs.md. The error names every fault of the text, one a
// line, as `file:line:col: error: text`; `file_name` appears there only. The name of the table is
// in the text.
core::Result<CostTable> parse_cost_table(const std::string& yaml_text,
                                         const std::string& file_name);
core::Result<CostTable> load_cost_table(const std::string& path);

}  // namespace tapestry::sched
