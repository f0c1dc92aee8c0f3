// Capturing full frames beside a bare loop that puts the same records into a 1 MiB buffer and
// writes it: what libpcap, the copy out of the packet and the probe add. Both write to the same
// file system.
//
//   capture [FOLDER]     default: the folder for temporary files
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "observe/pcap_writer.hpp"
#include "tests/bench/contest.hpp"

namespace {

using namespace tapestry;

constexpr std::size_t kFrames = 100'000;
constexpr std::size_t kFrameBytes = 1514;
constexpr std::size_t kRecordBytes = 16 + kFrameBytes;

double bare(const std::string& path, const std::vector<std::uint8_t>& frame) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  std::vector<std::uint8_t> buffer(1 << 20);
  std::size_t used = 0;
  const double begun = bench::thread_cpu_ns();
  const auto flush = [&] {
    if (write(file, buffer.data(), used) != static_cast<ssize_t>(used)) std::abort();
    used = 0;
  };
  for (std::size_t i = 0; i < kFrames; ++i) {
    if (used + kRecordBytes > buffer.size()) flush();
    const std::uint32_t header[4] = {0, static_cast<std::uint32_t>(i), kFrameBytes, kFrameBytes};
    std::memcpy(buffer.data() + used, header, sizeof header);
    std::memcpy(buffer.data() + used + sizeof header, frame.data(), frame.size());
    used += kRecordBytes;
  }
  flush();
  const double spent = bench::thread_cpu_ns() - begun;
  close(file);
  return spent / kFrames;
}

double ours(const std::string& path, const std::vector<std::uint8_t>& frame) {
  auto writer = observe::PcapWriter::create(path);
  if (!writer) std::abort();
  const double begun = bench::thread_cpu_ns();
  for (std::size_t i = 0; i < kFrames; ++i)
    (*writer)->write(core::kStart + core::Nanos{static_cast<std::int64_t>(i)}, frame, frame.size());
  if (!(*writer)->close().empty()) std::abort();
  return (bench::thread_cpu_ns() - begun) / kFrames;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder =
      argc > 1 ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path();
  const std::string path = (folder / ("tapestry-capture." + std::to_string(getpid()))).string();
  const std::vector<std::uint8_t> frame(kFrameBytes, 0x5a);
  bench::compare("a frame of 1514 bytes captured",
                 {{"bare 1 MiB buffer and write()", [&] { return bare(path, frame); }},
                  {"PcapWriter", [&] { return ours(path, frame); }}});
  std::filesystem::remove(path);
  return 0;
}
