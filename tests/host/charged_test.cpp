#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "host/charged/doorbell.hpp"
#include "host/charged/packet_io.hpp"
#include "host/sim/tap.hpp"
#include "kernel/world.hpp"
#include "tests/support/fake_port.hpp"
#include "tests/support/frames.hpp"
#include "tests/support/world.hpp"

namespace tapestry::tests::charged_test {

using host::IoStatus;

namespace {

sched::CostTable costs() {
  sched::CostTable table = sched::CostTable::zero();
  table.set(sched::Work::syscall, sched::Cost{.fixed_ps = 200'000});
  table.set(sched::Work::doorbell, sched::Cost{.fixed_ps = 70'000});
  table.set(sched::Work::tap_write, sched::Cost{.per_item_ps = 700'000});
  table.set(sched::Work::tap_read, sched::Cost{.per_item_ps = 400'000});
  return table;
}

class Register final : public host::Doorbell {
 public:
  explicit Register(World& world) : world_(world) {}
  void ring(std::uint32_t value) override {
    world_.timeline.require_settled("a register");
    world_.story.log("nic", "doorbell " + std::to_string(value));
  }

 private:
  World& world_;
};

core::PacketBatch one_frame(core::PacketPool& packets, std::uint32_t number) {
  core::PacketBatch batch(1);
  batch.push_back(make_frame(packets, number, 60, kGuestMac, kPeerMac));
  return batch;
}

}  // namespace

TEST_CASE("a doorbell is paid for, and what was owed before, before it rings") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  World world(mode, costs());
  TestMachine& machine = world.add_machine();
  Register inner(world);
  host::charged::Doorbell doorbell(inner, machine.scheduler);
  machine.scheduler.spawn({.name = "driver", .kernel_thread = true}, [&] {
    World::owe(machine.cpu(), 30);
    doorbell.ring(4);
    doorbell.ring(4);
    doorbell.ring(7);
  });
  world.run();
  CHECK_THAT(world.story, Tells(R"(
       100 nic doorbell 4
       170 nic doorbell 4
       240 nic doorbell 7
  )"));
  CHECK(doorbell.rings() == 3);
}

TEST_CASE("a driver of the host's own pays no system call, and its port counts") {
  World world(sched::SettleMode::seams, costs());
  TestMachine& machine = world.add_machine();
  FakePort inner(world.timeline, {.multi_send = true, .multi_receive = true});
  host::charged::PacketIo port(inner, machine.scheduler, machine.scheduler);
  std::int64_t ended_ns = -1;
  machine.scheduler.spawn({.name = "driver", .kernel_thread = true}, [&] {
    core::PacketBatch batch(8);
    for (std::uint32_t number = 1; number <= 8; ++number)
      batch.push_back(make_frame(world.packets, number, 100));
    inner.accept_at_most(5);
    inner.refuse_sends(IoStatus::would_block);
    inner.refuse_sends(IoStatus::no_buffers);
    inner.refuse_sends(IoStatus::failed);
    CHECK(port.send(batch, 8).count == 5);
    CHECK(port.send(batch, 8).status == IoStatus::would_block);
    CHECK(port.send(batch, 8).status == IoStatus::no_buffers);
    CHECK(port.send(batch, 8).status == IoStatus::failed);
    batch.take_prefix(8, [](core::PacketPtr packet) { core::consume(std::move(packet)); });

    inner.arrive(make_frame(world.packets, 9, 300));
    std::vector<host::ReceiveSlot> slots(2);
    slots[0] = {.packet = world.packets.allocate(core::Origin::host_copy), .capacity = 100};
    CHECK(port.receive(slots).count == 1);
    CHECK(port.receive(slots).status == IoStatus::would_block);
    core::deliver(std::move(slots[0].packet));
    ended_ns = world.now_ns();
  });
  world.run();
  CHECK(ended_ns == 0);
  const host::charged::PortFigures& figures = port.figures();
  CHECK(figures.calls() == 6);
  CHECK(figures.send_calls == 4);
  CHECK(figures.send_frames == 5);
  CHECK(figures.send_bytes == 500);
  CHECK(figures.partial_sends == 1);
  CHECK(figures.send_would_block == 1);
  CHECK(figures.send_no_buffers == 1);
  CHECK(figures.send_failed == 1);
  CHECK(figures.receive_frames == 1);
  CHECK(figures.receive_bytes == 100);
  CHECK(figures.empty_receives == 1);
  CHECK(figures.truncated_frames == 1);
}

TEST_CASE("a guest's call is a system call of its host thread: the host works, the guest waits") {
  const sched::CostTable table = costs();
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  kernel::World world({.settle_mode = mode});
  const kernel::Era era = *kernel::era_of("6.1");
  kernel::Machine& host = world.add_machine({.name = "host", .era = era}, table);
  kernel::Machine& guest = world.add_machine(
      {.name = "guest", .platform = kernel::PlatformKind::uml, .era = era, .host = &host}, table);
  net::Device& device = host.stack().add_device({.name = "tap0", .mac = net::MacAddress::local(1)});
  host::sim::Tap tap(device, {});
  device.set_receive_handler([](core::PacketPtr packet) {
    core::deliver(std::move(packet));
    return core::PacketPtr();
  });
  auto descriptor = tap.open_reader(false);
  host::charged::PacketIo port(*descriptor, guest.scheduler(), host.scheduler());
  host.scheduler().spawn({.name = "ip link set up", .kernel_thread = true}, [&] { device.open(); });
  std::vector<std::int64_t> took_ns;
  const auto measure = [&](auto call) {
    guest.cpu().settle();
    const core::Instant before = world.timeline().now();
    call();
    took_ns.push_back((world.timeline().now() - before).count());
  };
  guest.scheduler().spawn({.name = "driver", .kernel_thread = true}, [&] {
    guest.scheduler().sleep_until(core::kStart + core::Nanos{1'000'000});
    core::PacketBatch batch = one_frame(world.packets(), 1);
    measure([&] { CHECK(port.send(batch, 1).status == IoStatus::ok); });
    core::consume(batch.take_front());
    std::vector<host::ReceiveSlot> slots(1);
    measure([&] { CHECK(port.receive(slots).status == IoStatus::would_block); });
  });
  world.run_until(core::kStart + core::Nanos{2'000'000});
  CHECK(took_ns == std::vector<std::int64_t>{200 + 700, 200});
  CHECK(host.usage().of(sched::Work::tap_write) == core::Nanos{700});
  CHECK(guest.usage().of(sched::Work::syscall) == core::Nanos{0});
  CHECK(guest.usage().of(sched::Work::tap_write) == core::Nanos{0});
  world.unwind();
}

}  // namespace tapestry::tests::charged_test
