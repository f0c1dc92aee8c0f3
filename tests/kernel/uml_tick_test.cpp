// The tick of a UML guest: what it takes from a process that computes, when it comes, and when not.
//
// A guest of 100 Hz sleeps for a while after it has booted, then runs one task. Every cost that a
// tick has is a figure of its own, so that one left out or paid twice shows.
#include <catch2/catch.hpp>

#include <functional>

#include "kernel/uml.hpp"
#include "kernel/world.hpp"

namespace tapestry::tests::uml_tick_test {

using core::Nanos;
using sched::Work;

namespace {

constexpr std::int64_t kHardirq = 40, kTimerInterrupt = 7, kSend = 300, kWakeup = 370;
constexpr std::int64_t kSwitch = 1'200, kCall = 176, kDeliver = 1'985, kGuestInterrupt = 100;
constexpr std::int64_t kKill = 338, kProgram = 435, kStop = 6'800, kRegisters = 3'000;
constexpr std::int64_t kFloats = 3'600;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kBegin = 50 * kMillisecond;

// The host's timer interrupt, which sends a SIGALRM: on the host's account.
constexpr std::int64_t kStolen = kHardirq + kTimerInterrupt + kSend;
// The signal, the guest's timer interrupt, and the next tick programmed.
constexpr std::int64_t kTick = kDeliver + kGuestInterrupt + kTimerInterrupt + kCall + kProgram;
// Beside that, if a process is current: the SIGALRM that it gets.
constexpr std::int64_t kAlarm = kCall + kKill + kSend;
// Its stop for that.
constexpr std::int64_t kFullStop = kStop + kRegisters + kFloats;
// And if it runs, the switch to the guest's kernel and back.
constexpr std::int64_t kTracer = kWakeup + kSwitch + kCall + kSwitch;

sched::CostTable tick_costs() {
  sched::CostTable costs = sched::CostTable::zero();
  const std::pair<Work, std::int64_t> entries[] = {
      {Work::hardirq, kHardirq},           {Work::timer_interrupt, kTimerInterrupt},
      {Work::signal_send, kSend},          {Work::wakeup, kWakeup},
      {Work::context_switch, kSwitch},     {Work::syscall, kCall},
      {Work::signal_deliver, kDeliver},    {Work::guest_interrupt, kGuestInterrupt},
      {Work::signal_kill, kKill},          {Work::timer_program, kProgram},
      {Work::ptrace_stop, kStop},          {Work::ptrace_registers, kRegisters},
      {Work::ptrace_fp_registers, kFloats}};
  for (const auto& [work, cost_ns] : entries)
    costs.set(work, sched::Cost{.fixed_ps = cost_ns * 1000});
  return costs;
}

class Guest {
 public:
  explicit Guest(sched::SettleMode mode) : costs_(tick_costs()), world_({.settle_mode = mode}) {
    kernel::Machine& host =
        world_.add_machine({.name = "host", .era = *kernel::era_of("6.18")}, costs_);
    machine_ = &world_.add_machine({.name = "guest",
                                    .platform = kernel::PlatformKind::uml,
                                    .era = *kernel::era_of("6.1"),
                                    .hz = 100,
                                    .host = &host},
                                   costs_);
  }
  ~Guest() { world_.unwind(); }

  void run(bool kernel_thread, std::function<void()> task) {
    machine_->scheduler().spawn({.name = "task", .kernel_thread = kernel_thread}, [&, task] {
      machine_->scheduler().sleep_until(core::kStart + Nanos{kBegin});
      begun_ = now();
      stolen_before_ = stolen();
      task();
    });
    world_.run_until(core::kStart + std::chrono::seconds(1));
  }
  void compute(std::int64_t span_ns) { machine_->cpu().owe(Work::application, Nanos{span_ns}); }
  // Since the task began, when all is paid.
  std::int64_t now() {
    sched::Cpu& cpu = machine_->cpu();
    return core::nanos_since_start(cpu.now(cpu.settle())) - begun_;
  }
  std::int64_t stolen() { return machine_->uml()->stolen().count() - stolen_before_; }
  std::int64_t begun() const { return begun_; }
  kernel::Machine& machine() { return *machine_; }

 private:
  sched::CostTable costs_;
  kernel::World world_;
  kernel::Machine* machine_ = nullptr;
  std::int64_t begun_ = 0, stolen_before_ = 0;
};

const sched::SettleMode kModes[] = {sched::SettleMode::always, sched::SettleMode::seams,
                                    sched::SettleMode::random};

}  // namespace

TEST_CASE("a tick in the middle of a guest process's work stops the process with all registers") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::int64_t done = 0, stolen = 0;
    guest.run(false, [&] {
      guest.compute(15 * kMillisecond);
      done = guest.now();
      stolen = guest.stolen();
    });
    CHECK(done == 15 * kMillisecond + kStolen + kTracer + kTick + kAlarm + kFullStop);
    CHECK(done == 15'020'210);
    CHECK(stolen == kStolen);
  }
}

TEST_CASE("a process that computes before its first tick is not disturbed") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::int64_t done = 0, stolen = 0;
    guest.run(false, [&] {
      guest.compute(9 * kMillisecond);
      done = guest.now();
      stolen = guest.stolen();
    });
    CHECK(done == 9 * kMillisecond);
    CHECK(stolen == 0);
  }
}

TEST_CASE("every tick is paid, and they stay 10 ms apart whatever they cost") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::int64_t done = 0, stolen = 0;
    guest.run(false, [&] {
      for (int i = 0; i < 35; ++i)
        guest.compute(kMillisecond);
      done = guest.now();
      stolen = guest.stolen();
    });
    const std::int64_t tick = kStolen + kTracer + kTick + kAlarm + kFullStop;
    CHECK(done == 35 * kMillisecond + 3 * tick);
    CHECK(stolen == 3 * kStolen);
  }
}

TEST_CASE("a thread of the guest's kernel has no process to stop") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::int64_t done = 0, stolen = 0;
    guest.run(true, [&] {
      guest.compute(15 * kMillisecond);
      done = guest.now();
      stolen = guest.stolen();
    });
    CHECK(done == 15 * kMillisecond + kStolen + kTick);
    CHECK(stolen == kStolen);
  }
}

TEST_CASE("ticks during a system call stop its process once, when it goes on") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::int64_t in_kernel = 0, back = 0, done = 0;
    guest.run(false, [&] {
      guest.machine().system_call([&] {
        guest.compute(25 * kMillisecond);
        in_kernel = guest.now();
      });
      back = guest.now();
      guest.compute(kMillisecond);
      done = guest.now();
    });
    const std::int64_t ticks = 2 * (kStolen + kTick + kAlarm);
    CHECK(in_kernel == kFullStop + 25 * kMillisecond + ticks);
    CHECK(back == in_kernel);
    CHECK(done == back + kFullStop + kMillisecond);
  }
}

TEST_CASE("a stop that is due is paid before the next system call, too") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::int64_t back = 0, done = 0;
    guest.run(false, [&] {
      guest.machine().system_call([&] { guest.compute(15 * kMillisecond); });
      back = guest.now();
      guest.machine().system_call([] {});
      done = guest.now();
    });
    CHECK(done == back + 2 * kFullStop);
  }
}

TEST_CASE("an idle guest is not ticked, and pays for stopping and starting the tick") {
  for (const auto mode : kModes) {
    Guest guest(mode);
    std::uint64_t signals = 0;
    std::int64_t asleep = 0, woken = 0, stolen = 0;
    guest.run(true, [&] {
      const std::uint64_t before = guest.machine().uml()->signals_delivered();
      guest.machine().scheduler().sleep_until(core::kStart + Nanos{95 * kMillisecond});
      woken = guest.begun() + guest.now();
      signals = guest.machine().uml()->signals_delivered() - before;
      stolen = guest.stolen();
      guest.machine().scheduler().sleep_until(core::kStart + Nanos{99 * kMillisecond});
      asleep = guest.begun() + guest.now();
    });
    CHECK(signals == 1);  // of the sleep's own timer
    // The host's interrupt, wake-up and switch, and the last of the three calls around a sleep; the
    // signal, the guest's interrupt and wake-up; the host's timer off and, for the tick, on again;
    // the guest's switch.
    const std::int64_t on_host = kStolen + kWakeup + kSwitch;
    const std::int64_t in_guest = kDeliver + kGuestInterrupt + kTimerInterrupt + kWakeup;
    const std::int64_t timer = kProgram + kCall + kProgram;
    CHECK(woken == 95 * kMillisecond + on_host + in_guest + timer + kSwitch);
    CHECK(asleep - 99 * kMillisecond == woken - 95 * kMillisecond);
    CHECK(stolen == kWakeup);  // it was due when the host began to wake it
  }
}

}  // namespace tapestry::tests::uml_tick_test
