#include "app/results/binding.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tapestry::app {

namespace {

// The slots that frames took on the wire; short ones take a little more than is counted here.
core::Nanos slots(const host::sim::Link& link, host::sim::Link::End from) {
  const host::sim::Link::Figures& figures = link.figures(from);
  const std::uint64_t bits =
      (figures.bytes + figures.frames * host::sim::Link::kSlotExtraBytes) * 8;
  const std::uint64_t rate = link.options().rate_bps;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  // In two steps, since bits times a second may not fit.
  return core::Nanos{static_cast<std::int64_t>(bits / rate * kSecond +
                                               bits % rate * (kSecond / 1000) / rate * 1000)};
}

}  // namespace

BusyTimes BusyTimes::read(RunWorld& run) {
  BusyTimes times;
  for (kernel::Machine* machine : run.machines()) {
    if (machine->host() != nullptr) continue;
    sched::Scheduler& scheduler = machine->scheduler();
    for (std::size_t cpu = 0; cpu < scheduler.cpus(); ++cpu)
      times.entries_.push_back(
          {fmt::format("{} CPU {}", machine->name(), cpu), scheduler.cpu(cpu).usage().busy()});
  }
  // A link's ends are its cards, in the order in which they stand in the scenario.
  std::vector<std::size_t> cards(run.scenario().links.size(), 0);
  for (const Device& device : run.scenario().devices) {
    const auto* const card = std::get_if<NicDevice>(&device.kind);
    if (card == nullptr) continue;
    const std::size_t number = card->link.index;
    const auto end = cards[number]++ == 0 ? host::sim::Link::End::a : host::sim::Link::End::b;
    times.entries_.push_back(
        {fmt::format("link {} from {}", run.scenario().links[number].name, device.name),
         slots(run.hardware().links()[number], end)});
  }
  return times;
}

std::optional<BusyResource> BusyTimes::busiest(const BusyTimes& before, const BusyTimes& after,
                                               core::Nanos elapsed) {
  if (elapsed <= core::Nanos{0} || after.entries_.empty()) return std::nullopt;
  std::size_t most = 0;
  core::Nanos longest{-1};
  for (std::size_t i = 0; i < after.entries_.size(); ++i) {
    const core::Nanos busy = after.entries_[i].busy - before.entries_[i].busy;
    if (busy <= longest) continue;
    longest = busy;
    most = i;
  }
  // What a run leaves to be done behind its end is in the readings, and no share of it.
  const double percent = std::min(
      100.0, static_cast<double>(longest.count()) * 100.0 / static_cast<double>(elapsed.count()));
  return BusyResource{after.entries_[most].name, percent};
}

}  // namespace tapestry::app
