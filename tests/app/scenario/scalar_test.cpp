// Single values: counts, numbers, factors, addresses, and the name that was meant.
#include "app/scenario/scalar.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "app/scenario/address.hpp"
#include "app/scenario/names.hpp"

namespace tapestry::tests::scalar_test {

using namespace app;

TEST_CASE("a count is written in plain digits", "[app][scenario]") {
  CHECK(*parse_count("0") == 0);
  CHECK(*parse_count("18446744073709551615") == 18'446'744'073'709'551'615u);
  for (const char* const wrong :
       {"", "-1", "+1", "1.0", "1e3", "0x10", "01", "1 ", " 1", "1_000", "18446744073709551616"}) {
    INFO(wrong);
    CHECK_FALSE(parse_count(wrong).ok());
  }
  CHECK_FALSE(Scalar<int>::parse("2147483648").ok());
}

TEST_CASE("a number is written as in JSON", "[app][scenario]") {
  CHECK(*parse_number("22097") == 22097);
  CHECK(*parse_number("-1.5") == -1.5);
  CHECK(*parse_number("5.5e9") == 5.5e9);
  for (const char* const wrong :
       {"", "nan", "inf", "-inf", "1e999", "1,5", ".5", "+1", "--1", "1.5 ", "0x1p3"}) {
    INFO(wrong);
    CHECK_FALSE(parse_number(wrong).ok());
  }
}

TEST_CASE("a factor is exact to a millionth", "[app][scenario]") {
  CHECK(Scalar<Factor>::parse("1")->millionths == 1'000'000);
  CHECK(Scalar<Factor>::parse("0.25")->millionths == 250'000);
  CHECK(Scalar<Factor>::parse("12.000001")->millionths == 12'000'001);
  for (const char* const wrong : {"0", "0.0", "-1", "1.", ".5", "0.0000001", "1e2", "1x"}) {
    INFO(wrong);
    CHECK_FALSE(Scalar<Factor>::parse(wrong).ok());
  }
}

TEST_CASE("only true and false are flags", "[app][scenario]") {
  CHECK(*Scalar<bool>::parse("true"));
  CHECK_FALSE(*Scalar<bool>::parse("false"));
  for (const char* const wrong : {"yes", "no", "on", "off", "True", "1", "0"}) {
    CHECK_FALSE(Scalar<bool>::parse(wrong).ok());
  }
}

TEST_CASE("IPv4 addresses have four plain numbers", "[app][scenario]") {
  CHECK(parse_ipv4_address("10.77.0.1")->value == 0x0a4d0001);
  CHECK(parse_ipv4_address("255.255.255.255")->value == 0xffffffff);
  for (const char* const wrong :
       {"", "10.77.0", "10.77.0.1.2", "10.77.0.256", "10.77.0.01", "10.77..1", "10.77.0.1 ",
        "10.77.0.-1", "1O.77.0.1", "10.77.0.1/24"}) {
    INFO(wrong);
    CHECK_FALSE(parse_ipv4_address(wrong));
  }
}

TEST_CASE("a device's address is one that a device can have", "[app][scenario]") {
  CHECK(Scalar<net::Ipv4Prefix>::parse("10.77.0.1/24")->length == 24);
  CHECK(Scalar<net::Ipv4Prefix>::parse("10.0.0.0/31").ok());
  CHECK(Scalar<net::Ipv4Prefix>::parse("10.0.0.0/32").ok());
  for (const char* const wrong :
       {"10.77.0.1", "10.77.0.1/33", "10.77.0.1/024", "10.77.0.1/", "10.77.0.0/24",
        "10.77.0.255/24", "127.0.0.1/8", "0.1.2.3/8", "224.0.0.1/24", "255.1.1.1/8"}) {
    INFO(wrong);
    CHECK_FALSE(Scalar<net::Ipv4Prefix>::parse(wrong).ok());
  }
}

TEST_CASE("MAC addresses have six pairs of digits", "[app][scenario]") {
  CHECK(parse_mac_address("3e:30:db:47:2a:7a")->bytes[0] == 0x3e);
  CHECK(parse_mac_address("3E:30:DB:47:2A:7A") == parse_mac_address("3e:30:db:47:2a:7a"));
  for (const char* const wrong : {"", "3e:30:db:47:2a", "3e-30-db-47-2a-7a", "3e:30:db:47:2a:7g",
                                  "3e:30:db:47:2a:7", "3e:30:db:47:2a:7a:", "3:e:30:db:47:2a:7"}) {
    INFO(wrong);
    CHECK_FALSE(parse_mac_address(wrong));
  }
  CHECK_FALSE(Scalar<net::MacAddress>::parse("01:00:5e:00:00:01").ok());
  CHECK_FALSE(Scalar<net::MacAddress>::parse("00:00:00:00:00:00").ok());
}

TEST_CASE("the nearest name is the one with the fewest slips", "[app][scenario]") {
  const std::vector<std::string> known = {"attach",  "depth",    "gro",     "mtu",
                                          "address", "rx-usecs", "tx-usecs"};
  CHECK(nearest_name("depht", known) == "depth");        // two letters swapped
  CHECK(nearest_name("dept", known) == "depth");         // one left out
  CHECK(nearest_name("deepth", known) == "depth");       // one too many
  CHECK(nearest_name("MTU", known) == "mtu");            // capitals
  CHECK(nearest_name("rx_usecs", known) == "rx-usecs");  // one changed
  CHECK(nearest_name("adress", known) == "address");
  CHECK_FALSE(nearest_name("bandwidth", known));  // nothing is near
  CHECK_FALSE(nearest_name("x", known));
  CHECK_FALSE(nearest_name(std::string(5000, 'a'), known));
}

TEST_CASE("names are short and plain", "[app][scenario]") {
  for (const char* const good : {"host", "a", "no", "on", "null", "9front", "_x", "syscall-16KiB"})
    CHECK(is_name(good));
  for (const char* const bad : {"", "-a", "my host", "a.b", "a/b", "h\xc3\xb6st", "a:b"})
    CHECK_FALSE(is_name(bad));
  CHECK(is_name("1.10", true));
  CHECK_FALSE(is_name(std::string(41, 'a')));
  CHECK(is_interface_name("eth0.100"));
  CHECK_FALSE(is_interface_name("sixteen-bytes-xx"));
}

}  // namespace tapestry::tests::scalar_test
