// When a replay sends its frames, as timelines: what each way of timing makes of a capture.
#include "workloads/replay.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/workloads/pcap_bytes.hpp"
#include "tests/workloads/workload_world.hpp"

namespace tapestry::tests::replay_test {

namespace {

using Instants = std::vector<std::int64_t>;

// Four frames of a guest at 0, 1, 1.5 and 3 ms, of 1000 bytes each.
std::string four_frames() {
  PcapBytes bytes;
  bytes.record(9, 999'000'000, plain_frame(1, 1000, 'a'));
  bytes.record(10, 0, plain_frame(1, 1000, 'b'));
  bytes.record(10, 500'000, plain_frame(1, 1000, 'c'));
  bytes.record(10, 2'000'000, plain_frame(1, 1000, 'd'));
  return bytes.text();
}

std::string replay(const std::string& file, const std::string& more) {
  return "{kind: replay, file: " + file +
         ", sides: {\"02:00:00:00:00:01\": guest, \"02:00:00:00:00:63\": host}" + more + "}";
}

Instants timeline(const std::string& capture, const std::string& more) {
  const TemporaryFolder folder;
  WorkloadWorld world(replay(folder.write("x.pcap", capture), more));
  world.run();
  CHECK(world.workload().finished());
  return world.sent_ns();
}

Instants microseconds(const std::vector<std::int64_t>& us) {
  Instants instants;
  for (const std::int64_t at : us)
    instants.push_back(at * 1000);
  return instants;
}

}  // namespace

TEST_CASE("original timing keeps the gaps of the capture", "[workloads]") {
  CHECK(timeline(four_frames(), ", timing: original") == microseconds({0, 1000, 1500, 3000}));
}

TEST_CASE("scaled timing stretches or shrinks them, to the nanosecond", "[workloads]") {
  CHECK(timeline(four_frames(), ", timing: scaled, scale: 0.5") ==
        microseconds({0, 500, 750, 1500}));
  CHECK(timeline(four_frames(), ", timing: scaled, scale: 3") ==
        microseconds({0, 3000, 4500, 9000}));
}

TEST_CASE("a fixed rate sends frame after frame, whenever they were captured", "[workloads]") {
  // 1000 bytes at 8 Mbit/s are a millisecond.
  CHECK(timeline(four_frames(), ", timing: fixed, rate: 8Mbit") ==
        microseconds({0, 1000, 2000, 3000}));
}

TEST_CASE("a loop goes on after the mean gap, or at the same rate", "[workloads]") {
  CHECK(timeline(four_frames(), ", timing: original, loop: 2") ==
        microseconds({0, 1000, 1500, 3000, 4000, 5000, 5500, 7000}));
  CHECK(timeline(four_frames(), ", timing: fixed, rate: 8Mbit, loop: 2") ==
        microseconds({0, 1000, 2000, 3000, 4000, 5000, 6000, 7000}));
}

TEST_CASE("a frame that is due before the one in front of it follows at once", "[workloads]") {
  PcapBytes bytes;
  bytes.record(10, 0, plain_frame(1, 60, 'a')).record(12, 0, plain_frame(1, 60, 'b'));
  bytes.record(11, 0, plain_frame(1, 60, 'c'));
  CHECK(timeline(bytes.text(), "") == microseconds({0, 2'000'000, 2'000'000}));
}

TEST_CASE("each side sends its own frames, and frames of neither are left out", "[workloads]") {
  const TemporaryFolder folder;
  PcapBytes bytes;
  bytes.record(1, 0, plain_frame(1)).record(1, 1'000'000, plain_frame(0x63));
  bytes.record(1, 2'000'000, plain_frame(7)).record(1, 3'000'000, 60, 1514, plain_frame(1));
  bytes.record(1, 4'000'000, plain_frame(1));
  WorkloadWorld world(replay(folder.write("x.pcap", bytes.text()), ""));
  world.run();
  CHECK(world.sent_ns() == microseconds({0, 4000}));
  const workloads::Outcome outcome = world.outcome();
  REQUIRE(outcome.flows.size() == 2);
  CHECK(outcome.flows[0].sent_packets + outcome.flows[1].sent_packets == 3);
  CHECK(outcome.window_packets == 3);
  auto& made = dynamic_cast<workloads::Replay&>(world.workload());
  CHECK(made.frames_left_out() == 2);  // a stranger's, and one that a snap length cut
  CHECK(made.frames_altered() == 0);
}

TEST_CASE("times beyond every clock are for ever, and nothing wraps", "[workloads]") {
  const TemporaryFolder folder;
  PcapBytes bytes;
  bytes.record(0, 0, plain_frame(1)).record(0xffff'ffff, 999'999'999, plain_frame(1));
  WorkloadWorld world(
      replay(folder.write("x.pcap", bytes.text()), ", timing: scaled, scale: 1000, loop: 3"));
  world.run_for(std::chrono::seconds(10));
  CHECK(world.sent_ns() == Instants{0});
  CHECK_FALSE(world.workload().finished());
}

TEST_CASE("a replay that is cut short tells of what has come", "[workloads]") {
  const TemporaryFolder folder;
  WorkloadWorld world(replay(folder.write("x.pcap", four_frames()), ""));
  CHECK(world.outcome().window == core::Nanos{0});
  world.run_for(core::Nanos{1'200'000});
  const workloads::Outcome outcome = world.outcome();
  CHECK(outcome.window_packets == 2);
  CHECK(outcome.window >= core::Nanos{1'000'000});
  CHECK(outcome.window < core::Nanos{1'200'000});
}

}  // namespace tapestry::tests::replay_test
