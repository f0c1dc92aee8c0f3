// Every file in tests/app/malformed is wrong in one way, told in its first line, and is refused
// with a pointed message at the right place.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/scenario/loader.hpp"

namespace tapestry::tests::malformed_test {
namespace {

using namespace app;

namespace fs = std::filesystem;

const fs::path kRoot = TAPESTRY_SOURCE_ROOT;
const fs::path kFolder = kRoot / "tests/app/malformed";

struct Row {
  const char* file;
  int line;
  int column;
  const char* text;  // part of the message that is reported there
};

const Row kRows[] = {
    {"empty", 1, 1, "the scenario is empty"},
    {"only-comments", 1, 1, "the scenario is empty"},
    {"tab-indentation", 4, 1, "a tab in the indentation"},
    {"utf-16-little", 1, 1, "UTF-16"},
    {"utf-16-big", 1, 1, "UTF-16"},
    {"utf-16-unmarked", 1, 1, "UTF-16"},
    {"latin-1", 3, 11, "not valid UTF-8"},
    {"zero-byte", 3, 9, "a control character"},
    {"carriage-return", 2, 19, "a carriage return"},
    {"two-documents", 13, 1, "a second document"},
    {"tag", 3, 8, "a tag ('tag:yaml.org,2002:int')"},
    {"merge-key", 10, 15, "the merge key '<<'"},
    {"unknown-alias", 4, 8, "this alias names no anchor"},
    {"alias-of-itself", 6, 43, "stands within what it names"},
    {"alias-bomb", 17, 10, "more than 20000 values"},
    {"list-as-key", 3, 3, "a key must be plain text"},
    {"missing-key", 3, 1, "a key is missing"},
    {"unclosed-brace", 3, 29, "never closed"},
    {"unclosed-quote", 3, 1, "is never closed"},
    {"bad-escape", 3, 13, "unknown escape character"},
    {"colon-in-text", 3, 11, "a ':' that belongs to no key"},
    {"wrong-indentation", 5, 3, "does not fit the map"},
    {"bare-list", 2, 1, "a scenario is a map"},
    {"bare-text", 2, 1, "a scenario is a map"},
    {"duplicate-key", 15, 5, "the key 'mtu' appears twice, in lines 13 and 15"},
    {"duplicate-quoted-key", 13, 3, "the key 'udp' appears twice, in lines 12 and 13"},
    {"duplicate-section", 14, 1, "the key 'links' appears twice, in lines 13 and 14"},
    {"missing-schema", 2, 1, "'schema' is missing"},
    {"other-schema", 2, 9, "unknown schema 'tapestry/2'"},
    {"unknown-section", 8, 1, "unknown key 'device'"},
    {"value-missing", 4, 1, "costs: the value is missing"},
    {"unknown-costs", 4, 8, "no cost table 'zeroo'"},
    {"seed-negative", 5, 7, "'-1' is not a whole number"},
    {"seed-too-large", 5, 7, "'99999999999999999999' is too large"},
    {"title-is-map", 3, 8, "title: expected a text, found a map"},
    {"no-machines", 2, 1, "no machine"},
    {"machines-is-list", 6, 3, "expected a map of machines, found a list"},
    {"machine-is-text", 6, 9, "found 'native'"},
    {"machine-name", 7, 3, "'my host' cannot name a machine"},
    {"missing-platform", 6, 9, "'platform' is missing"},
    {"unknown-platform", 7, 21, "unknown platform 'umll'"},
    {"unknown-kernel", 7, 34, "unknown kernel '6.2'"},
    {"cpus-with-unit", 6, 50, "'2cpus' is not a whole number"},
    {"cpus-quoted", 6, 50, "a text in quotes"},
    {"cpus-out-of-range", 6, 50, "65 is out of range, which is 1 to 64"},
    {"cpus-fraction", 6, 50, "'1.5' is not a whole number"},
    {"uml-with-two-cpus", 7, 59, "2 is out of range, which is 1 to 1"},
    {"lkl-with-two-cpus", 7, 59, "2 is out of range, which is 1 to 1"},
    {"lkl-virtio-on-uml", 10, 3, "lkl-virtio belongs to a machine on platform lkl"},
    {"lkl-poll-pin-beyond-cpus", 7, 47, "machines.guest.poll-pin: host has no CPU 2"},
    {"poll-pin-on-uml", 7, 53, "unknown key 'poll-pin' in a machine on platform uml"},
    {"virtio-depth-uneven", 10, 3, "queue-depth: 100 is not a power of two"},
    {"virtio-depth-too-large", 10, 89, "65536 is out of range, which is 1 to 32768"},
    {"virtio-tso-without-csum", 10, 3, "offloads: host_tso4 needs csum"},
    {"virtio-depth-below-buffer", 10, 3, "a receive buffer takes 19 descriptors"},
    {"virtio-offload-unknown", 10, 99, "unknown offloads 'guest_tso'"},
    {"hz-impossible", 6, 48, "unknown hz '200'"},
    {"host-of-native", 6, 44, "unknown key 'host' in a machine on platform native"},
    {"host-missing", 7, 10, "'host' is missing"},
    {"host-unknown", 7, 47, "there is no machine 'hots'"},
    {"host-itself", 7, 47, "a machine cannot run on itself: guest -> guest"},
    {"host-cycle", 7, 47, "a machine cannot run on itself: guest -> other -> guest"},
    {"pin-beyond-cpus", 7, 47, "host has no CPU 2"},
    {"sysctl-unknown", 6, 53, "machines.host.sysctl.net.core.netdev_budgett: unknown key"},
    {"device-name", 9, 3, "'tap0' cannot name a device"},
    {"interface-name-long", 10, 8, "'sixteen-bytes-xx' cannot name an interface"},
    {"device-of-nobody", 10, 3, "there is no machine 'hosst'"},
    {"kind-missing", 9, 14, "'kind' is missing"},
    {"kind-unknown", 10, 22, "unknown kind 'vectr'"},
    {"attribute-of-other-kind", 9, 26, "unknown key 'depth' in a device of kind tap"},
    {"misspelt-attribute", 10, 65, "devices.guest.vec0.depht: unknown key 'depht'"},
    {"transport-prefix", 10, 41, "unknown transport 'tapx'"},
    {"flag-yes", 10, 51, "'yes' is not true or false"},
    {"depth-zero", 10, 53, "0 is out of range, which is 1 to 1024"},
    {"depth-exponent", 10, 53, "'1e2' is not a whole number"},
    {"coalesce-without-unit", 10, 56, "has no unit"},
    {"coalesce-with-size", 10, 56, "has the unknown unit \"KiB\""},
    {"attach-unknown", 10, 54, "there is no device 'host.tap1'"},
    {"attach-own-device", 10, 54, "is not a device of host"},
    {"attach-twice", 11, 42, "'host.tap0' is already attached to by guest.vec0"},
    {"raw-on-tap", 10, 54, "transport raw attaches to a veth"},
    {"tap-in-guest", 10, 3, "a tap belongs to a machine on platform native"},
    {"address-without-prefix", 9, 35, "'10.77.0.1' is not an IPv4 address with prefix length"},
    {"address-leading-zero", 9, 35, "'10.077.0.1/24' is not an IPv4 address"},
    {"address-broadcast", 9, 35, "is the network's or its broadcast address"},
    {"address-twice", 10, 3, "10.77.0.1 is already the address of host.tap0"},
    {"mac-short", 9, 31, "is not a MAC address"},
    {"mac-multicast", 9, 31, "is a multicast address"},
    {"offload-unknown", 9, 43, "unknown offloads 'tso'"},
    {"sndbuf-word", 9, 34, "\"infinite\""},
    {"veth-peer-deaf", 10, 32, "'host.ve1' does not name 'host.ve0' as its peer"},
    {"machine-costs-unknown", 6, 62, "there is no cost table 'xeon-1999'"},
    {"bridge-no-ports", 11, 13, "'ports' is missing"},
    {"bridge-ports-name", 11, 46, "expected a list of names"},
    {"bridge-ports-empty", 11, 46, "expected a list of names, found an empty list"},
    {"bridge-port-twice", 11, 58, "'host.tap0' is listed twice"},
    {"bridge-port-unknown", 11, 47, "there is no device 'host.tap9'"},
    {"bridge-port-elsewhere", 11, 47, "'guest.vec0' is a device of another machine"},
    {"bridge-port-bridge", 11, 47, "'host.br0' cannot be a port"},
    {"bridge-port-address", 11, 47, "'host.tap0' is a port and cannot have an address"},
    {"bridge-port-taken", 12, 36, "'host.tap0' is already a port of host.br0"},
    {"bridge-in-guest", 11, 3, "a bridge belongs to a machine on platform native"},
    {"bridge-queue", 11, 59, "unknown key 'txqueuelen'"},
    {"nic-ring-odd", 8, 3, "a ring of 300 descriptors is not a power of two"},
    {"nic-ring-large", 8, 42, "8192 is out of range"},
    {"nic-tso-software", 8, 3, "a card that cuts segments also fills in their checksums"},
    {"nic-tso-word", 8, 62, "'on' is not true or false"},
    {"nic-gro-number", 8, 43, "'1'"},
    {"nic-adaptive-usecs", 8, 3, "have no effect with adaptive-rx"},
    {"nic-adaptive-word", 8, 51, "'on'"},
    {"veth-own-peer", 10, 32, "a veth cannot be its own peer"},
    {"line-transport-prefix", 10, 38, "unknown transport 'tapx'"},
    {"line-of-other-device", 10, 23, "the line is of vec1, the device is"},
    {"line-and-attribute", 10, 54, "'depth' is in the line, and 'depth' also in line 10"},
    {"rate-without-unit", 14, 16, "has no unit"},
    {"rate-exponent", 14, 16, "\"1e400bps\""},
    {"rate-negative", 14, 16, "\"-1Mbps\""},
    {"rate-with-space", 14, 16, "has the unknown unit \" Gb ps\""},
    {"loss-above-all", 14, 29, "\"101%\""},
    {"link-with-one-end", 15, 3, "these nics name it: host.eth0"},
    {"size-is-time", 12, 56, "has the unknown unit \"us\""},
    {"size-too-large", 12, 56, "64KiB is out of range, which is 1B to 65507B"},
    {"duration-missing", 12, 8, "'duration' is missing"},
    {"send-to-itself", 12, 44, "a machine cannot send to itself"},
    {"no-network", 12, 33, "no network connects guest and host"},
    {"cpu-beyond-machine", 12, 44, "host has no CPU 7"},
    {"start-after-stop", 12, 3, "starts at 20s, after the stop at 15s"},
    {"replay-file-missing", 12, 32, "there is no file"},
    {"replay-side", 12, 52, "'guest' is neither an IPv4 nor a MAC address"},
    {"rate-without-fixed", 12, 44, "has no effect without timing: fixed"},
    {"variant-removes-nothing", 14, 31,
     "'~' removes an entry of the base, which has no 'host.tap1'"},
    {"variant-key", 14, 11, "unknown key 'expect' in a variant"},
    {"variant-breaks-base", 10, 54, "there is no device 'host.tap0' (in variant less)"},
    {"matrix-path", 14, 28, "there is no device 'guest.vec1'"},
    {"matrix-too-large", 16, 7, "multiplies to more than 1000 variants"},
    {"matrix-value", 14, 51, "5000 is out of range, which is 1 to 1024 (in variant depth-5000)"},
    {"capture-nowhere", 14, 10, "there is no device 'host.tap9'"},
    {"published-without-source", 14, 5, "'source' is missing"},
    {"published-unknown-variant", 14, 15, "there is no variant 'tap'"},
    {"published-outside-range", 14, 58, "lies outside high of its own entry"},
    {"expect-unfinished", 14, 36, "expected a value at the end"},
    {"expect-unknown-metric", 14, 22, "there is no metric 'throughput'"},
    {"expect-unpublished", 14, 51, "nothing is published for base.udp.drops"},
    {"expect-minus", 14, 20, "there is no metric 'drops-1'"},
    {"question-one-answer", 13, 11, "needs 2 to 9 answers, found 1"},
    {"answers-unasked", 14, 3, "there is no question that they answer"},
};

std::string listing(const LoadedScenario& loaded, const std::string& file) {
  std::string text;
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    text += diagnostic.format(file) + "\n";
  return text;
}

}  // namespace

TEST_CASE("a malformed scenario is refused where it is wrong, and told why", "[app][scenario]") {
  LoadOptions options;
  options.costs_folders = {(kRoot / "scenarios/costs").string()};
  for (const Row& row : kRows) {
    const std::string path = (kFolder / row.file).string() + ".yaml";
    const LoadedScenario loaded = load_scenario(path, options);
    INFO(row.file << " should say \"" << row.text << "\" at " << row.line << ":" << row.column
                  << " and says\n"
                  << listing(loaded, path));
    CHECK_FALSE(loaded.scenario.has_value());
    CHECK(loaded.diagnostics.size() <= Diagnostics::kMostDiagnostics);
    const bool told = std::any_of(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                  [&row](const Diagnostic& d) {
                                    return d.at == Position{Source::file, row.line, row.column} &&
                                           d.text.find(row.text) != std::string::npos;
                                  });
    CHECK(told);
  }
}

TEST_CASE("there are at least sixty malformed scenarios, and all of them are in the table",
          "[app][scenario]") {
  std::set<std::string> in_folder;
  for (const auto& entry : fs::directory_iterator(kFolder))
    in_folder.insert(entry.path().stem().string());
  std::set<std::string> in_table;
  for (const Row& row : kRows)
    in_table.insert(row.file);
  CHECK(in_folder == in_table);
  CHECK(in_table.size() >= 60);
}

TEST_CASE("no message about a malformed scenario spans lines or is empty", "[app][scenario]") {
  for (const Row& row : kRows) {
    const LoadedScenario loaded = load_scenario((kFolder / row.file).string() + ".yaml");
    for (const Diagnostic& diagnostic : loaded.diagnostics) {
      INFO(row.file << ": " << diagnostic.text);
      CHECK_FALSE(diagnostic.text.empty());
      CHECK(diagnostic.text.find('\n') == std::string::npos);
      CHECK(diagnostic.hint.find('\n') == std::string::npos);
    }
  }
}

}  // namespace tapestry::tests::malformed_test
