// When the receiver answers, and with which window.
#include <catch2/catch.hpp>

#include "tests/net/tcp/script.hpp"

namespace tapestry::tests::ack_test {
namespace {

const std::string kAccepted = R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000,sackOK>
    0      > S. 0:0(0) ack 1
    .010   < . 1:1(0) ack 1 win 65535
    .010   accept = ok
)";

TEST_CASE("At first every segment is answered at once; a conversation waits 40 ms for its answer") {
  Script script;
  script.play(kAccepted + R"(
    .1     < P. 1:101(100) ack 1 win 65535
    .1     > . 1:1(0) ack 101
    .1     read 1000 = 100
    .2     < P. 101:201(100) ack 1 win 65535
    .2     > . 1:1(0) ack 201
    .2     read 1000 = 100
    .210   write 50
    .210   > P. 1:51(50) ack 201
    .215   < P. 201:301(100) ack 51 win 65535
    .215   read 1000 = 100
    .240   delayed = 0
    .256   > . 51:51(0) ack 301
    .257   delayed = 1
  )");
}

TEST_CASE("In a conversation the answer carries the acknowledgement") {
  Script script;
  script.play(kAccepted + R"(
    .1     < P. 1:101(100) ack 1 win 65535
    .1     > . 1:1(0) ack 101
    .1     read 1000 = 100
    .101   write 50
    .101   > P. 1:51(50) ack 101
    .102   < P. 101:201(100) ack 51 win 65535
    .103   read 1000 = 100
    .103   write 50
    .103   > P. 51:101(50) ack 201
    .104   < P. 201:301(100) ack 101 win 65535
    .105   read 1000 = 100
    .105   write 50
    .105   > P. 101:151(50) ack 301
  )");
}

TEST_CASE("Quick acknowledgements on demand end a conversation") {
  Script script;
  script.play(kAccepted + R"(
    .1     < P. 1:101(100) ack 1 win 65535
    .1     > . 1:1(0) ack 101
    .1     read 1000 = 100
    .101   write 50
    .101   > P. 1:51(50) ack 101
    .102   < P. 101:201(100) ack 51 win 65535
    .103   quickack on
    .103   > . 51:51(0) ack 201
  )");
}

TEST_CASE("Without delays everything is answered at once") {
  ScriptOptions options;
  options.tcp.delayed_ack = core::Nanos{0};
  Script script(options);
  script.play(kAccepted + R"(
    .1     < P. 1:101(100) ack 1 win 65535
    .1     > . 1:1(0) ack 101
    .101   write 50
    .101   > P. 1:51(50) ack 101
    .102   < P. 101:201(100) ack 51 win 65535
    .102   > . 51:51(0) ack 201
  )");
}

TEST_CASE("A merged packet of ten segments is answered once") {
  Script script;
  script.play(kAccepted + R"(
    .1     < . 1:10001(10000) ack 1 win 65535 segs 10
    .1     > . 1:1(0) ack 10001
    .1     read 20000 = 10000
  )");
}

TEST_CASE("A hole is told at once, with what came behind it, the latest first") {
  Script script;
  script.play(kAccepted + R"(
    .1     < . 1001:2001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 1 <sack 1001:2001>
    .1     < . 3001:4001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 1 <sack 3001:4001 1001:2001>
    .1     < . 4001:5001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 1 <sack 3001:5001 1001:2001>
    .1     < . 1:1001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 2001 <sack 3001:5001>
    .1     < . 2001:3001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 5001 <>
    .1     read 10000 = 5000
  )");
}

TEST_CASE("What was there already is told as a duplicate (D-SACK)") {
  Script script;
  script.play(kAccepted + R"(
    .1     < . 1:1001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 1001
    .2     < . 1:1001(1000) ack 1 win 65535
    .2     > . 1:1(0) ack 1001 <sack 1:1001>
    .3     < . 501:1501(1000) ack 1 win 65535
    .3     > . 1:1(0) ack 1501
    .3     read 10000 = 1500
    .3     received = 1500
  )");
}

TEST_CASE("Segments outside of the window are not taken, and answered with what is true") {
  Script script;
  script.play(kAccepted + R"(
    .1     < . 100000:101000(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 1
    .2     < . 1:1001(1000) ack 70000 win 65535
    .2     > . 1:1(0) ack 1
    .3     received = 0
  )");
}

TEST_CASE("A timestamp from the past is not believed (PAWS)") {
  Script script;
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000,TS val 5000 ecr 0>
    0      > S. 0:0(0) ack 1 <mss 1460,TS val 1000 ecr 5000>
    .010   < . 1:1(0) ack 1 win 65535 <TS val 5010 ecr 1000>
    .010   accept = ok
    .1     < P. 1:101(100) ack 1 win 65535 <TS val 4000 ecr 1000>
    .1     > . 1:1(0) ack 1 <TS val 1100 ecr 5010>
    .1     paws = 1
    .2     < P. 1:101(100) ack 1 win 65535 <TS val 5200 ecr 1000>
    .2     > . 1:1(0) ack 101 <TS val 1200 ecr 5200>
  )");
}

TEST_CASE("A wrong checksum is found and counted") {
  ScriptOptions options;
  options.checksummed = false;
  Script script(options);
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000>
    .1     in_errs = 1
    .1     connections = 0
  )");
}

TEST_CASE("The window opens with what is read: an update at once, from 0 and by half (T1)") {
  ScriptOptions options;
  options.receive_buffer = 8192;
  Script script(options);
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000>
    0      > S. 0:0(0) ack 1 win 2920
    .010   < . 1:1(0) ack 1 win 65535
    .010   accept = ok
    .1     < . 1:1001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 1001 win 2920
    .1     < . 1001:2001(1000) ack 1 win 65535
    .1     > . 1:1(0) ack 2001 win 1920
    .3     read 10000 = 2000
    .3     > . 1:1(0) ack 2001 win 4000
  )");
}

}  // namespace
}  // namespace tapestry::tests::ack_test
