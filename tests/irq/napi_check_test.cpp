// The NAPI contract as a watcher: a driver for each way to break it, and one that keeps it.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "irq/napi_check.hpp"
#include "tests/irq/test_nic.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::napi_check_test {
namespace {

using irq::NapiRule;

// A driver as its poll is; the ring is a number of frames.
class Suspect final : public irq::NapiPoller, public irq::InterruptHandler {
 public:
  using Poll = std::function<int(Suspect&, int budget)>;

  Suspect(World& world, TestMachine& machine, Poll poll)
      : line(machine.interrupts.add_line("eth0", irq::Trigger::edge, *this)),
        napi(machine.napi, "eth0", *this),
        poll_(std::move(poll)),
        core_(machine.napi) {
    core_.set_check(&check);
    napi.set_irq(line);
    napi.enable();
    world.at(1000, [this] { frames_arrive(3); });
  }

  void frames_arrive(int count) {
    frames += count;
    line.raise();
  }
  void interrupt() override {
    line.mask();
    napi.schedule();
  }
  int poll(int budget) override {
    ++polls;
    return poll_(*this, budget);
  }
  bool frames_wait() const override { return frames > 0; }
  int take(int most) {
    const int taken = std::min(frames, most);
    frames -= taken;
    return taken;
  }

  // "rule in step at ns", by "; "
  std::string verdict() {
    core_.check_quiet();
    std::string text;
    for (const irq::NapiViolation& one : check.violations())
      text += (text.empty() ? "" : "; ") + std::string(irq::rule_text(one.rule)) + " in " +
              std::string(one.step) + " at " + std::to_string(core::nanos_since_start(one.first));
    return text;
  }

  irq::NapiCheck check;
  irq::IrqLine& line;
  irq::Napi napi;
  int frames = 0;
  int polls = 0;

 private:
  Poll poll_;
  irq::NapiCore& core_;
};

int well_behaved(Suspect& driver, int budget) {
  const int work = driver.take(budget);
  if (work < budget && driver.napi.complete_done(work)) driver.line.unmask();
  return work;
}

std::string verdict_on(const Suspect::Poll& poll,
                       const std::function<void(World&, TestMachine&, Suspect&)>& more = {}) {
  std::string verdict;
  for (const sched::SettleMode mode : kSettleModes) {
    World world(mode, sched::CostTable::zero());
    TestMachine& machine = world.add_machine();
    auto& driver = world.make<Suspect>(world, machine, poll);
    if (more) more(world, machine, driver);
    world.run();
    if (mode != kSettleModes[0]) CHECK(driver.verdict() == verdict);
    verdict = driver.verdict();
  }
  return verdict;
}

TEST_CASE("A driver that keeps the NAPI contract is found to keep it") {
  CHECK(verdict_on(well_behaved) == "");
}

TEST_CASE("A poll that used its whole budget and completes is found") {
  const auto poll = [](Suspect& driver, int budget) {
    const int work = driver.take(budget);
    if (driver.napi.complete_done(work)) driver.line.unmask();
    return work;
  };
  CHECK(verdict_on(poll, [](World& world, TestMachine&, Suspect& driver) {
          world.at(2000, [&driver] { driver.frames_arrive(64); });
        }) == "completes although the whole budget was used in poll at 2002");
}

TEST_CASE("A poll that receives with budget 0 is found") {
  const auto poll = [](Suspect& driver, int budget) {
    return budget == 0 ? driver.take(1) : well_behaved(driver, budget);
  };
  CHECK(verdict_on(poll, [](World& world, TestMachine& machine, Suspect& driver) {
          world.at(2000, [&] {
            driver.frames += 1;
            machine.spawn("netconsole", [&] { machine.napi.netpoll(driver.napi); });
          });
        }) == "receives with budget 0 in netpoll at 2001");
}

TEST_CASE("Unmasking before the completion, or after one that was refused, is found") {
  const auto before = [](Suspect& driver, int budget) {
    driver.line.unmask();
    return well_behaved(driver, budget);
  };
  CHECK(verdict_on(before) == "unmasks without a successful completion in unmask at 1002");
  const auto refused = [](Suspect& driver, int budget) {
    if (driver.polls == 1) driver.napi.schedule();  // an interrupt came in between: MISSED
    const int work = driver.take(budget);
    (void)driver.napi.complete_done(work);
    driver.line.unmask();
    return work;
  };
  CHECK(verdict_on(refused) == "unmasks without a successful completion in unmask at 1002");
}

TEST_CASE("Whoever completes twice is found: the second time it has no longer been the owner") {
  const auto poll = [](Suspect& driver, int budget) {
    const int work = well_behaved(driver, budget);
    CHECK_FALSE(driver.napi.complete_done(work));
    return work;
  };
  CHECK(verdict_on(poll) == "completes what it does not own in napi_complete_done at 1002");
}

TEST_CASE("A poll that leaves budget unused without completing is found") {
  CHECK(verdict_on([](Suspect& driver, int budget) { return driver.take(budget); }) ==
        "leaves budget unused and does not complete in poll at 1002");
}

TEST_CASE("A line that nobody will unmask is found when nothing is left to happen") {
  const auto poll = [](Suspect& driver, int budget) {
    const int work = driver.take(budget);
    (void)driver.napi.complete_done(work);
    return work;
  };
  CHECK(verdict_on(poll) == "leaves its line masked for good in at rest at 1002");
}

TEST_CASE("A frame that came before the unmasking and was not looked for again is found") {
  const auto poll = [](Suspect& driver, int budget) {
    const int work = driver.take(budget);
    if (driver.napi.complete_done(work)) {
      driver.frames += 1;  // the card suppressed its interrupt: the driver was still polling
      driver.line.unmask();
    }
    return work;
  };
  CHECK(verdict_on(poll) == "loses a wake-up: frames wait behind an idle line in at rest at 1002");
}

}  // namespace
}  // namespace tapestry::tests::napi_check_test
