// What a capture holds: every frame that passes, when it passed, as much of it as was asked for,
// and a checksum that is finished or, if wanted, as it was.
#include "observe/capture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/checksum.hpp"
#include "observe/pcap_writer.hpp"
#include "tests/support/net_world.hpp"
#include "tests/support/program.hpp"
#include "tests/support/skip.hpp"
#include "workloads/pcap_file.hpp"

namespace tapestry::tests::capture_test {

using namespace observe;

namespace {

constexpr std::size_t kUdpChecksum = 14 + 20 + 6;

// Two machines on a wire; the first one's device leaves checksums to its hardware if told to.
struct Captured {
  explicit Captured(bool offload, CaptureOptions options = {})
      : world(sched::SettleMode::seams, net_costs()), pair(world), path(folder.path("x.pcap")) {
    pair.skip_arp();
    pair.a.driver.offers.transmit_checksum = offload;
    auto writer = PcapWriter::create(path, options.snap_length);
    REQUIRE(writer.ok());
    writing = std::move(*writer);
    capture.emplace(pair.a.device, writing, 0, options);
  }

  void send(const std::vector<std::vector<std::uint8_t>>& payloads) {
    pair.a.process("sender", [&] {
      auto socket = pair.a.stack.udp().open();
      socket->connect({pair.b.own(), 9});
      for (const auto& payload : payloads)
        socket->send(payload);
      socket.reset();
    });
    world.run();
    CHECK(writing->close().empty());
  }
  workloads::CaptureFile read() const {
    auto file = workloads::read_capture(path);
    REQUIRE(file.ok());
    CHECK(file->warning.empty());
    return std::move(*file);
  }

  TemporaryFolder folder;
  World world;
  NetPair pair;
  std::string path;
  std::shared_ptr<CaptureFile> writing;
  std::optional<Capture> capture;
};

// The sum over pseudo header and datagram: 0 says that the checksum in it is right.
std::uint16_t udp_sum(const std::vector<std::uint8_t>& frame) {
  std::vector<std::uint8_t> bytes(frame.begin() + 14 + 12, frame.begin() + 14 + 20);
  const std::size_t length = frame.size() - 34;
  for (const std::size_t part : {std::size_t{0}, std::size_t{17}, length >> 8, length & 0xff})
    bytes.push_back(static_cast<std::uint8_t>(part));
  bytes.insert(bytes.end(), frame.begin() + 34, frame.end());
  return core::internet_checksum(bytes);
}

bool tshark_is_there() { return std::system("command -v tshark >/dev/null") == 0; }

}  // namespace

TEST_CASE("a capture has every frame with its instant, whole, to the nanosecond", "[observe]") {
  Captured run(false);
  std::vector<std::int64_t> passed;
  const auto watch = run.pair.a.device.on_frame.watch(
      [&](const core::Packet&, core::Direction) { passed.push_back(run.world.now_ns()); });
  run.send({pattern(10), pattern(1472)});
  const auto file = run.read();
  REQUIRE(passed.size() >= 2);
  REQUIRE(file.frames.size() == passed.size());
  CHECK(run.capture->frames() == passed.size());
  for (std::size_t i = 0; i < passed.size(); ++i)
    CHECK(file.frames[i].at.count() == passed[i] - passed[0]);
  CHECK(file.frames[1].length == 1514);
  CHECK(std::vector<std::uint8_t>(file.frames[1].bytes.begin() + 42, file.frames[1].bytes.end()) ==
        pattern(1472));
  CHECK_THAT(read_text(run.path), Catch::StartsWith("\x4d\x3c\xb2\xa1"));
}

TEST_CASE("a snap length keeps the first bytes and tells the whole length", "[observe]") {
  const bool complete = GENERATE(true, false);
  const bool offload = GENERATE(true, false);
  CAPTURE(complete, offload);
  Captured run(offload, {.snap_length = 64, .complete_checksums = complete});
  run.send({pattern(1000)});
  const auto file = run.read();
  REQUIRE(file.frames.size() >= 1);
  CHECK(file.frames[0].bytes.size() == 64);
  CHECK(file.frames[0].length == 1042);
  const std::string text = read_text(run.path);
  CHECK(core::load_be32(reinterpret_cast<const std::uint8_t*>(text.data()) + 16) == 0x40000000);
}

TEST_CASE("a checksum that hardware would finish is finished in the file, and right", "[observe]") {
  Captured run(true);
  std::vector<std::vector<std::uint8_t>> payloads;
  for (std::size_t length : {0u, 1u, 2u, 17u, 999u, 1472u})
    payloads.push_back(pattern(length, static_cast<std::uint32_t>(length)));
  bool partial = false;
  const auto watch =
      run.pair.a.device.on_frame.watch([&](const core::Packet& packet, core::Direction) {
        partial = partial || packet.checksum == core::ChecksumState::partial;
      });
  run.send(payloads);
  CHECK(partial);  // the frame itself stays as it is
  const auto file = run.read();
  REQUIRE(file.frames.size() >= payloads.size());
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    CAPTURE(i);
    CHECK(udp_sum(file.frames[i].bytes) == 0);
    CHECK(core::load_be16(file.frames[i].bytes.data() + kUdpChecksum) != 0);
  }
}

TEST_CASE("a sum of 0 is written as 0xffff, since 0 would say that there is none", "[observe]") {
  // The payload's two bytes are chosen so that everything adds up to nothing.
  Captured probe(true);
  probe.send({{0, 0}});
  const std::uint16_t sum = core::load_be16(probe.read().frames[0].bytes.data() + kUdpChecksum);
  Captured run(true);
  run.send({{static_cast<std::uint8_t>(sum >> 8), static_cast<std::uint8_t>(sum)}});
  const auto frame = run.read().frames[0];
  CHECK(core::load_be16(frame.bytes.data() + kUdpChecksum) == 0xffff);
}

TEST_CASE("as seen by the driver a checksum is what the stack left of it", "[observe]") {
  Captured complete(true);
  complete.send({pattern(100)});
  Captured bare(true, {.complete_checksums = false});
  bare.send({pattern(100)});
  auto finished = complete.read().frames[0].bytes;
  const auto unfinished = bare.read().frames[0].bytes;
  CHECK(udp_sum(unfinished) != 0);
  // Nothing but the checksum differs.
  finished[kUdpChecksum] = unfinished[kUdpChecksum];
  finished[kUdpChecksum + 1] = unfinished[kUdpChecksum + 1];
  CHECK(finished == unfinished);
}

TEST_CASE("tshark finds no bad checksum where they are finished, and finds the others",
          "[observe]") {
  if (!tshark_is_there()) TAPESTRY_SKIP("tshark is not installed");
  const auto bad = [](bool complete) {
    Captured run(true, {.complete_checksums = complete});
    run.send({pattern(1), pattern(100), pattern(1472)});
    const std::string found = run.folder.path("bad.txt");
    const std::string command = "tshark -r " + run.path +
                                " -o udp.check_checksum:TRUE -o ip.check_checksum:TRUE -Y "
                                "'udp.checksum.status == 0 || ip.checksum.status == 0' >" +
                                found + " 2>/dev/null";
    REQUIRE(std::system(command.c_str()) == 0);
    const std::string lines = read_text(found);
    return std::count(lines.begin(), lines.end(), '\n');
  };
  CHECK(bad(true) == 0);
  CHECK(bad(false) == 3);
}

TEST_CASE("a file that takes nothing is told when it is created or closed", "[observe]") {
  const auto none = PcapWriter::create("/no/such/folder/x.pcap");
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message, Catch::StartsWith("/no/such/folder/x.pcap: cannot be written"));
  auto full = PcapWriter::create("/dev/full");
  if (!full.ok()) TAPESTRY_SKIP("there is no /dev/full");
  const std::vector<std::uint8_t> frame(60);
  (*full)->write(core::kStart, frame, frame.size());
  CHECK_THAT((*full)->close(), Catch::StartsWith("/dev/full: not all frames could be written"));
  CHECK((*full)->close().empty());  // told once
}

TEST_CASE("a writer that is dropped without being closed leaves a whole file", "[observe]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.pcap");
  const std::vector<std::uint8_t> frame(60);
  {
    auto writer = PcapWriter::create(path);
    REQUIRE(writer.ok());
    for (int i = 0; i < 1000; ++i)
      (*writer)->write(core::kStart + core::Nanos{std::int64_t{i} * 999'999'999}, frame, 60);
  }
  const auto file = workloads::read_capture(path);
  REQUIRE(file.ok());
  CHECK(file->warning.empty());
  REQUIRE(file->frames.size() == 1000);
  CHECK(file->frames[999].at == core::Nanos{999 * std::int64_t{999'999'999}});
}

}  // namespace tapestry::tests::capture_test
