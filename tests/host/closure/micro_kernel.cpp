// Calls, wake-ups, interrupts and signals. What a descriptor is to a process is made here, a number
// that somebody waits for; the calls, the scheduler and the interrupts around it are the real ones.
#include "kernel/uml.hpp"
#include "tests/host/closure/micro_scenarios.hpp"
#include "tests/host/closure/micro_world.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::closure {

using sched::Work;

std::int64_t system_call(const MicroRun& run) {
  MicroWorld micro(run.costs, run.mode, 1);
  return micro.time([&](Stopwatch& watch) {
    watch.start();
    micro.machine().system_call([] {});
    watch.stop();
  });
}

std::int64_t device_write(const MicroRun& run) {
  MicroWorld micro(run.costs, run.mode, 1);
  return micro.time([&](Stopwatch& watch) {
    watch.start();
    micro.machine().system_call([&] { micro.machine().cpu().charge(Work::device_file); });
    watch.stop();
  });
}

namespace {

// An eventfd, a pipe or a semaphore on a futex: what differs is the work of a call.
class Descriptor {
 public:
  Descriptor(kernel::Machine& machine, Work work) : machine_(machine), work_(work) {}

  void write() {
    machine_.system_call([&] {
      machine_.cpu().charge(work_);
      machine_.cpu().settle();
      ++value_;
      waits_.wake_one(machine_.cpu());
    });
  }
  void read() {
    machine_.system_call([&] {
      machine_.cpu().charge(work_);
      waits_.wait(machine_.scheduler(), [&] { return value_ > 0; });
      --value_;
    });
  }

 private:
  kernel::Machine& machine_;
  Work work_;
  int value_ = 0;
  sched::WaitQueue waits_{"a descriptor"};
};

}  // namespace

// A round trip: arguments are the kind of descriptor, and whether the other thread is on the same
// CPU or on another.
std::int64_t ping_pong(const MicroRun& run) {
  const bool other = run.arguments.at(1) == "other-cpu";
  MicroWorld micro(run.costs, run.mode, 2);
  const Work work = sched::work_from_name(run.arguments.at(0)).value();
  Descriptor there(micro.machine(), work), back(micro.machine(), work);
  micro.machine().scheduler().spawn({.name = "partner", .affinity = other ? 2u : 1u}, [&] {
    for (;;) {
      there.read();
      back.write();
    }
  });
  return micro.time([&](Stopwatch& watch) {
    watch.start();
    there.write();
    back.read();
    watch.stop();
  });
}

namespace {

constexpr core::Nanos kComputing{20'000};

// Something that comes while a process computes: the time that it computed for is left out.
void compute_through(kernel::Machine& machine, Stopwatch& watch) {
  watch.start();
  machine.cpu().owe(Work::application, kComputing);
  watch.stop();
  watch.leave_out(kComputing);
}

}  // namespace

// The handler of a NIC: masks its line and raises a softirq.
std::int64_t device_interrupt(const MicroRun& run) {
  MicroWorld micro(run.costs, run.mode, 1);
  kernel::Machine& machine = micro.machine();
  SoftirqFunction nothing([](sched::Cpu&) {});
  machine.softirqs().set_handler(irq::Vector::hi, nothing);
  irq::IrqLine* line = nullptr;
  Handler handler([&] {
    line->mask();
    machine.softirqs().raise(irq::Vector::hi);
  });
  line = &machine.interrupts().add_line("card", irq::Trigger::edge, handler);
  core::Timeline& timeline = micro.world().timeline();
  const core::ActorId card = timeline.add_actor("card", core::Phase::device);
  return micro.time([&](Stopwatch& watch) {
    const auto pull = [](void* of, std::uint64_t) { static_cast<irq::IrqLine*>(of)->raise(); };
    timeline.events().push(timeline.now() + kComputing / 2, card, pull, line, 0);
    compute_through(machine, watch);
    line->unmask();
  });
}

std::int64_t timer_interrupt(const MicroRun& run) {
  MicroWorld micro(run.costs, run.mode, 1);
  kernel::Machine& machine = micro.machine();
  sched::Timer timer([](void*, std::uint64_t) {}, nullptr);
  return micro.time([&](Stopwatch& watch) {
    timer.arm(machine.cpu(), workloads::present(machine) + kComputing / 2);
    compute_through(machine, watch);
  });
}

// The guest's kernel makes a descriptor of its own readable: one call to the host, SIGIO, the epoll
// set read until it is empty, one handler.
std::int64_t guest_signal(const MicroRun& run) {
  MicroWorld micro(run.costs, run.mode, 1);
  kernel::Machine& guest = micro.add_guest();
  Handler handler([] {});
  irq::IrqLine& line = guest.interrupts().add_line("device", irq::Trigger::edge, handler);
  return micro.time(guest, true, [&](Stopwatch& watch) {
    watch.start();
    guest.uml()->host_call([&] { line.raise(); });
    watch.stop();
  });
}

// A read of /dev/zero and a write to /dev/null.
std::int64_t guest_read_and_write(const MicroRun& run) {
  MicroWorld micro(run.costs, run.mode, 1);
  kernel::Machine& guest = micro.add_guest();
  const std::size_t bytes = std::stoul(run.arguments.at(0));
  return micro.time(guest, false, [&](Stopwatch& watch) {
    watch.start();
    guest.system_call([&] {
      guest.cpu().charge(Work::device_file);
      guest.charge_copy(bytes);
    });
    guest.system_call([&] { guest.cpu().charge(Work::device_file); });
    watch.stop();
  });
}

}  // namespace tapestry::tests::closure
