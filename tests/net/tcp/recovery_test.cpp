// Losses: how they are noticed, and what is sent again.
#include <catch2/catch.hpp>

#include "tests/net/tcp/script.hpp"

namespace tapestry::tests::recovery_test {
namespace {

// Connected at 0.1 s with segments of 1000 bytes, with and without SACK.
const std::string kWithSack = R"(
    0      connect
    0      > S 0:0(0)
    .100   < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK>
    .100   > . 1:1(0) ack 1
)";
const std::string kWithoutSack = R"(
    0      connect
    0      > S 0:0(0)
    .100   < S. 0:0(0) ack 1 win 65535 <mss 1000>
    .100   > . 1:1(0) ack 1
)";
const std::string kTenSegments = R"(
    .2     write 10000
    .2     > . 1:1001(1000) ack 1
    .2     > . 1001:2001(1000) ack 1
    .2     > . 2001:3001(1000) ack 1
    .2     > . 3001:4001(1000) ack 1
    .2     > . 4001:5001(1000) ack 1
    .2     > . 5001:6001(1000) ack 1
    .2     > . 6001:7001(1000) ack 1
    .2     > . 7001:8001(1000) ack 1
    .2     > . 8001:9001(1000) ack 1
    .2     > P. 9001:10001(1000) ack 1
)";

ScriptOptions without_rack() {
  ScriptOptions options;
  options.tcp.rack = false;
  options.tcp.tail_loss_probe = false;
  return options;
}

TEST_CASE("The first window has ten segments, and each acknowledged one lets two more go") {
  Script script;
  script.play(kWithSack + R"(
    .2     write 20000
    .2     > . 1:1001(1000) ack 1
    .2     > . 1001:2001(1000) ack 1
    .2     > . 2001:3001(1000) ack 1
    .2     > . 3001:4001(1000) ack 1
    .2     > . 4001:5001(1000) ack 1
    .2     > . 5001:6001(1000) ack 1
    .2     > . 6001:7001(1000) ack 1
    .2     > . 7001:8001(1000) ack 1
    .2     > . 8001:9001(1000) ack 1
    .2     > . 9001:10001(1000) ack 1
    .3     < . 1:1(0) ack 2001 win 65535
    .3     > . 10001:11001(1000) ack 1
    .3     > . 11001:12001(1000) ack 1
    .3     > . 12001:13001(1000) ack 1
    .3     > . 13001:14001(1000) ack 1
    .3     cwnd = 12
  )");
}

TEST_CASE("Before 2.6.39 the first window has three segments") {
  ScriptOptions options;
  options.tcp.initial_window = 3;
  options.tcp.tail_loss_probe = false;
  Script script(options);
  script.play(kWithSack + R"(
    .2     write 20000
    .2     > . 1:1001(1000) ack 1
    .2     > . 1001:2001(1000) ack 1
    .2     > . 2001:3001(1000) ack 1
    .25    cwnd = 3
  )");
}

TEST_CASE("Three duplicate acknowledgements: fast retransmission without SACK (NewReno)") {
  Script script(without_rack());
  script.play(kWithoutSack + kTenSegments + R"(
    .3     < . 1:1(0) ack 1 win 65535
    .301   < . 1:1(0) ack 1 win 65535
    .302   < . 1:1(0) ack 1 win 65535
    .302   > . 1:1001(1000) ack 1
    .302   ssthresh = 7
    .4     < . 1:1(0) ack 3001 win 65535
    .4     > . 3001:4001(1000) ack 1
    .5     < . 1:1(0) ack 10001 win 65535
    .5     retrans = 2
    .5     cwnd = 7
  )");
}

TEST_CASE("Three SACKed segments: the hole is sent again, once (RFC 6675)") {
  Script script(without_rack());
  script.play(kWithSack + kTenSegments + R"(
    .300   < . 1:1(0) ack 1 win 65535 <sack 1001:2001>
    .301   < . 1:1(0) ack 1 win 65535 <sack 1001:3001>
    .302   < . 1:1(0) ack 1 win 65535 <sack 1001:4001>
    .302   > . 1:1001(1000) ack 1
    .303   < . 1:1(0) ack 1 win 65535 <sack 1001:5001>
    .4     < . 1:1(0) ack 10001 win 65535
    .4     retrans = 1
    .4     sack_recovery = 1
    .4     cwnd = 7
    .4     ssthresh = 7
  )");
}

TEST_CASE("Two holes are sent again, the earlier first") {
  Script script;
  script.play(kWithSack + kTenSegments + R"(
    .300   < . 1:1(0) ack 1001 win 65535 <sack 2001:3001>
    .301   < . 1:1(0) ack 1001 win 65535 <sack 2001:3001 4001:6001>
    .301   > . 1001:2001(1000) ack 1
    .302   < . 1:1(0) ack 1001 win 65535 <sack 2001:3001 4001:10001>
    .302   > . 3001:4001(1000) ack 1
    .4     < . 1:1(0) ack 10001 win 65535
    .4     retrans = 2
    .4     timeouts = 0
  )");
}

TEST_CASE("RACK: a retransmission that is lost as well is sent a third time without a timeout") {
  Script script;
  script.play(kWithSack + R"(
    .2     write 20000
    .2     > . 1:1001(1000) ack 1
    .2     > . 1001:2001(1000) ack 1
    .2     > . 2001:3001(1000) ack 1
    .2     > . 3001:4001(1000) ack 1
    .2     > . 4001:5001(1000) ack 1
    .2     > . 5001:6001(1000) ack 1
    .2     > . 6001:7001(1000) ack 1
    .2     > . 7001:8001(1000) ack 1
    .2     > . 8001:9001(1000) ack 1
    .2     > . 9001:10001(1000) ack 1
    .300   < . 1:1(0) ack 1 win 65535 <sack 1001:4001>
    .300   > . 1:1001(1000) ack 1
    .301   < . 1:1(0) ack 1 win 65535 <sack 1001:7001>
    .301   > . 10001:11001(1000) ack 1
    .301   > . 11001:12001(1000) ack 1
    .301   > . 12001:13001(1000) ack 1
    .302   < . 1:1(0) ack 1 win 65535 <sack 1001:10001>
    .302   > . 13001:14001(1000) ack 1
    .302   > . 14001:15001(1000) ack 1
    .302   > . 15001:16001(1000) ack 1
    .402   < . 1:1(0) ack 1 win 65535 <sack 1001:12001>
    .402   > . 1:1001(1000) ack 1
    .402   > . 16001:17001(1000) ack 1
    .402   > . 17001:18001(1000) ack 1
    .402   lost_retransmit = 1
    .402   timeouts = 0
  )");
}

TEST_CASE("A tail loss is probed after two round trips") {
  Script script;
  script.play(kWithSack + R"(
    .2     write 3000
    .2     > . 1:1001(1000) ack 1
    .2     > . 1001:2001(1000) ack 1
    .2     > P. 2001:3001(1000) ack 1
    .3     < . 1:1(0) ack 2001 win 65535
    .601   > P. 2001:3001(1000) ack 1
    .602   probes = 1
    .8     < . 1:1(0) ack 3001 win 65535
    .8     timeouts = 0
  )");
}

TEST_CASE("Without an answer the timeout doubles: 300 ms, 600 ms, 1.2 s") {
  ScriptOptions options = without_rack();
  Script script(options);
  script.play(kWithSack + R"(
    .2     write 1000
    .2     > P. 1:1001(1000) ack 1
    .501   > P. 1:1001(1000) ack 1
    1.103  > P. 1:1001(1000) ack 1
    2.307  > P. 1:1001(1000) ack 1
    2.308  cwnd = 1
    2.308  timeouts = 3
    2.4    < . 1:1(0) ack 1001 win 65535
    2.4    retrans = 3
  )");
}

TEST_CASE("After a timeout everything that is not acknowledged is sent again, in slow start") {
  Script script(without_rack());
  script.play(kWithSack + kTenSegments + R"(
    .501   > . 1:1001(1000) ack 1
    .6     < . 1:1(0) ack 1001 win 65535
    .6     > . 1001:2001(1000) ack 1
    .6     > . 2001:3001(1000) ack 1
    .7     < . 1:1(0) ack 3001 win 65535
    .7     > . 3001:4001(1000) ack 1
    .7     > . 4001:5001(1000) ack 1
    .7     > . 5001:6001(1000) ack 1
    .7     > . 6001:7001(1000) ack 1
    .8     < . 1:1(0) ack 10001 win 65535
    .8     ssthresh = 7
    .8     timeouts = 1
  )");
}

TEST_CASE("A reordered segment is not sent again when it comes within a quarter of a round trip") {
  Script script;
  script.play(kWithSack + kTenSegments + R"(
    .300   < . 1:1(0) ack 1001 win 65535
    .301   < . 1:1(0) ack 1001 win 65535 <sack 2001:3001>
    .302   < . 1:1(0) ack 1001 win 65535 <sack 2001:4001>
    .310   < . 1:1(0) ack 10001 win 65535
    .310   retrans = 0
    .310   reordered = 1
    .310   cwnd = 18
  )");
}

}  // namespace
}  // namespace tapestry::tests::recovery_test
