// UML's own line for a vector device, read exactly.
#include "app/scenario/vector_line.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/app/scenario/scenario_text.hpp"

namespace tapestry::tests::vector_line_test {

using namespace app;

namespace {

std::string pairs(int count) {
  std::string text = "vec0:transport=raw,ifname=veth0";
  for (int i = 2; i < count; ++i)
    text += ",key" + std::to_string(i) + "=1";
  return text;
}

}  // namespace

TEST_CASE("a good line gives its options in order", "[app][scenario]") {
  const ParsedVectorLine parsed =
      parse_vector_line("vec0:transport=raw,ifname=veth0,depth=128,gro=1");
  REQUIRE(parsed.line);
  CHECK(parsed.line->index == 0);
  REQUIRE(parsed.line->options.size() == 4);
  CHECK(parsed.line->options[0].key == "transport");
  CHECK(parsed.line->options[0].value == "raw");
  CHECK(parsed.line->options[2].key_offset == 32);
  CHECK(parsed.line->options[2].value_offset == 38);
}

TEST_CASE("the name of the device may be left out of the line", "[app][scenario]") {
  const ParsedVectorLine parsed = parse_vector_line("transport=tap,ifname=tap0");
  REQUIRE(parsed.line);
  CHECK_FALSE(parsed.line->index.has_value());
  CHECK(parse_vector_line("vec15:transport=tap,ifname=tap0").line->index == 15);
}

TEST_CASE("a faulty line is refused, with the place of the fault", "[app][scenario]") {
  struct Row {
    std::string line;
    std::size_t offset;
    const char* error;
  };
  const Row rows[] = {
      {"transport=tapx", 10, "unknown transport 'tapx'"},
      {"transport=ta", 10, "unknown transport 'ta'"},
      {"transport=TAP,ifname=tap0", 10, "unknown transport 'TAP'"},
      {"transport=raw,depth", 19, "'depth' has no value"},
      {"transport=raw,depth=", 20, "'depth' has no value"},
      {"transport=raw,depth=,gro=1", 20, "'depth' has no value"},
      {"a=b=c", 3, "a second '='"},
      {"transport=raw,,mtu=1500", 14, "an option is missing"},
      {"transport=raw,ifname=veth0,", 27, "an option is missing"},
      {",transport=raw", 0, "an option is missing"},
      {"transport=raw,=5", 14, "the key is missing before '='"},
      {"transport=raw,depht=5,ifname=veth0", 14, "unknown option 'depht'"},
      {"transport=raw,headroom=32,ifname=veth0", 14, "UML's option 'headroom' is not simulated"},
      {"transport=raw,ifname=veth0,transport=raw", 27, "'transport' stands twice"},
      {"transport=raw,ifname=veth0,gro=2", 31, "gro is 0 or 1, not '2'"},
      {"transport=raw,ifname=veth0,vec=true", 31, "vec is 0 or 1, not 'true'"},
      {"transport=raw", 13, "'ifname' is missing"},
      {"ifname=veth0", 12, "'transport' is missing"},
      {pairs(21), 168, "more than 20 options"},
      {pairs(25), 168, "more than 20 options"},
      {"vec0:", 5, "no options after 'vec0:'"},
      {"vec99:transport=raw,ifname=veth0", 3, "there is no vector device number '99'"},
      {"vec16:transport=raw,ifname=veth0", 3, "there is no vector device number '16'"},
      {"vec-1:transport=raw,ifname=veth0", 3, "there is no vector device number '-1'"},
      {"vec01:transport=raw,ifname=veth0", 3, "there is no vector device number '01'"},
      {"vec:transport=raw,ifname=veth0", 3, "there is no vector device number ''"},
      {"vec99999999999999999999:transport=raw", 3, "there is no vector device number"},
      {"eth0:transport=raw,ifname=veth0", 0, "begins with 'eth0'"},
      {"", 0, "the line is empty"},
  };
  for (const Row& row : rows) {
    const ParsedVectorLine parsed = parse_vector_line(row.line);
    INFO(row.line << " -> " << parsed.error);
    CHECK_FALSE(parsed.line.has_value());
    CHECK(parsed.error.find(row.error) != std::string::npos);
    CHECK(parsed.offset == row.offset);
  }
}

TEST_CASE("twenty options fit the driver's table", "[app][scenario]") {
  CHECK(parse_vector_line(pairs(20)).error == "unknown option 'key2'");
}

TEST_CASE("a device given as a line is the same as one given by attributes", "[app][scenario]") {
  const std::string attributes =
      "{kind: vector, transport: tap, attach: host.tap0, address: 10.77.0.2/24}";
  const LoadedScenario loaded = load(replaced(
      small_scenario(), attributes,
      "{line: 'vec0:transport=tap,ifname=tap0,depth=128,gro=0,vec=1,mtu=9000', behaviour: uml-6.1, "
      "address: 10.77.0.2/24}"));
  REQUIRE(said(loaded).empty());
  const Device& device = loaded.scenario->variants[0].devices[1];
  const auto& vector = std::get<VectorDevice>(device.kind);
  CHECK(vector.transport == Transport::tap);
  CHECK(vector.attach.name == "host.tap0");
  CHECK(vector.attach.index == 0);
  CHECK(vector.depth == 128);
  CHECK_FALSE(vector.gro);
  CHECK(vector.vec);
  CHECK(vector.behaviour == Behaviour::uml_6_1);
  CHECK(device.mtu == 9000);
}

TEST_CASE("a fault in a line is reported at its place in the file", "[app][scenario]") {
  const std::string attributes =
      "{kind: vector, transport: tap, attach: host.tap0, address: 10.77.0.2/24}";
  const auto with_line = [&attributes](const std::string& line) {
    return said(load(
        replaced(small_scenario(), attributes, "{line: " + line + ", address: 10.77.0.2/24}")));
  };
  CHECK(with_line("'vec0:transport=tap,ifname=tap1'") ==
        std::vector<std::string>{
            "file:9:49: error: devices.guest.vec0.line: there is no device 'host.tap1'"});
  CHECK(with_line("'vec0:transport=tap,ifname=tap0,depth=0'") ==
        std::vector<std::string>{
            "file:9:60: error: devices.guest.vec0.line: 0 is out of range, which is 1 to 1024"});
  CHECK(with_line("vec0:transport=tap") ==
        std::vector<std::string>{"file:9:40: error: devices.guest.vec0.line: 'ifname' is missing"});
}

}  // namespace tapestry::tests::vector_line_test
