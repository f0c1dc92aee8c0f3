// What every packet port promises its driver, whatever is behind it: one suite for the simulated
// host's ports, the scripted one, and real descriptors.
//
//     TEST_CASE("a tap keeps the contract of packet ports") {
//       check_port_contract([] { return std::make_unique<TapUnderTest>(); });
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/packet.hpp"
#include "host/packet_io.hpp"

namespace tapestry::tests {

// A port and its far side. A far side that is told to hold takes frames and does not finish them,
// until the port has to refuse.
class PortUnderTest {
 public:
  virtual ~PortUnderTest() = default;

  virtual core::PacketPool& pool() = 0;
  virtual host::PacketIo& port() = 0;
  // Calls `driver` where a driver's calls come from, and returns when nothing is left to happen.
  virtual void run(std::function<void()> driver) = 0;

  // These are called inside of `run`.
  virtual void arrive(core::PacketPtr frame) = 0;  // the far side has a frame for the driver
  virtual void hold() = 0;
  virtual void release() = 0;

  // The numbers of the frames that the far side got, in its order.
  virtual std::vector<std::uint32_t> sent() const = 0;
};

using MakePort = std::function<std::unique_ptr<PortUnderTest>()>;

// A test case of its own for each promise, as sections of the one that calls it.
void check_port_contract(const MakePort& make);

}  // namespace tapestry::tests
