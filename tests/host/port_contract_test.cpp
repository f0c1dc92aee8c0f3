#include <catch2/catch.hpp>

#include "tests/host/sim_ports.hpp"

namespace tapestry::tests::port_contract_test {

TEST_CASE("a tap keeps the contract of packet ports") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  check_port_contract([mode] { return std::make_unique<TapUnderTest>(mode); });
}

TEST_CASE("a tap of a kernel that receives through the backlog keeps the contract") {
  check_port_contract(
      [] { return std::make_unique<TapUnderTest>(sched::SettleMode::seams, false); });
}

TEST_CASE("a packet socket keeps the contract of packet ports") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  check_port_contract([mode] { return std::make_unique<PacketSocketUnderTest>(mode); });
}

TEST_CASE("a hybrid port keeps the contract of packet ports") {
  const auto mode = GENERATE(from_range(kSettleModes));
  CAPTURE(mode);
  check_port_contract([mode] { return std::make_unique<HybridUnderTest>(mode); });
}

TEST_CASE("the scripted port keeps the contract, with many frames a call and with one") {
  const bool many = GENERATE(false, true);
  check_port_contract([many] {
    return std::make_unique<FakeUnderTest>(
        host::IoCapabilities{.multi_send = many, .multi_receive = many});
  });
}

}  // namespace tapestry::tests::port_contract_test
