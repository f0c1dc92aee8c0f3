// What binds a run: the CPU, or the direction of a link, that had no time left for more.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/builder/run_world.hpp"
#include "core/time.hpp"

namespace tapestry::app {

// Busy from this share of the run on, a resource binds.
inline constexpr double kBindsPercent = 90;

struct BusyResource {
  std::string name;    // "host CPU 1", "link wire from host.eth0"
  double percent = 0;  // of the run
  bool binds() const { return percent >= kBindsPercent; }
};

// How long each resource has been busy since the world began, in a fixed order: the CPUs of
// machines that are not nested (a nested one's are threads of these), then each card's direction of
// its link.
class BusyTimes {
 public:
  static BusyTimes read(RunWorld& run);
  // The busiest of all between two readings; of equal ones the first. Nothing if no time passed.
  static std::optional<BusyResource> busiest(const BusyTimes& before, const BusyTimes& after,
                                             core::Nanos elapsed);

 private:
  struct Entry {
    std::string name;
    core::Nanos busy{0};
  };
  std::vector<Entry> entries_;
};

}  // namespace tapestry::app
