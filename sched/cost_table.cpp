// Names of the kinds of work, and the table itself; the file format is in cost_table_file.cpp.
#include "sched/cost_table.hpp"

namespace tapestry::sched {

namespace {

struct WorkWords {
  std::string_view name;
  const char* symbol;
  std::string_view covers;
};

constexpr std::array<WorkWords, kWorkCount> kWords{{
#define TAPESTRY_WORK(identifier, name, symbol, covers) {name, symbol, covers},
#include "sched/work.def"
#undef TAPESTRY_WORK
}};

const WorkWords& words(Work work) {
  const auto index = static_cast<std::size_t>(work);
  TAPESTRY_ASSERT(index < kWorkCount, "a kind of work is one of the list");
  return kWords[index];
}

bool within(std::int64_t value, std::int64_t most) { return value >= 0 && value <= most; }

bool within_bounds(const Cost& cost) {
  return within(cost.fixed_ps, kMaxFixedPs) && within(cost.per_item_ps, kMaxPerItemPs) &&
         within(cost.per_byte_fs, kMaxPerByteFs);
}

}  // namespace

std::string_view work_name(Work work) { return words(work).name; }
const char* kernel_symbol(Work work) { return words(work).symbol; }
std::string_view work_covers(Work work) { return words(work).covers; }

std::optional<Work> work_from_name(std::string_view name) {
  for (std::size_t index = 0; index < kWorkCount; ++index)
    if (kWords[index].name == name) return static_cast<Work>(index);
  return std::nullopt;
}

bool repeats_until_change(Work work) {
  return work == Work::spin || work == Work::napi_poll || work == Work::softirq ||
         work == Work::epoll_wait || work == Work::clock_read;
}

std::string_view basis_name(Basis basis) {
  switch (basis) {
    case Basis::measured:
      return "measured";
    case Basis::published:
      return "published";
    case Basis::derived:
      return "derived";
    case Basis::estimated:
      return "estimated";
    case Basis::fitted:
      return "fitted";
  }
  TAPESTRY_ASSERT(false, "every basis has a name");
}

CostTable CostTable::zero() {
  CostTable table;
  for (std::size_t index = 0; index < kWorkCount; ++index) {
    const Work work = static_cast<Work>(index);
    const std::int64_t fixed_ps = repeats_until_change(work) ? kPicosPerNano : 0;
    table.set(work, CostEntry{{fixed_ps, 0, 0}, Basis::derived, "by definition", std::nullopt});
  }
  return table;
}

void CostTable::set(Work work, CostEntry entry) {
  TAPESTRY_ASSERT(within_bounds(entry.cost), "a cost is within its bounds");
  TAPESTRY_ASSERT(!repeats_until_change(work) || entry.cost.fixed_ps >= kPicosPerNano,
                  "work that a loop repeats costs at least 1 ns");
  const std::size_t index = index_of(work);
  constexpr std::int64_t kFemtosPerPico = 1000;
  rates_[index] = Rate{entry.cost.fixed_ps * kFemtosPerPico,
                       entry.cost.per_item_ps * kFemtosPerPico, entry.cost.per_byte_fs};
  entries_[index] = std::move(entry);
}

core::Nanos CostTable::wide_cost(const Rate& rate, std::int64_t items, std::int64_t bytes) {
  __extension__ using SignedWide = __int128;
  const SignedWide total_fs = SignedWide{rate.fixed_fs} + SignedWide{items} * rate.per_item_fs +
                              SignedWide{bytes} * rate.per_byte_fs + kFemtosPerNano / 2;
  const SignedWide total_ns = total_fs / kFemtosPerNano;
  if (total_ns >= core::kForever.count()) return core::kForever;
  return core::Nanos{static_cast<std::int64_t>(total_ns)};
}

}  // namespace tapestry::sched
