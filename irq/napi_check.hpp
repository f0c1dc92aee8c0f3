// The NAPI contract as a watcher: told by instances, lines and NET_RX of every step that breaks it.
// Without one such a step is an assertion, or goes unnoticed; with one the run goes on as a real
// kernel would. It costs nothing and changes no result of a driver that keeps the contract.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.hpp"

namespace tapestry::irq {

enum class NapiRule : std::uint8_t {
  full_budget_completes,  // a poll used its whole budget and has let go all the same
  budget_zero_receives,   // netpoll's poll received
  early_unmask,           // the line was unmasked without a completion that succeeded
  not_the_owner,          // completed by who does not own it
  stalls,                 // a poll left budget unused and did not complete: nobody polls again
  line_stays_masked,      // nothing is left to happen, and nobody will unmask the line
  lost_wakeup,            // frames wait behind an unmasked line that nothing will raise
  count_
};
std::string_view rule_text(NapiRule rule);

struct NapiViolation {
  NapiRule rule{};
  std::string instance;   // the machine's and the NAPI instance's name: "server.eth0"
  std::string_view step;  // in which call: "poll", "unmask", ...
  core::Instant first{};  // when it happened first
  std::uint64_t times = 0;
};

class NapiCheck {
 public:
  // One entry for each rule and instance: later ones are counted.
  void report(NapiRule rule, std::string instance, std::string_view step, core::Instant at);
  const std::vector<NapiViolation>& violations() const { return violations_; }

 private:
  std::vector<NapiViolation> violations_;
};

}  // namespace tapestry::irq
