// The capture files that one run writes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/builder/run_world.hpp"
#include "app/scenario/scenario.hpp"
#include "observe/capture.hpp"
#include "observe/pcapng_writer.hpp"

namespace tapestry::app {

// The point that stands for no device: whatever is dropped, wherever.
inline constexpr const char* kDropPoint = "drops";

class Captures {
 public:
  Captures(const Scenario& scenario, const Workload& workload, RunWorld& run)
      : scenario_(scenario), workload_(workload), run_(run) {}

  // `device`: "host.tap0", kDropPoint, or empty for the scenario's first capture point, else its
  // first device. A path that ends in .pcapng takes any number of points, another one takes one.
  // Returns what went wrong; empty: nothing.
  std::string add(const std::string& device, const std::string& path);
  // Likewise. Nothing is captured after it.
  std::string close();

 private:
  core::Result<std::size_t> device_index(const std::string& name) const;
  std::string add_to_pcapng(const std::string& device, const std::string& path);
  std::string add_to_pcap(const std::string& device, const std::string& path);
  core::Result<std::shared_ptr<observe::PcapngWriter>> pcapng(const std::string& path);
  observe::CaptureOptions options_for(std::size_t device) const;

  const Scenario& scenario_;
  const Workload& workload_;
  RunWorld& run_;
  std::map<std::string, std::shared_ptr<observe::PcapngWriter>> pcapng_;
  std::vector<std::shared_ptr<observe::CaptureFile>> files_;
  std::vector<std::unique_ptr<observe::Capture>> points_;
  std::unique_ptr<observe::DropCapture> drops_;
};

}  // namespace tapestry::app
