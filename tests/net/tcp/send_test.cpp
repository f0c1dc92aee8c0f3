// When what was written goes, and in pieces of which size.
#include <catch2/catch.hpp>

#include "tests/net/tcp/script.hpp"

namespace tapestry::tests::send_test {
namespace {

const std::string kConnected = R"(
    0      connect
    0      > S 0:0(0)
    .010   < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK>
    .010   > . 1:1(0) ack 1
)";

TEST_CASE("Nagle holds back a second small write until the first is acknowledged") {
  Script script;
  script.play(kConnected + R"(
    .1     write 100
    .1     > P. 1:101(100) ack 1
    .101   write 100
    .110   < . 1:1(0) ack 101 win 65535
    .110   > P. 101:201(100) ack 1
  )");
}

TEST_CASE("Without Nagle small writes go at once") {
  Script script;
  script.play(kConnected + R"(
    .1     nodelay on
    .1     write 100
    .1     > P. 1:101(100) ack 1
    .101   write 100
    .101   > P. 101:201(100) ack 1
  )");
}

TEST_CASE("A cork holds back all but full segments, and lets go when it is taken away") {
  Script script;
  script.play(kConnected + R"(
    .1     cork on
    .1     write 100
    .101   write 2000
    .101   > . 1:1001(1000) ack 1
    .101   > . 1001:2001(1000) ack 1
    .105   cork off
    .105   > P. 2001:2101(100) ack 1
  )");
}

TEST_CASE("Small writes join while packets wait to be freed by the device (autocorking)") {
  ScriptOptions options;
  options.frees_at_once = false;
  Script script(options);
  script.play(kConnected + R"(
    .1     complete 10
    .1     nodelay on
    .1     write 100
    .1     > P. 1:101(100) ack 1
    .101   write 100
    .101   corked = 1
    .103   complete 10
    .103   > P. 101:201(100) ack 1
  )");
}

TEST_CASE("A closed window is probed, ever more seldom, and opens") {
  Script script;
  script.play(R"(
    0      connect
    0      > S 0:0(0)
    .100   < S. 0:0(0) ack 1 win 2000 <mss 1000>
    .100   > . 1:1(0) ack 1
    .2     write 3000
    .2     > . 1:1001(1000) ack 1
    .2     > P. 1001:2001(1000) ack 1
    .3     < . 1:1(0) ack 2001 win 0
    .601   > . 2000:2000(0) ack 1
    .602   < . 1:1(0) ack 2001 win 0
    1.204  > . 2000:2000(0) ack 1
    1.205  < . 1:1(0) ack 2001 win 0
    2.4    < . 1:1(0) ack 2001 win 5000
    2.4    > P. 2001:3001(1000) ack 1
  )");
}

TEST_CASE("Large packets: as many segments as a millisecond of the rate holds, at least two") {
  ScriptOptions options;
  options.segmentation = true;
  Script script(options);
  script.play(kConnected + R"(
    .1     write 10000
    .1     > . 1:2001(2000) ack 1 segs 2
    .1     > . 2001:4001(2000) ack 1 segs 2
    .1     > . 4001:6001(2000) ack 1 segs 2
    .1     > . 6001:8001(2000) ack 1 segs 2
    .1     > P. 8001:10001(2000) ack 1 segs 2
  )");
}

TEST_CASE("Before autosizing a packet is as large as the window lets it be") {
  ScriptOptions options;
  options.segmentation = true;
  options.tcp.autosize = false;
  Script script(options);
  script.play(kConnected + R"(
    .1     write 10000
    .1     > P. 1:10001(10000) ack 1 segs 10
  )");
}

TEST_CASE("Of a large packet only what is missing is sent again") {
  ScriptOptions options;
  options.segmentation = true;
  options.tcp.autosize = false;
  Script script(options);
  script.play(kConnected + R"(
    .1     write 10000
    .1     > P. 1:10001(10000) ack 1 segs 10
    .110   < . 1:1(0) ack 3001 win 65535 <sack 5001:10001>
    .110   > . 3001:5001(2000) ack 1 segs 2
    .120   < . 1:1(0) ack 10001 win 65535
    .120   retrans = 2
    .120   timeouts = 0
  )");
}

TEST_CASE("Small queues: two packets below the socket, the next when one is freed") {
  ScriptOptions options;
  options.frees_at_once = false;
  Script script(options);
  script.play(kConnected + R"(
    .1     complete 10
    .1     write 10000
    .1     > . 1:1001(1000) ack 1
    .1     > . 1001:2001(1000) ack 1
    .105   complete 1
    .105   > . 2001:3001(1000) ack 1
    .106   complete 2
    .106   > . 3001:4001(1000) ack 1
    .106   > . 4001:5001(1000) ack 1
  )");
}

TEST_CASE("A full send buffer refuses a writer that will not wait, and takes a part") {
  ScriptOptions options;
  options.send_buffer = 20'000;
  Script script(options);
  script.play(R"(
    0      connect
    0      > S 0:0(0)
    .010   < S. 0:0(0) ack 1 win 2000 <mss 1000>
    .010   > . 1:1(0) ack 1
    .1     try_write 50000 = 9000
    .1     > . 1:1001(1000) ack 1
    .1     > P. 1001:2001(1000) ack 1
    .101   try_write 10 = would_block
  )");
}

TEST_CASE("An idle connection begins anew with ten segments") {
  Script script;
  script.play(kConnected + R"(
    .1     write 10000
    .1     > . 1:1001(1000) ack 1
    .1     > . 1001:2001(1000) ack 1
    .1     > . 2001:3001(1000) ack 1
    .1     > . 3001:4001(1000) ack 1
    .1     > . 4001:5001(1000) ack 1
    .1     > . 5001:6001(1000) ack 1
    .1     > . 6001:7001(1000) ack 1
    .1     > . 7001:8001(1000) ack 1
    .1     > . 8001:9001(1000) ack 1
    .1     > P. 9001:10001(1000) ack 1
    .110   < . 1:1(0) ack 10001 win 65535
    .110   cwnd = 20
    5      write 100
    5      > P. 10001:10101(100) ack 1
    5      cwnd = 10
  )");
}

}  // namespace
}  // namespace tapestry::tests::send_test
