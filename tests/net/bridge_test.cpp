// A bridge: who is learned, where frames go, what goes up, and that super-frames cross whole to
// those who can take them.
#include "net/bridge.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sched/guards.hpp"
#include "tests/host/host_world.hpp"
#include "tests/support/tcp_frames.hpp"

namespace tapestry::tests::bridge_test {
namespace {

using core::DropReason;
using core::PacketPtr;

constexpr Mac kNobody{0x02, 0x99, 0, 0, 0, 9};
constexpr Mac kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

Mac mac(std::uint8_t number) { return {0x02, 0x77, 0, 0, 0, number}; }

// A host with a bridge and three ports that a test plays.
struct Bench {
  explicit Bench(net::BridgeOptions options = {}, sched::CostTable costs = sched::CostTable::zero())
      : world(sched::SettleMode::seams, std::move(costs)),
        host(world.make<HostMachine>(world)),
        own(host.add_device("docker0")),
        bridge(world.make<net::Bridge>(own, options)) {
    for (std::size_t i = 0; i < 3; ++i) {
      devices[i] = &host.add_device("port" + std::to_string(i));
      drivers[i] = &world.make<FakeDriver>(*devices[i], host.machine.interrupts);
    }
    own.set_receive_handler([this](PacketPtr packet) {
      ++passed_up;
      core::deliver(std::move(packet));
      return PacketPtr();
    });
  }
  void run(std::function<void()> body) {
    host.run([this, body = std::move(body)] {
      for (net::Device* device : devices) {
        bridge.add_port(*device);
        device->open();
      }
      own.open();
      body();
    });
  }
  void arrive(std::size_t port, PacketPtr packet) {
    const sched::BottomHalvesOff bottom_halves(host.cpu());
    devices[port]->receive(std::move(packet));
  }
  void arrive(std::size_t port, Mac from, Mac to, std::size_t length = 60) {
    arrive(port, make_frame(world.packets, 1, length, from, to));
    host.cpu().settle();
  }
  // "0 1 1": frames that each port has sent since the last look, and how many went up.
  std::string seen() {
    std::string text;
    for (FakeDriver* driver : drivers) {
      text += std::to_string(driver->sent.size()) + " ";
      driver->sent.clear();
    }
    text += "up " + std::to_string(passed_up);
    passed_up = 0;
    return text;
  }

  World world;
  HostMachine& host;
  net::Device& own;
  net::Bridge& bridge;
  std::array<net::Device*, 3> devices{};
  std::array<FakeDriver*, 3> drivers{};
  int passed_up = 0;
};

TEST_CASE("A frame goes to the port of its destination, to all others, or up") {
  Bench bench;
  bench.run([&] {
    bench.arrive(0, mac(1), mac(2));
    CHECK(bench.seen() == "0 1 1 up 0");  // nobody knows 2
    bench.arrive(1, mac(2), mac(1));
    CHECK(bench.seen() == "1 0 0 up 0");  // but 1
    bench.arrive(2, mac(3), mac(2));
    CHECK(bench.seen() == "0 1 0 up 0");
    bench.arrive(0, mac(1), kEverybody);
    CHECK(bench.seen() == "0 1 1 up 1");
    bench.arrive(0, mac(1), bench.own.mac().bytes);
    CHECK(bench.seen() == "0 0 0 up 1");
    bench.arrive(0, mac(1), bench.devices[2]->mac().bytes);
    CHECK(bench.seen() == "0 0 0 up 1");  // a port's address is the machine's
  });
  CHECK(bench.bridge.figures().forwarded == 2);
  CHECK(bench.bridge.figures().flooded == 2);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A frame does not go back where it came from, and one without an honest source nowhere") {
  Bench bench;
  bench.run([&] {
    bench.arrive(0, mac(1), kNobody);
    bench.seen();
    bench.arrive(0, mac(2), mac(1));
    CHECK(bench.seen() == "0 0 0 up 0");
    bench.arrive(0, kEverybody, mac(1));
    bench.arrive(0, Mac{}, mac(1));
    CHECK(bench.seen() == "0 0 0 up 0");
  });
  CHECK(drops(bench.world, DropReason::bridge_port) == 1);
  CHECK(drops(bench.world, DropReason::mac_invalid_source) == 2);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("An address moves with whom it is heard from, and is forgotten after 300 s of silence") {
  Bench bench;
  bench.run([&] {
    const net::MacAddress one{mac(1)};
    bench.arrive(0, mac(1), kNobody);
    CHECK(bench.bridge.port_of(one) == bench.devices[0]);
    bench.arrive(2, mac(1), kNobody);
    CHECK(bench.bridge.port_of(one) == bench.devices[2]);
    const core::Instant heard = bench.host.now();
    bench.host.stack.scheduler().sleep_until(heard + core::Nanos{299'999'000'000});
    CHECK(bench.bridge.port_of(one) == bench.devices[2]);
    bench.host.stack.scheduler().sleep_until(heard + core::Nanos{300'001'000'000});
    CHECK(bench.bridge.port_of(one) == nullptr);
    bench.seen();
    bench.arrive(0, mac(4), mac(1));
    CHECK(bench.seen() == "0 1 1 up 0");
  });
}

TEST_CASE("A full table learns nobody until somebody is forgotten") {
  Bench bench({.learned_max = 2});
  bench.run([&] {
    for (std::uint8_t i = 1; i <= 3; ++i)
      bench.arrive(0, mac(i), kNobody);
    CHECK(bench.bridge.learned() == 2);
    CHECK(bench.bridge.figures().not_learned == 1);
    CHECK(bench.bridge.port_of(net::MacAddress{mac(3)}) == nullptr);
    bench.host.stack.scheduler().sleep_until(bench.host.now() + core::Nanos{301'000'000'000});
    bench.arrive(0, mac(3), kNobody);
    CHECK(bench.bridge.port_of(net::MacAddress{mac(3)}) == bench.devices[0]);
    CHECK(bench.bridge.learned() == 1);
  });
}

TEST_CASE("The machine's own frames leave through the bridge by the same table") {
  Bench bench;
  bench.run([&] {
    bench.arrive(1, mac(2), kNobody);
    bench.seen();
    bench.own.transmit(make_frame(bench.world.packets, 1, 60, kGuestMac, mac(2)));
    CHECK(bench.seen() == "0 1 0 up 0");
    bench.own.transmit(make_frame(bench.world.packets, 1, 60, kGuestMac, kNobody));
    CHECK(bench.seen() == "1 1 1 up 0");
    bench.own.transmit(make_frame(bench.world.packets, 1, 60, kGuestMac, kEverybody));
    CHECK(bench.seen() == "1 1 1 up 0");
  });
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A super-frame crosses whole to a port that cuts, and in segments to one that does not") {
  for (const bool cuts : {true, false}) {
    CAPTURE(cuts);
    Bench bench;
    bench.drivers[1]->offers = {
        .scatter_gather = true, .transmit_checksum = cuts, .segmentation = cuts};
    bench.run([&] {
      bench.arrive(1, mac(2), kNobody);
      bench.seen();
      TcpFrame frame;
      frame.from = mac(1);
      frame.to = mac(2);
      frame.payload = 4 * 1448;
      bench.arrive(0, make_large_tcp(bench.world.packets, frame, 1448));
      bench.host.cpu().settle();
      REQUIRE(bench.drivers[1]->sent.size() == (cuts ? 1 : 4));
      const TcpView first(bench.drivers[1]->sent[0].bytes);
      CHECK(first.payload() == (cuts ? 4 * 1448 : 1448));
      CHECK(first.checksum_is_right() == !cuts);  // whoever cuts finishes
      bench.seen();
    });
    CHECK(ledger_is_closed(bench.world));
  }
}

TEST_CASE(
    "A frame that is too long for a port ends there, and one port being down is no one's loss") {
  Bench bench;
  bench.run([&] {
    bench.arrive(1, mac(2), kNobody);
    bench.seen();
    bench.arrive(0, mac(1), mac(2), 1519);
    CHECK(bench.seen() == "0 0 0 up 0");
    bench.devices[1]->close();
    bench.arrive(0, mac(1), kEverybody);
    CHECK(bench.seen() == "0 0 1 up 1");
  });
  CHECK(drops(bench.world, DropReason::pkt_too_big) == 1);
  CHECK(ledger_is_closed(bench.world));
}

TEST_CASE("A bridge can what one of its ports can, and hears when that changes") {
  Bench bench;
  bench.run([&] {
    CHECK_FALSE(bench.own.features().segmentation);
    CHECK(bench.own.features().scatter_gather);
    bench.drivers[2]->offers.segmentation = true;
    bench.devices[2]->update_features();
    CHECK(bench.own.features().segmentation);
  });
}

TEST_CASE("Each frame through a bridge pays for its look-up once, and for one receive path") {
  Bench bench({}, net_costs());
  bench.run([&] { bench.arrive(0, mac(1), kNobody); });
  const sched::Usage& usage = bench.host.machine.scheduler.cpu(0).usage();
  const sched::CostTable costs = net_costs();
  CHECK(usage.of(sched::Work::bridge_forward) == costs.cost(sched::Work::bridge_forward));
  CHECK(usage.of(sched::Work::netif_receive) == costs.cost(sched::Work::netif_receive));
}

}  // namespace
}  // namespace tapestry::tests::bridge_test
