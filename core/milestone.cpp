#include "core/milestone.hpp"

#include <array>
#include <cstddef>

namespace tapestry::core {

std::string_view name_of(Milestone milestone) {
  static constexpr std::array<std::string_view, kMilestones> kNames{
      "socket-sent",    "qdisc-enqueued", "driver-transmit", "host-copied",    "wire-out",
      "ring-filled",    "ring-queued",    "napi-received",   "backlog-queued", "stack-received",
      "bridge-forward", "merged",         "segmented",       "cloned",         "socket-queued",
      "delivered",      "consumed",       "dropped"};
  return kNames[static_cast<std::size_t>(milestone)];
}

}  // namespace tapestry::core
