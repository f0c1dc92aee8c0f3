// How a connection begins, and how it does not.
#include <catch2/catch.hpp>

#include "tests/net/tcp/script.hpp"

namespace tapestry::tests::handshake_test {
namespace {

TEST_CASE("A SYN offers what Linux offers, and the connection takes what both sides can") {
  Script script;
  script.play(R"(
    +0     connect = ok
    +0     > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 1000 ecr 0,wscale 7>
    +.010  < S. 0:0(0) ack 1 win 28960 <mss 1460,sackOK,TS val 7 ecr 1000,wscale 7>
    +0     > . 1:1(0) ack 1 win 502 <TS val 1010 ecr 7>
    +0     state = ESTAB
    +0     mss = 1448
    +0     cwnd = 10
  )");
}

TEST_CASE("A peer without options gets segments of 536 bytes and no options") {
  Script script;
  script.play(R"(
    +0     connect = ok
    +0     > S 0:0(0)
    +.010  < S. 0:0(0) ack 1 win 65535
    +0     > . 1:1(0) ack 1 win 64240 <>
    +0     mss = 536
  )");
}

TEST_CASE("A SYN is sent again after 1, 3, 7 and more seconds, and given up after 127") {
  Script script;
  script.play(R"(
    0      connect = timed_out
    0      > S 0:0(0)
    1      > S 0:0(0)
    3      > S 0:0(0)
    7      > S 0:0(0)
    15     > S 0:0(0)
    31     > S 0:0(0)
    63     > S 0:0(0)
    128    connections = 0
  )");
}

TEST_CASE("A reset answers a SYN: refused") {
  Script script;
  script.play(R"(
    +0     connect = refused
    +0     > S 0:0(0)
    +.010  < R. 0:0(0) ack 1
    +0     connections = 0
  )");
}

TEST_CASE("A message that the SYN is undeliverable ends the attempt") {
  const auto [code, result] = GENERATE(table<int, std::string>(
      {{0, "unreachable"}, {1, "unreachable"}, {2, "refused"}, {3, "refused"}}));
  Script script;
  script.play("+0 connect = " + result + R"(
    +0     > S 0:0(0)
    +.005  < icmp )" +
              std::to_string(code) + R"( of 0
    +0     connections = 0
  )");
}

TEST_CASE("A message about a number that was never sent ends nothing") {
  Script script;
  script.play(R"(
    +0     connect = ok
    +0     > S 0:0(0)
    +.005  < icmp 3 of 77
    +.005  < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +0     > . 1:1(0) ack 1
    +0     state = ESTAB
  )");
}

TEST_CASE("An established connection survives a message that it is unreachable") {
  Script script;
  script.play(R"(
    +0     connect = ok
    +0     > S 0:0(0)
    +.010  < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +0     > . 1:1(0) ack 1
    +.010  write 1000
    +0     > P. 1:1001(1000) ack 1
    +.010  < icmp 3 of 1
    +.010  < . 1:1(0) ack 1001 win 65535
    +.010  state = ESTAB
  )");
}

TEST_CASE("A reset that does not acknowledge the SYN is somebody else's") {
  Script script;
  script.play(R"(
    +0     connect = ok
    +0     > S 0:0(0)
    +.010  < R. 0:0(0) ack 7
    +.010  < S. 0:0(0) ack 1 <mss 1460>
    +0     > . 1:1(0) ack 1
  )");
}

TEST_CASE("Both sides open at once") {
  Script script;
  script.play(R"(
    +0     connect = ok
    +0     > S 0:0(0) <mss 1460,sackOK,TS,wscale 7>
    +.010  < S 0:0(0) win 65535 <mss 1460>
    +0     > S. 0:0(0) ack 1 <mss 1460>
    +.010  < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +0     state = ESTAB
  )");
}

TEST_CASE("A listener answers a SYN, and accept returns the connection") {
  Script script;
  script.play(R"(
    +0     listen = ok
    +0     < S 0:0(0) win 65535 <mss 1000,sackOK,wscale 3>
    +0     > S. 0:0(0) ack 1 win 64240 <mss 1460,sackOK,wscale 7>
    +.010  < . 1:1(0) ack 1 win 8192
    +.010  accept = ok
    +0     state = ESTAB
    +0     mss = 1000
  )");
}

TEST_CASE("A lost SYN-ACK is sent again, and the data with the last ACK is not lost") {
  Script script;
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000>
    0      > S. 0:0(0) ack 1
    1      > S. 0:0(0) ack 1
    1.010  < P. 1:101(100) ack 1 win 8192
    1.010  > . 1:1(0) ack 101
    1.020  accept = ok
    1.020  read 1000 = 100
  )");
}

TEST_CASE("SYN-ACKs end after five repetitions, and nothing of the connection is left") {
  Script script;
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000>
    0      > S. 0:0(0) ack 1
    1      > S. 0:0(0) ack 1
    3      > S. 0:0(0) ack 1
    7      > S. 0:0(0) ack 1
    15     > S. 0:0(0) ack 1
    31     > S. 0:0(0) ack 1
    64     connections = 0
    64     accept = none
  )");
}

TEST_CASE("A segment for nobody is answered with a reset that fits it") {
  Script script;
  script.play(R"(
    +0     listen
    +0     < . 100:200(100) ack 300 win 100
    +0     > R 300:300(0)
    +0     < F. 5:5(0) ack 9 win 100
    +0     > R 9:9(0)
    +0     unlisten
  )");
}

TEST_CASE("A full accept queue drops SYNs") {
  Script script;
  script.play(R"(
    0      listen 0
    0      < S 0:0(0) win 65535 <mss 1000>
    0      > S. 0:0(0) ack 1
    .010   < . 1:1(0) ack 1 win 8192
    .020   connections = 1
    .020   overflows = 0
  )");
}

TEST_CASE("A listener that closes resets what nobody has accepted") {
  Script script;
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000>
    0      > S. 0:0(0) ack 1
    .010   < . 1:1(0) ack 1 win 8192
    .020   unlisten
    .020   > R. 1:1(0) ack 1
    .020   connections = 0
  )");
}

}  // namespace
}  // namespace tapestry::tests::handshake_test
