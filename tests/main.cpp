// The one main() of the test program; every other file under tests/ only adds test cases to it.
//
// The program closes with one plain line of counts, which is what ./test adds up. Catch2 v2 has no
// notion of a skipped test case: TAPESTRY_SKIP (tests/support/skip.hpp) says so in an assertion,
// and the listener below counts it apart from the passed ones.

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "tests/support/skip.hpp"

namespace {

using tapestry::tests::kSkipped;

class ClosingLine : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override { skip_reason_.clear(); }

  bool assertionEnded(const Catch::AssertionStats& stats) override {
    for (const Catch::MessageInfo& info : stats.infoMessages) {
      if (info.message.rfind(kSkipped, 0) == 0) skip_reason_ = info.message;
    }
    return false;
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (skip_reason_.empty() || stats.totals.testCases.failed > 0) return;
    skips_.push_back(skip_reason_ + ": " + stats.testInfo.name);
  }

  void testRunEnded(const Catch::TestRunStats& stats) override {
    const Catch::Counts& cases = stats.totals.testCases;
    counts_ = std::to_string(cases.passed + cases.failedButOk - skips_.size()) + " passed, " +
              std::to_string(cases.failed) + " failed";
    if (!skips_.empty()) counts_ += ", " + std::to_string(skips_.size()) + " skipped";
  }

  // Printed when the listener goes, so that it stands below the reporter's own summary.
  ~ClosingLine() override {
    if (counts_.empty()) return;
    for (const std::string& skip : skips_)
      std::cout << skip << '\n';
    std::cout << counts_ << std::endl;
  }

 private:
  std::string skip_reason_;
  std::vector<std::string> skips_;
  std::string counts_;
};

CATCH_REGISTER_LISTENER(ClosingLine)

}  // namespace
