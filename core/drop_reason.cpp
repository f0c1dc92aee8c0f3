#include "core/drop_reason.hpp"

#include <array>

namespace tapestry::core {

namespace {

#define TAPESTRY_KERNEL_NAME(enumerator, name) "SKB_DROP_REASON_" #name,
#define TAPESTRY_OWN_NAME(enumerator, name) "TAPESTRY_DROP_REASON_" #name,
constexpr std::array<std::string_view, kDropReasons> kNames{
    TAPESTRY_DROP_REASONS(TAPESTRY_KERNEL_NAME, TAPESTRY_OWN_NAME)};
#undef TAPESTRY_KERNEL_NAME
#undef TAPESTRY_OWN_NAME

constexpr std::string_view kPrefixEnd = "_DROP_REASON_";

}  // namespace

std::string_view name_of(DropReason reason) { return kNames[static_cast<std::size_t>(reason)]; }

std::optional<DropReason> drop_reason_of(std::string_view name) {
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    const std::string_view full = kNames[i];
    const std::string_view bare = full.substr(full.find(kPrefixEnd) + kPrefixEnd.size());
    if (name == full || name == bare) return static_cast<DropReason>(i);
  }
  return std::nullopt;
}

}  // namespace tapestry::core
