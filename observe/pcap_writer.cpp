#include "observe/pcap_writer.hpp"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tapestry::observe {

namespace {
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
}  // namespace

struct PcapWriter::Handles {
  ~Handles() {
    if (dumper != nullptr) pcap_dump_close(dumper);  // closes the file, too
    if (capture != nullptr) pcap_close(capture);
  }
  std::vector<char> buffer = std::vector<char>(kBufferBytes);
  pcap_t* capture = nullptr;
  pcap_dumper_t* dumper = nullptr;
};

core::Result<std::unique_ptr<PcapWriter>> PcapWriter::create(const std::string& path,
                                                             std::uint32_t snap_length) {
  auto handles = std::make_unique<Handles>();
  handles->capture = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, static_cast<int>(snap_length),
                                                          PCAP_TSTAMP_PRECISION_NANO);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return core::Error{path + ": cannot be written: " + std::strerror(errno)};
  std::setvbuf(file, handles->buffer.data(), _IOFBF, handles->buffer.size());
  handles->dumper = pcap_dump_fopen(handles->capture, file);
  if (handles->dumper == nullptr) {
    std::fclose(file);
    return core::Error{path + ": " + pcap_geterr(handles->capture)};
  }
  return std::unique_ptr<PcapWriter>(new PcapWriter(path, snap_length, std::move(handles)));
}

PcapWriter::PcapWriter(std::string path, std::uint32_t snap_length,
                       std::unique_ptr<Handles> handles)
    : path_(std::move(path)), snap_length_(snap_length), handles_(std::move(handles)) {}

PcapWriter::~PcapWriter() = default;

void PcapWriter::write(core::Instant at, std::span<const std::uint8_t> bytes, std::size_t length) {
  const std::int64_t ns = core::nanos_since_start(at);
  pcap_pkthdr header{};
  header.ts.tv_sec = ns / kNanosPerSecond;
  header.ts.tv_usec = ns % kNanosPerSecond;
  header.caplen = static_cast<bpf_u_int32>(std::min<std::size_t>(bytes.size(), snap_length_));
  header.len = static_cast<bpf_u_int32>(length);
  pcap_dump(reinterpret_cast<u_char*>(handles_->dumper), &header, bytes.data());
  ++frames_;
}

std::string PcapWriter::close() {
  if (handles_ == nullptr) return {};
  const bool written =
      pcap_dump_flush(handles_->dumper) == 0 && std::ferror(pcap_dump_file(handles_->dumper)) == 0;
  handles_.reset();
  return written ? std::string()
                 : path_ + ": not all frames could be written: " + std::strerror(errno);
}

}  // namespace tapestry::observe
