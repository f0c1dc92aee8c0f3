#include "app/run/captures.hpp"

#include <fmt/format.h>

#include "app/version.hpp"
#include "core/assert.hpp"
#include "observe/pcap_writer.hpp"

namespace tapestry::app {

std::string Captures::add(const std::string& device, const std::string& path) {
  return path.ends_with(".pcapng") ? add_to_pcapng(device, path) : add_to_pcap(device, path);
}

core::Result<std::size_t> Captures::device_index(const std::string& name) const {
  if (name.empty())
    return scenario_.captures.empty() ? std::size_t{0} : scenario_.captures.front().device.index;
  for (std::size_t i = 0; i < scenario_.devices.size(); ++i)
    if (scenario_.devices[i].name == name) return i;
  return core::Error{"variant " + scenario_.variant + " has no device called " + name};
}

observe::CaptureOptions Captures::options_for(std::size_t device) const {
  observe::CaptureOptions options;
  for (const Capture& capture : scenario_.captures) {
    if (capture.device.index != device) continue;
    if (capture.snaplen) options.snap_length = static_cast<std::uint32_t>(capture.snaplen->count());
    options.complete_checksums = capture.checksums == CaptureChecksums::complete;
  }
  return options;
}

std::string Captures::add_to_pcap(const std::string& device, const std::string& path) {
  TAPESTRY_ASSERT(device != kDropPoint, "drops go into a file that has room for their reasons");
  const auto index = device_index(device);
  if (!index) return index.error().message;
  const observe::CaptureOptions options = options_for(*index);
  auto writer = observe::PcapWriter::create(path, options.snap_length);
  if (!writer) return writer.error().message;
  std::shared_ptr<observe::CaptureFile> file = std::move(*writer);
  files_.push_back(file);
  points_.push_back(
      std::make_unique<observe::Capture>(run_.hardware().device(*index), file, 0, options));
  return {};
}

core::Result<std::shared_ptr<observe::PcapngWriter>> Captures::pcapng(const std::string& path) {
  auto& file = pcapng_[path];
  if (file) return file;
  auto writer = observe::PcapngWriter::create(
      path, fmt::format("tapestry {} ({})", version(), commit()),
      fmt::format("variant {}, workload {}, seed {}, costs {}", scenario_.variant, workload_.name,
                  scenario_.seed, scenario_.costs));
  if (!writer) return writer.error();
  file = std::move(*writer);
  files_.push_back(file);
  return file;
}

std::string Captures::add_to_pcapng(const std::string& device, const std::string& path) {
  auto file = pcapng(path);
  if (!file) return file.error().message;
  if (device == kDropPoint) {
    const std::size_t point = (*file)->add_point(kDropPoint, "packets that were dropped");
    drops_ = std::make_unique<observe::DropCapture>(run_.world().packets().ledger(),
                                                    run_.world().timeline(), *file, point);
    return {};
  }
  const auto index = device_index(device);
  if (!index) return index.error().message;
  const Device& captured = scenario_.devices[*index];
  const observe::CaptureOptions options = options_for(*index);
  const std::size_t point = (*file)->add_point(
      captured.name,
      fmt::format("{} of machine {}", run_.hardware().device(*index).driver().kind(),
                  captured.machine.name),
      options.snap_length);
  points_.push_back(
      std::make_unique<observe::Capture>(run_.hardware().device(*index), *file, point, options));
  return {};
}

std::string Captures::close() {
  points_.clear();
  drops_.reset();
  std::string first_error;
  for (const auto& file : files_)
    if (std::string error = file->close(); first_error.empty()) first_error = std::move(error);
  return first_error;
}

}  // namespace tapestry::app
