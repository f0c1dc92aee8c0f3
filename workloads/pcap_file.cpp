#include "workloads/pcap_file.hpp"

#include <pcap/pcap.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace tapestry::workloads {

namespace {

struct Close {
  void operator()(pcap_t* capture) const { pcap_close(capture); }
};

core::Error error(const std::string& path, const std::string& what) {
  return core::Error{path + ": " + what};
}

constexpr long kNanosPerSecond = 1'000'000'000;

}  // namespace

core::Result<CaptureFile> read_capture(const std::string& path) {
  std::error_code failure;
  const std::uint64_t size = std::filesystem::file_size(path, failure);
  if (failure) return error(path, "cannot be read: " + failure.message());
  if (size > kCaptureBytesMax) return error(path, "is larger than 1 GiB");

  std::array<char, PCAP_ERRBUF_SIZE> message{};
  const std::unique_ptr<pcap_t, Close> capture(pcap_open_offline_with_tstamp_precision(
      path.c_str(), PCAP_TSTAMP_PRECISION_NANO, message.data()));
  if (!capture) return error(path, std::string("is no capture: ") + message.data());
  if (pcap_datalink(capture.get()) != DLT_EN10MB)
    return error(path, "holds no Ethernet frames (link type " +
                           std::to_string(pcap_datalink(capture.get())) + ")");

  CaptureFile file;
  pcap_pkthdr* header = nullptr;
  const unsigned char* bytes = nullptr;
  std::int64_t first = 0;
  int status = 0;
  while ((status = pcap_next_ex(capture.get(), &header, &bytes)) == 1) {
    const std::string record = "record " + std::to_string(file.frames.size() + 1);
    if (header->ts.tv_usec < 0 || header->ts.tv_usec >= kNanosPerSecond)
      return error(path, record + ": the fraction of its second is out of range");
    if (header->caplen > header->len)
      return error(path, record + ": more bytes captured than there were");
    // The file's seconds have 32 bits and no sign; libpcap reads those from 2038 on as negative.
    std::int64_t seconds = header->ts.tv_sec;
    if (seconds < 0) seconds += std::int64_t{1} << 32;
    const std::int64_t at = seconds * kNanosPerSecond + header->ts.tv_usec;
    if (file.frames.empty()) first = at;
    CapturedFrame& frame = file.frames.emplace_back();
    frame.at = core::Nanos{std::max<std::int64_t>(at - first, 0)};
    frame.length = header->len;
    frame.bytes.assign(bytes, bytes + header->caplen);
  }
  if (status == PCAP_ERROR) {
    const std::string why = pcap_geterr(capture.get());
    if (why.find("truncated") == std::string::npos) return error(path, why);
    file.warning = path + ": ends in the middle of record " +
                   std::to_string(file.frames.size() + 1) + "; the " +
                   std::to_string(file.frames.size()) + " whole ones are used";
  }
  return file;
}

}  // namespace tapestry::workloads
