// A tap, packet sockets and a virtual link of one machine, from a process that has them open.
#include <optional>

#include "host/sim/packet_socket.hpp"
#include "host/sim/tap.hpp"
#include "host/sim/veth.hpp"
#include "tests/host/closure/micro_scenarios.hpp"
#include "tests/host/closure/micro_world.hpp"
#include "tests/support/frames.hpp"

namespace tapestry::tests::closure {

namespace {

// Who the frames are for: not this host, which drops IPv4 at the door, and has no use for others.
enum class Frames : std::uint8_t { ipv4_for_another, unknown };

class Ports {
 public:
  Ports(const MicroRun& run, Frames frames)
      : micro(run.costs, run.mode, 1),
        count(static_cast<std::size_t>(run.count)),
        device(add("tap0", 11)),
        left(add("ve0", 12)),
        right(add("ve1", 13)),
        tap(device, {}),
        veth(left, right),
        bytes_(std::stoul(run.arguments.at(0))),
        frames_(frames) {}
  ~Ports() {
    while (!batch_.empty())
      core::consume(batch_.take_front());
  }

  std::int64_t time(const std::function<void(Stopwatch&)>& operation) {
    return micro.time(operation, [this] {
      machine().system_call([this] {
        for (net::Device* each : {&device, &left, &right})
          each->open();
        descriptor = tap.open_reader(true);
        machine().cpu().settle();
        on_tap.emplace(device, host::sim::PacketSocketOptions{.ignored_source = kNobody,
                                                              .receive_buffer_bytes = kLarge});
        on_veth.emplace(left, host::sim::PacketSocketOptions{});
        machine().cpu().settle();
      });
      for (std::size_t i = 0; i < count; ++i)
        batch_.push_back(frame(static_cast<std::uint32_t>(i)));
    });
  }

  // One frame written to the tap, or read from it, in a system call.
  void write() {
    machine().system_call([&] { (void)descriptor->send(batch_, 1); });
  }
  void read() {
    host::ReceiveSlot slot = empty_slot();
    machine().system_call([&] { (void)descriptor->receive({&slot, 1}); });
    core::consume(std::move(slot.packet));
  }
  void send() {
    machine().system_call([&] { (void)on_tap->send_frame(batch_[0]); });
  }
  void send_over_veth() {
    machine().system_call([&] { (void)on_veth->send(batch_, count); });
  }
  void receive(Stopwatch* watch = nullptr) {
    std::vector<host::ReceiveSlot> slots;
    for (std::size_t i = 0; i < count; ++i)
      slots.push_back(empty_slot());
    if (watch != nullptr) watch->start();
    machine().system_call([&] { (void)on_tap->receive(slots); });
    if (watch != nullptr) watch->stop();
    for (host::ReceiveSlot& slot : slots)
      core::consume(std::move(slot.packet));
  }
  kernel::Machine& machine() { return micro.machine(); }

  MicroWorld micro;
  const std::size_t count;
  net::Device& device;
  net::Device& left;
  net::Device& right;
  host::sim::Tap tap;
  host::sim::Veth veth;
  std::unique_ptr<host::sim::TapDescriptor> descriptor;
  std::optional<host::sim::PacketSocket> on_tap, on_veth;

 private:
  static constexpr std::uint32_t kLarge = 1 << 20;  // bytes: any batch, as the benchmark sets it
  static constexpr net::MacAddress kNobody{{2, 0, 0, 0, 0, 99}};

  net::Device& add(const char* name, std::uint32_t number) {
    return machine().stack().add_device(
        {.name = name, .mac = net::MacAddress::local(number), .mtu_bytes = 1500});
  }
  core::PacketPtr frame(std::uint32_t number) {
    core::PacketPtr frame = make_frame(micro.world().packets(), number, bytes_);
    frame->payload_owner = machine().cpu().cache_owner();  // the process has just written it
    if (frames_ == Frames::ipv4_for_another) {
      frame->data()[12] = 0x08;
      frame->data()[13] = 0x00;
    }
    return frame;
  }
  host::ReceiveSlot empty_slot() {
    return {.packet = micro.world().packets().allocate(core::Origin::host_copy),
            .capacity = bytes_};
  }

  std::size_t bytes_;
  Frames frames_;
  core::PacketBatch batch_{core::PacketBatch::kCapacityMax};
};

}  // namespace

std::int64_t tap_write(const MicroRun& run) {
  Ports ports(run, Frames::ipv4_for_another);
  return ports.time([&](Stopwatch& watch) {
    ports.on_tap.reset();
    watch.start();
    ports.write();
    watch.stop();
  });
}

// As many writes as the socket's reader then takes at once.
std::int64_t tap_write_to_packet_socket(const MicroRun& run) {
  Ports ports(run, Frames::unknown);
  return ports.time([&](Stopwatch& watch) {
    watch.start();
    for (std::size_t i = 0; i < ports.count; ++i)
      ports.write();
    watch.stop();
    ports.receive();
  });
}

std::int64_t tap_read(const MicroRun& run) {
  Ports ports(run, Frames::unknown);
  return ports.time([&](Stopwatch& watch) {
    ports.send();
    watch.start();
    ports.read();
    watch.stop();
  });
}

std::int64_t packet_send_to_tap(const MicroRun& run) {
  Ports ports(run, Frames::unknown);
  return ports.time([&](Stopwatch& watch) {
    watch.start();
    ports.send();
    watch.stop();
    ports.read();
  });
}

std::int64_t packet_send_many_over_veth(const MicroRun& run) {
  Ports ports(run, Frames::unknown);
  return ports.time([&](Stopwatch& watch) {
    watch.start();
    ports.send_over_veth();
    watch.stop();
  });
}

std::int64_t packet_receive_many(const MicroRun& run) {
  Ports ports(run, Frames::unknown);
  return ports.time([&](Stopwatch& watch) {
    for (std::size_t i = 0; i < ports.count; ++i)
      ports.write();
    ports.receive(&watch);
  });
}

}  // namespace tapestry::tests::closure
