// How a connection ends, in every order; resets, and TIME-WAIT.
#include <catch2/catch.hpp>

#include "tests/net/tcp/script.hpp"

namespace tapestry::tests::close_test {
namespace {

const std::string kConnected = R"(
    0      connect
    0      > S 0:0(0)
    .010   < S. 0:0(0) ack 1 win 65535 <mss 1000>
    .010   > . 1:1(0) ack 1
)";

TEST_CASE("This side closes first: FIN-WAIT-1, FIN-WAIT-2, TIME-WAIT for a minute") {
  Script script;
  script.play(kConnected + R"(
    .1     shutdown
    .1     > F. 1:1(0) ack 1
    .1     state = FIN-WAIT-1
    .2     < . 1:1(0) ack 2 win 65535
    .2     state = FIN-WAIT-2
    .3     < P. 1:101(100) ack 2 win 65535
    .3     > . 2:2(0) ack 101
    .3     read 1000 = 100
    .4     < F. 101:101(0) ack 2 win 65535
    .4     > . 2:2(0) ack 102
    .4     state = TIME-WAIT
    .4     read 1000 = 0
    .5     < F. 101:101(0) ack 2 win 65535
    .5     > . 2:2(0) ack 102
    1      close
    60     connections = 1
    62     connections = 0
  )");
}

TEST_CASE("The peer closes first: CLOSE-WAIT, LAST-ACK, and nothing is left") {
  Script script;
  script.play(kConnected + R"(
    .1     < F. 1:1(0) ack 1 win 65535
    .101   > . 1:1(0) ack 2
    .102   state = CLOSE-WAIT
    .102   read 100 = 0
    .2     write 500 = 500
    .2     > P. 1:501(500) ack 2
    .3     < . 2:2(0) ack 501 win 65535
    .4     close
    .4     > F. 501:501(0) ack 2
    .5     < . 2:2(0) ack 502 win 65535
    .5     connections = 0
  )");
}

TEST_CASE("Both sides close at once: CLOSING, then TIME-WAIT") {
  Script script;
  script.play(kConnected + R"(
    .1     shutdown
    .1     > F. 1:1(0) ack 1
    .11    < F. 1:1(0) ack 1 win 65535
    .11    > . 2:2(0) ack 2
    .11    state = CLOSING
    .2     < . 2:2(0) ack 2 win 65535
    .2     state = TIME-WAIT
  )");
}

TEST_CASE("A FIN goes with the last bytes, and is sent again with them") {
  ScriptOptions options;
  options.tcp.tail_loss_probe = false;
  Script script(options);
  script.play(kConnected + R"(
    .1     cork on
    .1     write 100
    .1     close
    .1     > FP. 1:101(100) ack 1
    .311   > FP. 1:101(100) ack 1
    .4     < F. 1:1(0) ack 102 win 65535
    .4     > . 102:102(0) ack 2
  )");
}

TEST_CASE("Closing with unread data resets the peer") {
  Script script;
  script.play(kConnected + R"(
    .1     < P. 1:101(100) ack 1 win 65535
    .1     > . 1:1(0) ack 101
    .2     close
    .2     > R. 1:1(0) ack 101
    .2     connections = 0
  )");
}

TEST_CASE("Data for a process that is gone is answered with a reset") {
  Script script;
  script.play(kConnected + R"(
    .1     close
    .1     > F. 1:1(0) ack 1
    .2     < . 1:1(0) ack 2 win 65535
    .3     < P. 1:101(100) ack 2 win 65535
    .3     > R. 2:2(0) ack 1
    .3     connections = 0
  )");
}

TEST_CASE("A reset exactly at what comes next ends the connection; the process hears of it once") {
  Script script;
  script.play(kConnected + R"(
    .1     < R 1:1(0) win 0
    .1     state = CLOSE
    .1     read 100 = reset
    .1     read 100 = 0
    .1     write 100 = broken_pipe
    .1     connections = 0
  )");
}

TEST_CASE("A reset or a SYN elsewhere in the window is challenged (RFC 5961)") {
  Script script;
  script.play(kConnected + R"(
    .1     < R 100:100(0) win 0
    .1     > . 1:1(0) ack 1
    .2     < S 200:200(0) win 1000
    .2     > . 1:1(0) ack 1
    .3     < R 100:100(0) win 0
    .3     challenges = 2
    .3     state = ESTAB
    1.3    < R 100:100(0) win 0
    1.3    > . 1:1(0) ack 1
  )");
}

TEST_CASE("A process without a reader still ends in FIN-WAIT-2 after a minute") {
  Script script;
  script.play(kConnected + R"(
    .1     close
    .1     > F. 1:1(0) ack 1
    .2     < . 1:1(0) ack 2 win 65535
    60     connections = 1
    61     connections = 0
  )");
}

TEST_CASE("A SYN with a later number begins anew where a connection was in TIME-WAIT") {
  Script script;
  script.play(R"(
    0      listen
    0      < S 0:0(0) win 65535 <mss 1000>
    0      > S. 0:0(0) ack 1
    .010   < . 1:1(0) ack 1 win 65535
    .1     accept = ok
    .1     close
    .1     > F. 1:1(0) ack 1
    .2     < F. 1:1(0) ack 2 win 65535
    .2     > . 2:2(0) ack 2
    .3     connections = 1
    .4     < S 5000:5000(0) win 65535 <mss 1000>
    .4     > S. 0:0(0) ack 5001
    .5     < . 5001:5001(0) ack 1 win 65535
    .5     accept = ok
    .5     state = ESTAB
  )");
}

}  // namespace
}  // namespace tapestry::tests::close_test
