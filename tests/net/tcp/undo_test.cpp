// Losses that were none: the window becomes what it was.
#include <catch2/catch.hpp>

#include "tests/net/tcp/script.hpp"

namespace tapestry::tests::undo_test {
namespace {

ScriptOptions by_count() {
  ScriptOptions options;
  options.tcp.rack = false;
  options.tcp.tail_loss_probe = false;
  return options;
}

// Ten segments of 1000 bytes leave at 0.2 s; our clock for timestamps shows 1000 at 0 s.
const std::string kTenWithTimestamps = R"(
    0      connect
    0      > S 0:0(0)
    .100   < S. 0:0(0) ack 1 win 65535 <mss 1012,sackOK,TS val 1 ecr 1000>
    .100   > . 1:1(0) ack 1
    .2     write 10000
    .2     > . 1:1001(1000) ack 1 <TS val 1200 ecr 1>
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
// The first is sent again at 0.302 s.
const std::string kSentAgain = R"(
    .300   < . 1:1(0) ack 1 win 65535 <TS val 2 ecr 1000,sack 1001:2001>
    .301   < . 1:1(0) ack 1 win 65535 <TS val 2 ecr 1000,sack 1001:3001>
    .302   < . 1:1(0) ack 1 win 65535 <TS val 2 ecr 1000,sack 1001:4001>
    .302   > . 1:1001(1000) ack 1 <TS val 1302 ecr 2>
    .302   ssthresh = 7
)";

TEST_CASE("An echo from before the retransmission: the original was only late (Eifel)") {
  Script script(by_count());
  script.play(kTenWithTimestamps + kSentAgain + R"(
    .310   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1200>
    .310   full_undo = 1
    .310   ssthresh = 2147483647
    .310   retrans = 1
  )");
}

TEST_CASE("An echo of the retransmission: it was needed, and the window stays cut") {
  Script script(by_count());
  script.play(kTenWithTimestamps + kSentAgain + R"(
    .402   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1302>
    .402   full_undo = 0
    .402   ssthresh = 7
    .402   cwnd = 8
  )");
}

TEST_CASE("The first hole was only late: nothing more of what seemed lost is sent again") {
  ScriptOptions options = by_count();
  options.tcp.small_queues = false;
  Script script(options);
  script.play(kTenWithTimestamps + kSentAgain + R"(
    .310   < . 1:1(0) ack 4001 win 65535 <TS val 3 ecr 1200>
    .310   partial_undo = 1
    .310   ssthresh = 2147483647
    .320   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1200>
    .320   retrans = 1
  )");
}

TEST_CASE("The peer has everything twice that was sent again (D-SACK)") {
  Script script(by_count());
  script.play(kTenWithTimestamps + kSentAgain + R"(
    .401   < . 1:1(0) ack 1 win 65535 <TS val 3 ecr 1000,sack 1:1001 1001:4001>
    .401   dsack_undo = 0
    .402   < . 1:1(0) ack 4001 win 65535 <TS val 3 ecr 1302,sack 1:1001>
    .402   dsack_undo = 1
    .402   ssthresh = 2147483647
  )");
}

TEST_CASE("A D-SACK that comes when all is over still undoes") {
  Script script(by_count());
  script.play(kTenWithTimestamps + kSentAgain + R"(
    .400   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1302>
    .400   cwnd = 8
    .402   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1302,sack 1:1001>
    .402   dsack_undo = 1
    .402   cwnd = 10
    .402   ssthresh = 2147483647
  )");
}

TEST_CASE("A D-SACK of something else undoes nothing") {
  Script script(by_count());
  script.play(kTenWithTimestamps + R"(
    .300   < . 1:1(0) ack 1001 win 65535 <TS val 2 ecr 1200,sack 2001:3001>
    .301   < . 1:1(0) ack 1001 win 65535 <TS val 2 ecr 1200,sack 2001:4001>
    .302   < . 1:1(0) ack 1001 win 65535 <TS val 2 ecr 1200,sack 2001:5001>
    .302   > . 1001:2001(1000) ack 1
    .303   < . 1:1(0) ack 1001 win 65535 <TS val 2 ecr 1200,sack 1:1001 2001:5001>
    .402   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1302>
    .402   dsack_undo = 0
    .402   full_undo = 0
    .402   cwnd = 8
  )");
}

TEST_CASE("A timeout that came too early: one segment twice, and the window is what it was") {
  Script script(by_count());
  script.play(kTenWithTimestamps + R"(
    .501   > . 1:1001(1000) ack 1
    .502   cwnd = 1
    .510   < . 1:1(0) ack 1001 win 65535 <TS val 3 ecr 1200>
    .510   loss_undo = 1
    .510   ssthresh = 2147483647
    .520   < . 1:1(0) ack 10001 win 65535 <TS val 3 ecr 1200>
    .520   retrans = 1
    .520   timeouts = 1
  )");
}

}  // namespace
}  // namespace tapestry::tests::undo_test
