#include "irq/napi_check.hpp"

#include <array>
#include <utility>

namespace tapestry::irq {

std::string_view rule_text(NapiRule rule) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(NapiRule::count_)> kTexts{
      "completes although the whole budget was used",    "receives with budget 0",
      "unmasks without a successful completion",         "completes what it does not own",
      "leaves budget unused and does not complete",      "leaves its line masked for good",
      "loses a wake-up: frames wait behind an idle line"};
  return kTexts[static_cast<std::size_t>(rule)];
}

void NapiCheck::report(NapiRule rule, std::string instance, std::string_view step,
                       core::Instant at) {
  for (NapiViolation& known : violations_) {
    if (known.rule != rule || known.instance != instance) continue;
    ++known.times;
    return;
  }
  violations_.push_back({rule, std::move(instance), step, at, 1});
}

}  // namespace tapestry::irq
